//go:build darwin || freebsd

package blas

// The system does not tell what is loaded in a way that is read here.

func fileOf(uintptr) string     { return "" }
func loadedLibraries() []string { return nil }
func loaded(string) uintptr     { return 0 }
