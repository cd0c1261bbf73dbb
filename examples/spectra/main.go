// Spectra reads signals from an HDF5 file, one per row, computes the power of
// each at a list of frequencies on all lanes of all ranks, and writes the results
// to another HDF5 file as they come. Only the root touches the files; neither
// input nor output is ever whole in memory. A run that was stopped goes on
// where it was.
//
//	spectra -make 1000 -in signals.h5        makes an input to play with
//	mpirun -n 4 spectra -in signals.h5 -out spectra.h5
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/cmplx"
	"os"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi"
	"github.com/hataori/hataori-go/store"
)

const (
	inputName  = "signals" // float64, rows × samples
	outputName = "spectra" // one spectrum per row
	lineCount  = 16        // frequencies 0 … 15 cycles per row

	mostSamples = 1 << 24
)

// spectrum is a row of the output: a compound type in the file.
type spectrum struct {
	Power [lineCount]float64 `store:"power"`
	Total float64            `store:"total"`
}

func main() {
	in := flag.String("in", "signals.h5", "input `file`")
	out := flag.String("out", "spectra.h5", "output `file`; one that is there is completed")
	k := flag.Int("lanes", 1, "lanes of each rank")
	n := flag.Int("make", 0, "write an input of `n` signals and stop")
	verbose := flag.Bool("v", false, "tell everything about an error")
	flag.Parse()
	if *n > 0 {
		if err := makeInput(*in, *n, 256); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	p := mpi.Program{Details: "-v", Verbose: *verbose}
	os.Exit(p.Run(func(ctx context.Context, rt *mpi.Runtime) error { return spectra(ctx, rt, *k, *in, *out) }))
}

func spectra(ctx context.Context, rt *mpi.Runtime, k int, in, out string) (err error) {
	world, err := hataori.NewWorld(rt.World())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	var files *files
	if world.Rank() == 0 {
		files, err = openFiles(in, out)
	}
	if err := world.Agree(ctx, err); err != nil {
		return err
	}
	var source hataori.Source[[]float64]
	var sink hataori.Sink[spectrum]
	if files != nil {
		source, sink = files, files.sink
	}
	err = hataori.PmapStream(ctx, world, lanes.New(k), hataori.Options{}, source, sink,
		func(_ context.Context, _ lanes.Lane, signal []float64) (spectrum, error) {
			return spectrumOf(signal), nil
		})
	if files != nil {
		err = errors.Join(err, files.close())
	}
	return err
}

// files are the root's: it is the source of the signals, and has the sink.
type files struct {
	in, out *store.File
	sink    *store.Sink[spectrum]
	shape   []int
	next    int
}

func openFiles(in, out string) (f *files, err error) {
	f = new(files)
	if f.in, err = store.Open(in, store.Options{}); err != nil {
		return nil, err
	}
	info, err := f.in.Info(inputName)
	if err == nil && (len(info.Shape) != 2 || info.Shape[1] > mostSamples) {
		err = fmt.Errorf("%s: %s has shape %v, want rows of at most %d samples", in, inputName, info.Shape, mostSamples)
	}
	if err != nil {
		return nil, errors.Join(err, f.in.Close())
	}
	f.shape = info.Shape
	// What the results depend on, as far as it is cheap to tell.
	fingerprint := store.Problem(store.Part{Name: "lines", Value: fmt.Sprint(lineCount)},
		store.Part{Name: "input", Value: in}, store.Part{Name: "its shape", Value: fmt.Sprint(info.Shape)})
	if f.out, err = store.Resume(out, store.Options{Fingerprint: fingerprint}); err != nil {
		return nil, errors.Join(err, f.in.Close())
	}
	f.sink, err = store.NewSink[spectrum](f.out, outputName, store.SinkOptions{Rows: int64(f.shape[0]), Units: "V^2"})
	if err != nil {
		return nil, errors.Join(err, f.close())
	}
	return f, nil
}

// Next reads the next row.
func (f *files) Next(context.Context) ([]float64, error) {
	if f.next == f.shape[0] {
		return nil, io.EOF
	}
	row := make([]float64, f.shape[1])
	err := store.ReadSlab(f.in, inputName, []int{f.next, 0}, []int{1, len(row)}, row)
	f.next++
	return row, err
}

func (f *files) close() error { return errors.Join(f.out.Close(), f.in.Close()) }

// spectrumOf is |Σ x(k) exp(−2πi·f·k/n)|²/n² for f = 0, 1, …, and the mean of x².
func spectrumOf(x []float64) (s spectrum) {
	n := float64(len(x))
	for f := range s.Power {
		var sum complex128
		for k, v := range x {
			sum += complex(v, 0) * cmplx.Exp(complex(0, -2*math.Pi*float64(f)*float64(k)/n))
		}
		s.Power[f] = (real(sum)*real(sum) + imag(sum)*imag(sum)) / (n * n)
	}
	for _, v := range x {
		s.Total += v * v / n
	}
	return s
}

// makeInput writes n signals: row r is cos of 1 + r mod 7 cycles, times r.
func makeInput(path string, n, samples int) error {
	f, err := store.Create(path, store.Options{})
	if err != nil {
		return err
	}
	all := make([]float64, n*samples)
	for i := range all {
		r, k := i/samples, i%samples
		all[i] = float64(r) * math.Cos(2*math.Pi*float64(1+r%7)*float64(k)/float64(samples))
	}
	err = store.WriteTensor(f, inputName, all, []int{n, samples}, store.TensorOptions{Units: "V"})
	return errors.Join(err, f.Close())
}
