//go:build !linux

package cpu

import "github.com/hataori/hataori-go/engine"

const hugePage = 2 << 20

func wide(n int) []byte { return engine.AlignedBytes(n) }

func limit() int64 { return addressing }
