//go:build !(linux || darwin || freebsd)

package store

import (
	"errors"
	"os"
	"runtime"
)

var errPlatform = errors.New("package store does not work on " + runtime.GOOS)

func dlopen(string) (uintptr, error)         { return 0, errPlatform }
func dlsym(uintptr, string) (uintptr, error) { return 0, errPlatform }
func lockFile(*os.File) (bool, error)        { return false, errPlatform }
func syncDir(string) error                   { return errPlatform }
