//go:build !amd64

package native

func detect() Level { return Portable }
