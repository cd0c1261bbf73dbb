package hataori

import (
	"context"
	"errors"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/lanes"
)

// Map returns f(items[0]), f(items[1]), … evaluated one after the other on the
// calling goroutine. It stops at the first error and returns it as an
// [*ItemError]. A panic passes through.
func Map[T, U any](items []T, f func(T) (U, error)) ([]U, error) {
	if f == nil {
		return nil, &CallError{"Map", -1, ErrNilFunc}
	}
	results := make([]U, len(items))
	for i := range items {
		var err error
		if results[i], err = f(items[i]); err != nil {
			err = sound(err)
			return nil, &ItemError{Index: i, Kind: KindError, Message: err.Error(), err: err, local: err}
		}
	}
	return results, nil
}

// MapLanes returns f(items[0]), f(items[1]), …, evaluated by the lanes of ex in
// this process. Results are in the order of the items; which lane evaluates
// which is not specified.
//
// If items fail, MapLanes returns the [*ItemError] of the lowest failing index,
// or, if that item panicked, raises an [*ItemPanic], after all lanes ended.
// Items of higher index may be cancelled or never run. Each lane passes f one
// context derived from ctx, which is valid until f returns. If ctx ends before
// every item was evaluated the error is a [*CancelError].
//
// An executor that cannot run gives its own error: lanes.ErrBusy and the like.
func MapLanes[L, T, U any](ctx context.Context, ex lanes.Executor[L], items []T, f func(ctx context.Context, lane L, item T) (U, error)) ([]U, error) {
	switch {
	case f == nil:
		return nil, &CallError{"MapLanes", -1, ErrNilFunc}
	case isNil(ex):
		return nil, &CallError{"MapLanes", -1, lanes.ErrNoLanes}
	}
	if err := ex.Ready(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		f := cancelFault(ctx)
		return nil, f.public(f)
	}
	results := make([]U, len(items))
	var opts Options
	j := &job[L, T, U]{crew: newCrew(ctx, ex.Lanes(), true, &opts), opts: &opts, ex: ex, f: f,
		src: sliceSource[T](items), dst: sliceSink[U](results)}
	fail, err := j.runLocal(int64(len(items)))
	switch {
	case err != nil:
		return nil, err
	case fail == nil:
		return results, nil
	case fail.class == classItem && fail.kind == KindPanic:
		panic(&ItemPanic{Index: int(fail.index), Lane: fail.lane, Value: fail.value, Stack: []byte(fail.stack)})
	}
	return nil, j.localError(fail)
}

// localError is the error of a call in which nothing crossed.
func (c *crew) localError(f *fault) error {
	err := f.public(f)
	if e, ok := err.(*CancelError); ok {
		fs := flightsOf(c.stats())
		fs.tell(e)
		if low := c.failure(); low != nil {
			e.Item = low.public(low).(*ItemError)
		}
	}
	return err
}

// runLocal evaluates the indices below n on the lanes of this process. The
// fault says what ended it early; the error, why the executor could not run.
func (j *job[L, T, U]) runLocal(n int64) (*fault, error) {
	j.q.Push(farm.Range{End: n}, false, nil)
	j.close()
	err := j.runAttended()
	if err != nil {
		return nil, err
	}
	low, complete := j.failure(), j.complete()
	switch {
	case j.ctx.Err() != nil && !complete:
		return j.sign(cancelFault(j.ctx)), nil
	case low != nil && j.q.Left() == 0:
		return low, nil
	case !complete: // if an item failed, those below it are left, which might fail too
		return j.sign(noHealthyLane(j.sick)), nil
	}
	return nil, nil
}

// sign says on which rank the fault arose.
func (c *crew) sign(f *fault) *fault {
	f.rank, f.host, f.err = c.rank, c.host, sound(f.err)
	return f
}

// noHealthyLane is the end of a call in which items are left over.
func noHealthyLane(cause error) *fault {
	f := &fault{class: classRank, lane: lanes.NoLane, err: ErrNoHealthyLane, message: "items are left and no lane is healthy"}
	if cause != nil {
		f.err = errors.Join(ErrNoHealthyLane, cause)
		f.message += ": " + text(cause)
	}
	return f
}

// cancelFault is the end of a call by a context.
func cancelFault(ctx context.Context) *fault {
	cause := sound(context.Cause(ctx))
	return &fault{class: classCancel, lane: lanes.NoLane, err: cause, message: cause.Error(),
		timeout: errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(cause, context.DeadlineExceeded)}
}

// start lets the executor run. What a lane or the coordinator panicked with goes on;
// a panic of the executor's own is its error.
func start[L any](ex lanes.Executor[L], body lanes.Body[L], coordinate lanes.Coordinator) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *lanes.Panic:
			panic(r)
		default:
			err = unreturned(r)
		}
	}()
	if coordinate == nil {
		return ex.Run(body)
	}
	return ex.RunWithCoordinator(body, coordinate)
}

// runLanes runs the bodies, and coordinate beside them if it is not nil. Lanes
// whose items called Goexit ended their goroutines with it, which is not news.
func runLanes[L any](ex lanes.Executor[L], c *crew, body lanes.Body[L], coordinate lanes.Coordinator) error {
	err := sound(start(ex, body, coordinate))
	var lane *lanes.LaneError
	if errors.As(err, &lane) && lane.Err == lanes.ErrGoexit {
		return nil
	}
	return err
}
