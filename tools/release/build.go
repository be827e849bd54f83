package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// platforms are those that the command is built for.
var platforms = [...]string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64",
}

// build makes the command of a version for each platform in the folder out, and there what it is
// made of and the sums of all. It builds from a clone of its own of the tagged commit, whose name
// is then in "uid version", and without paths of this machine: another machine with the same Go
// builds the same bytes.
func build(ctx context.Context, root, version, out string, platforms ...string) error {
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	tree := filepath.Join(dir, "tree")
	_, err = run(ctx, root, "git", "clone", "--quiet", "--shared", "--branch", "cmd/uid/"+version,
		".", tree)
	if err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		name := strings.Join([]string{"uid", version, system, arch}, "_")
		if system == "windows" {
			name += ".exe"
		}
		file := filepath.Join(out, name)
		if _, err := run(ctx, tree, "env", "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch,
			"GOFLAGS=", "go", "build", "-trimpath", "-buildvcs=true", "-o", file, "./cmd/uid",
		); err != nil {
			return err
		}
		if err := bill(file, version, file+".cdx.json"); err != nil {
			return err
		}
		for _, f := range []string{file, file + ".cdx.json"} {
			text, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), filepath.Base(f))
		}
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// bill writes the software bill of materials of an executable: the modules that the Go linker says
// are in it, as CycloneDX, those of this repository at version. It has no time and no random
// number, so that it is the same each time.
func bill(executable, version, to string) error {
	info, err := buildinfo.ReadFile(executable)
	if err != nil {
		return err
	}
	component := func(kind cyclonedx.ComponentType, path, at string) cyclonedx.Component {
		if at == "(devel)" {
			at = version
		}
		purl := "pkg:golang/" + path + "@" + at
		return cyclonedx.Component{
			Type: kind, BOMRef: purl, PackageURL: purl, Name: path, Version: at,
		}
	}
	parts := []cyclonedx.Component{
		component(cyclonedx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go")),
	}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		parts = append(parts, component(cyclonedx.ComponentTypeLibrary, dep.Path, dep.Version))
	}
	uid := component(cyclonedx.ComponentTypeApplication, info.Main.Path, info.Main.Version)
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &uid}
	bom.Components = &parts
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	err = cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return err
}
