// Package mpitest runs the ranks of a job as goroutines of one process, for
// tests of code written against [transport.Comm]. It needs no MPI, no launcher
// and no operating system threads, and works inside a testing/synctest bubble.
//
//	net := mpitest.New(4, mpitest.Options{Seed: 1})
//	err := net.Run(func(c transport.Comm) error {
//		return program(c) // once per rank
//	})
//	err = errors.Join(err, net.Check()) // nothing sent in vain, nothing left open
//
// It keeps exactly what MPI promises and nothing more. Messages between two
// ranks with the same tag keep their order; everything else may be late or
// reordered when [Options] say so: messages from different sources overtake
// each other ([Options.Seed]), a message takes its time ([Options.Delay]), a
// send fails ([Options.OnSend]), a rank dies ([Net.Kill]). A long send does not
// complete before its receiver has taken the message, so that code that relies
// on buffering hangs here as it would in a real job.
//
// It also finds misuse that MPI leaves undefined: two goroutines inside one
// communicator at a time, collective calls that do not agree, a request that is
// used again after it was done, messages that nobody received. Under the race
// detector a buffer that is touched while it belongs to the transport is found
// too.
//
// [Conform] is the suite of cases that every implementation of transport.Comm
// has to pass.
package mpitest
