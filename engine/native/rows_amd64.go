package native

import "github.com/hataori/hataori-go/engine"

func rows(d engine.DType) rowsOf { return portableRows(d) }
