//go:build !linux

package zookeeper

import (
	"errors"
	"os"
)

// errNoCache says that nothing on this system proves that a file is no copy.
var errNoCache = errors.New("CacheFile is supported on Linux only")

func lockFile(string) (*os.File, error)          { return nil, errNoCache }
func bootID() (string, error)                    { return "", errNoCache }
func identity(*os.File) (_, _ uint64, err error) { return 0, 0, errNoCache }
