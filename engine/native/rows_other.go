//go:build !amd64

package native

import "github.com/hataori/hataori-go/engine"

func rows(_ Level, d engine.DType) rowsOf { return portableRows(d) }
