package hataori

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"
)

// Retryable marks an error: the item that returns it may be evaluated again, up
// to Options.Retries times. An error of the caller's does the same if it, or one
// that it wraps, has a method Retryable() bool that returns true. Retryable(nil)
// is nil.
func Retryable(err error) error {
	if err == nil {
		return nil
	}
	return &retryable{sound(err)}
}

type retryable struct{ err error }

func (r *retryable) Error() string   { return r.err.Error() }
func (r *retryable) Unwrap() error   { return r.err }
func (r *retryable) Retryable() bool { return true }

func mayRetry(err error) bool {
	var r interface{ Retryable() bool }
	return errors.As(err, &r) && r.Retryable()
}

// overdueGrace is how long an item may go on after Options.ItemTimeout before it is
// named.
const overdueGrace = time.Second

// call evaluates the item, again if its error allows that.
func (l *lane[L, T, U]) call(item T) error {
	for left := l.opts.Retries; ; left-- {
		err := l.once(item)
		if err == nil || left <= 0 || l.st.ctx.Err() != nil || !mayRetry(err) {
			return err
		}
		l.st.retries.Add(1)
		l.logItem(slog.LevelInfo, "item is evaluated again", "err", err)
	}
}

// once evaluates the item under Options.ItemTimeout, if that is set.
func (l *lane[L, T, U]) once(item T) (err error) {
	limit := l.opts.ItemTimeout
	if limit <= 0 {
		*l.val, err = l.f(l.st.ctx, l.res, item)
		return sound(err)
	}
	ctx, cancel := context.WithTimeout(l.st.ctx, limit)
	defer cancel()
	told := make(chan struct{})
	timer := time.AfterFunc(limit+overdueGrace, func() {
		l.st.overdue.Add(1)
		defer close(told)
		l.logItem(slog.LevelWarn, "item goes on long after Options.ItemTimeout: let it return when its context ends", "timeout", limit, "late", overdueGrace)
	})
	defer func() {
		if !timer.Stop() {
			<-told
		}
	}()
	*l.val, err = l.f(ctx, l.res, item)
	if err = sound(err); err != nil && ctx.Err() == context.DeadlineExceeded && l.st.ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w (%v): %w", ErrItemTimeout, limit, err)
	}
	return err
}

// logItem reports on the item that the lane evaluates.
func (l *lane[L, T, U]) logItem(level slog.Level, msg string, args ...any) {
	if l.tell != nil {
		l.tell(level, msg, append(args, "item", l.index, "rank", l.rank, "lane", int(l.st.number)))
	}
}
