package blas_test

import (
	"errors"
	"fmt"

	"github.com/hataori/hataori-go/engine/blas"
)

// A program that wants a BLAS only where there is one.
func ExampleOpen() {
	_, err := blas.Open(blas.Options{Library: "/no/such/library.so"})
	var missing *blas.NotFoundError
	if errors.As(err, &missing) {
		fmt.Println("tried:", missing.Attempts[0].Library, "named by", missing.Asked)
	}
	// Output: tried: /no/such/library.so named by Options.Library
}
