package cpu_test

import (
	"fmt"
	"log"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
)

func Example() {
	e, err := cpu.Serial(cpu.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()

	a, _ := engine.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	b, _ := engine.FromSlice([]float64{1, 0, 0, 1, 1, 1}, 3, 2)
	c, err := engine.MatMul(e, a, b)
	if err != nil {
		log.Fatal(err)
	}
	data, _ := engine.Data[float64](c)
	fmt.Println(c.Shape(), data)
	fmt.Println(e.Release(c))
	// Output:
	// [2 2] [4 5 10 11]
	// <nil>
}

// A pool of the caller's own threads, and a contraction that is bound once and
// run many times.
func ExampleNew() {
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	e, err := cpu.New(pool, cpu.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close() // ends the pool's thread

	a, _ := engine.FromSlice([]complex128{1, 1i, 2, 2i}, 2, 2)
	// out[j] += Σ_i conj(a[i, j]) · a[i, j]: the norm of each column.
	op := engine.DotGeneral{
		BatchL: engine.AxesOf(1), BatchR: engine.AxesOf(1),
		ContractL: engine.AxesOf(0), ContractR: engine.AxesOf(0),
		ConjL: true, Beta: engine.By(1),
	}
	k, err := e.Bind(op, []engine.Spec{a.Spec(), a.Spec()}, nil)
	if err != nil {
		log.Fatal(err)
	}
	out, _ := engine.FromSlice(make([]complex128, 2), 2)
	for range 3 {
		if err := e.Run(k, []*engine.Tensor{out}, []*engine.Tensor{a, a}); err != nil {
			log.Fatal(err)
		}
	}
	data, _ := engine.Data[complex128](out)
	fmt.Println(data)
	// Output:
	// [(15+0i) (15+0i)]
}

// Code of the caller's own on the pool's threads.
func ExamplePool_Enter() {
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: 3})
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	square := make([]int, pool.Workers())
	if err := pool.Enter(func(w int) { square[w] = w * w }); err != nil {
		log.Fatal(err)
	}
	fmt.Println(square)
	// Output:
	// [0 1 4]
}
