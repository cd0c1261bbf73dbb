package mpitest_test

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

// wait tests a request until it is done.
func wait(r transport.Request, err error) error {
	for err == nil {
		var done bool
		if done, _, err = r.Test(); done {
			return nil
		}
		time.Sleep(10 * time.Microsecond)
	}
	return err
}

// Three ranks add their numbers. Check would report a message that nobody
// received.
func Example() {
	net := mpitest.New(3, mpitest.Options{Seed: 42})
	err := net.Run(func(c transport.Comm) error {
		sum := make([]int64, 1)
		if err := wait(c.Iallreduce([]int64{int64(c.Rank() + 1)}, sum, transport.Sum)); err != nil {
			return err
		}
		if c.Rank() == 0 {
			fmt.Println("sum:", sum[0])
		}
		return nil
	})
	fmt.Println("error:", errors.Join(err, net.Check()))
	// Output:
	// sum: 6
	// error: <nil>
}

// A send to rank 1 fails.
func ExampleOptions() {
	net := mpitest.New(2, mpitest.Options{
		OnSend: func(m mpitest.Message) error {
			if m.Dest == 1 {
				return errors.New("link down")
			}
			return nil
		},
	})
	_, err := net.Rank(0).Isend([]byte("hi"), 1, 0)
	fmt.Println(err)
	// Output:
	// Isend on rank 0: link down: comm 0: 0 → 1 tag 0 #0, 2 bytes
}

func ExampleComm_Part() {
	net := mpitest.New(5, mpitest.Options{})
	places := make([]string, net.Size())
	err := net.Run(func(c transport.Comm) error {
		// Even and odd ranks, each in falling order.
		part, err := c.(transport.Splitter).Part(c.Rank()%2, -c.Rank())
		if err != nil {
			return err
		}
		places[c.Rank()] = fmt.Sprintf("rank %d is %d of %d in its part", c.Rank(), part.Rank(), part.Size())
		return part.Free()
	})
	if err := errors.Join(err, net.Check()); err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.Join(places, "\n"))
	// Output:
	// rank 0 is 2 of 3 in its part
	// rank 1 is 1 of 2 in its part
	// rank 2 is 1 of 3 in its part
	// rank 3 is 0 of 2 in its part
	// rank 4 is 0 of 3 in its part
}
