package store_test

import (
	"context"
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
