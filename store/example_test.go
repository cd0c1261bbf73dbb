//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/hataori/hataori-go/store"
)

// A run that stops half-way and the run that goes on with it: it computes only
// what is missing.
func Example_restart() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	const items = 10
	path := filepath.Join(dir, "squares.h5")
	options := store.Options{Fingerprint: store.Fingerprint([]byte("squares"), []byte{items})}
	ctx := context.Background()

	run := func(upTo int64) (had, did []int64) {
		f, err := store.Resume(path, options)
		if err != nil {
			log.Fatal(err)
		}
		defer func() {
			if err := f.Close(); err != nil {
				log.Fatal(err)
			}
		}()
		sink, err := store.NewSink[float64](f, "square", store.SinkOptions{Rows: items, Units: "m"})
		if err != nil {
			log.Fatal(err)
		}
		for i := range upTo {
			if sink.Has(i) {
				had = append(had, i)
				continue
			}
			if err := sink.Put(ctx, i, float64(i*i)); err != nil {
				log.Fatal(err)
			}
			did = append(did, i)
		}
		return had, did
	}
	run(5)
	had, did := run(items)
	for _, i := range had {
		fmt.Print(i, " ")
	}
	fmt.Println("are there")
	for _, i := range did {
		fmt.Print(i, " ")
	}
	fmt.Println("were missing")

	f, err := store.Open(path, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	squares := make([]float64, items)
	if _, err := store.ReadRows(f, "square", 0, squares); err != nil {
		log.Fatal(err)
	}
	units, _, err := f.Attr("square", "units")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d rows, the last %g %v\n", len(squares), squares[9], units)
	// Output:
	// 0 1 2 3 4 are there
	// 5 6 7 8 9 were missing
	// 10 rows, the last 81 m
}

// Items from a file: the rows of a matrix, read a block at a time.
func ExampleReadSlab() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "input.h5")

	w, err := store.Create(path, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	matrix := []float64{1, 2, 3, 4, 5, 6}
	if err := store.WriteTensor(w, "geometry/x", matrix, []int{3, 2}, store.TensorOptions{Units: "nm"}); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}

	f, err := store.Open(path, store.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer f.Close()
	info, err := f.Info("geometry/x")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(info.Type, info.Shape)
	row := make([]float64, info.Shape[1])
	for i := range info.Shape[0] {
		if err := store.ReadSlab(f, "geometry/x", []int{i, 0}, []int{1, len(row)}, row); err != nil {
			log.Fatal(err)
		}
		fmt.Println(row)
	}
	_, _, err = store.ReadTensor[float32](f, "geometry/x")
	fmt.Println(errors.Is(err, store.ErrLayout))
	// Output:
	// float64 [3 2]
	// [1 2]
	// [3 4]
	// [5 6]
	// true
}
