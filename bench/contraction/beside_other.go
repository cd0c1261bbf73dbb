//go:build !linux

package main

import "errors"

func beside(func() error, bool) error { return errors.New("beside: it needs the sleep of Linux") }
