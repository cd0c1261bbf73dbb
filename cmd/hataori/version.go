package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
)

type versionCmd struct{}

// Run prints the versions.
func (*versionCmd) Run(out io.Writer) error {
	_, err := fmt.Fprintf(out, "hataori %s\n%s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	info, ok := debug.ReadBuildInfo()
	if !ok || err != nil {
		return err
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		if _, err := fmt.Fprintf(out, "%s %s\n", m.Path, m.Version); err != nil {
			return err
		}
	}
	return nil
}

// version is that of the module, with the commit where it was built from a
// checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "of unknown version"
	}
	text := info.Main.Version
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			text += " (" + s.Value[:12] + ")"
		}
	}
	return text
}
