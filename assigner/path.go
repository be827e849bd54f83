package assigner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// maxLinks bounds the symbolic links that resolve follows, as systems do.
const maxLinks = 40

// resolve returns the one path of the file that path names, absolute and without a symbolic link,
// whether the file exists or not. A rename replaces a link and not the file that it leads to, and
// the lock lies next to the file: two processes that name one file by two paths have to find one
// lock. It refuses a file that has a second name, a hard link: the rename leaves that name with the
// old reservation, and the lock is not next to it.
//
// A folder that is mounted at two places has one lock. A file that is mounted by itself cannot be
// replaced where it is mounted, so no claim is made there.
func resolve(path string) (string, error) {
	given := path
	for range maxLinks {
		folder, name := filepath.Split(path)
		if folder == "" {
			folder = "."
		}
		folder, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return "", err
		}
		if folder, err = filepath.Abs(folder); err != nil {
			return "", err
		}
		path = filepath.Join(folder, name)
		info, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return path, nil
		case err != nil:
			return "", err
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return "", err
			}
			// Not joined, which would shorten "link/.." before the link is followed.
			if path = target; !filepath.IsAbs(target) {
				path = folder + string(filepath.Separator) + target
			}
			continue
		case !info.Mode().IsRegular():
			return "", fmt.Errorf("%s is no regular file", path)
		}
		if n := links(info); n > 1 {
			return "", fmt.Errorf("%s has %d names, want 1: another process may use the file by a "+
				"hard link; remove the other names", path, n)
		}
		return path, nil
	}
	return "", fmt.Errorf("%s leads through more than %d symbolic links", given, maxLinks)
}
