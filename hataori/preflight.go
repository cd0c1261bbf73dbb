package hataori

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/transport"
)

// The tags used on a world.
const (
	tagWork  = 1 // reports, grants, notices
	tagWorld = 2 // announcements, breakdowns
)

// none stands in a minimum for "not I".
const none = math.MaxInt64

// terms is what a rank brings to the preflight of a call.
type terms struct {
	kind      string
	objection *fault // why the rank cannot take part, or nil
	cancelled bool   // its context has ended
	items     int64  // on the root, −1 if not known; −1 elsewhere
	lanes     int
	fields    []field // must agree, the same number of them for one kind
}

// field is something on which the ranks must agree.
type field struct{ name, value string }

const maxFields = 8

// agreed is what the preflight found.
type agreed struct {
	cancelled bool  // some rank's context has ended
	items     int64 // the root's
	lanes     int   // most of any rank
}

// call is one collective call on one rank.
type call struct {
	w         *World
	opts      *Options
	ladder    ladder
	announced bool
	inFlight  []any // what the transport may hold of a collective operation

	remote   atomic.Int64 // at the root: results that came from other ranks
	absorbed atomic.Int64 // at the root: of all results, those that stand for failures

	farLanes, farBusy atomic.Int64 // at the root, for Progress: lanes of the other ranks

	rec *recorder // Options.Trace; nil: none

	flights flights // at the root: of all ranks, after the work

	blamed  atomic.Pointer[fault] // the first callback of Options that did not return
	onBlame func()                // told of it, on any goroutine; may be nil
}

func newCall(w *World, opts *Options) *call {
	pause := w.pause
	if pause == nil {
		pause = nap
	}
	return &call{w: w, opts: opts, ladder: ladder{pause: pause, most: w.hot}}
}

func (c *call) fault(f *fault) *fault {
	f.rank, f.host, f.lane, f.err = c.w.rank, c.w.host, lanes.NoLane, sound(f.err)
	return f
}

// object is the objection of this rank, for the given reason.
func (c *call) object(reason error, err error, format string, args ...any) *fault {
	return c.fault(&fault{class: classPreflight, reason: slices.Index(reasons[:], reason), err: err, message: fmt.Sprintf(format, args...)})
}

func (c *call) log(level slog.Level, msg string, args ...any) {
	c.tell(level, msg, append(args, "rank", c.w.rank, "call", c.w.epoch))
}

// preflight agrees on the call, in one reduction of minima: x and −x for what
// must be equal. Only if something is wrong do further ones follow. The error is
// the same on every rank, unless the transport broke.
func (c *call) preflight(t terms) (agreed, error) {
	w := c.w
	fields := append([]field{
		{"call", t.kind},
		{"number of calls made on the world", fmt.Sprint(w.epoch)},
		{"program", fmt.Sprint(w.build)},
	}, t.fields...)
	if w.size == 1 {
		if t.objection != nil {
			return agreed{}, t.objection.crossed(nil)
		}
		return agreed{t.cancelled, t.items, t.lanes}, nil
	}
	send := make([]int64, 4+2*maxFields)
	send[0], send[1], send[2], send[3] = none, none, -t.items, -int64(t.lanes)
	if t.objection != nil {
		send[0] = int64(w.rank)
	}
	if t.cancelled {
		send[1] = int64(w.rank)
	}
	for i, f := range fields {
		h := hash(f.value)
		send[4+2*i], send[5+2*i] = h, -h
	}
	recv := make([]int64, len(send))
	if err := c.meet(send, recv); err != nil {
		return agreed{}, err
	}
	differ := false
	for i := 4; i < len(recv); i += 2 {
		differ = differ || recv[i] != -recv[i+1]
	}
	if differ {
		if err := c.compare(fields, &t); err != nil {
			return agreed{}, err
		}
	}
	if differ || recv[0] != none {
		err := c.settle(t.objection, nil)
		if err == nil { // the fields differ in what compare cannot see: their number
			err = c.breakdown(errors.New("ranks disagree about the call, but not about how"))
		}
		return agreed{}, err
	}
	return agreed{recv[1] != none, -recv[2], int(-recv[3])}, nil
}

// compare makes an objection of what differs from rank 0.
func (c *call) compare(fields []field, t *terms) error {
	var mine []byte
	for _, f := range fields {
		for _, s := range []string{f.name, f.value} {
			mine = binary.AppendUvarint(mine, uint64(len(s)))
			mine = append(mine, s...)
		}
	}
	theirs, err := c.bcast(mine, 0)
	if err != nil || c.w.rank == 0 || t.objection != nil {
		return err
	}
	var diffs []string
	for i := 0; i < max(len(fields), maxFields) && (len(theirs) > 0 || i < len(fields)); i++ {
		var f, own field
		for _, s := range []*string{&f.name, &f.value} {
			if n, k := binary.Uvarint(theirs); k > 0 && n <= uint64(len(theirs)-k) {
				*s, theirs = string(theirs[k:k+int(n)]), theirs[k+int(n):]
			}
		}
		if i < len(fields) {
			own = fields[i]
		}
		if own != f {
			name := own.name
			if name == "" {
				name = f.name
			}
			diffs = append(diffs, fmt.Sprintf("%s: %q here, %q on rank 0", name, own.value, f.value))
		}
		if i == 0 && len(diffs) > 0 {
			break // different calls differ in everything
		}
	}
	if len(diffs) > 0 {
		t.objection = c.object(ErrMismatch, nil, "%s", strings.Join(diffs, "; "))
	}
	return nil
}

// meet is the first reduction of a call, for which ranks may be late. Those that
// wait long announce themselves to rank 0, so that it can name the others; in
// the usual case no such message is sent.
func (c *call) meet(send, recv []int64) error {
	req, err := c.w.comm.Iallreduce(send, recv, transport.Min)
	if err != nil {
		return c.breakdown(err)
	}
	c.inFlight = []any{req, send, recv}
	limit := c.opts.PreflightTimeout
	if limit < 0 { // this rank's objection
		return c.await(req, 8*len(send))
	}
	start, warnAt := time.Now(), lateWarning
	for {
		done, err := c.test(req)
		if err != nil || done {
			return err
		}
		waited := time.Since(start)
		switch {
		case limit > 0 && waited > limit/2:
			err = c.late(waited, limit)
		case limit == 0 && waited > warnAt/2:
			if err = c.announce(); waited > warnAt {
				c.warnLate(waited)
				warnAt *= 2
			}
		}
		if err != nil {
			return err
		}
		c.ladder.wait(hotStarving, idleNap)
	}
}

// lateWarning is after which time a call without PreflightTimeout first says that
// it waits.
const lateWarning = time.Minute

// announce tells rank 0, once, that this rank has come to the call.
func (c *call) announce() error {
	w := c.w
	if c.announced || w.rank == 0 {
		return nil
	}
	c.announced = true
	msg := wire.Finish(wire.AppendHeader(nil, wire.Header{Kind: wire.Announce, Epoch: w.epoch}))
	r, err := w.comm.Isend(msg, 0, tagWorld)
	if err != nil {
		return err
	}
	return c.await(r, len(msg))
}

// absent names, on rank 0, the ranks that have not announced themselves.
func (c *call) absent() (names []string) {
	for r := 1; r < c.w.size; r++ {
		if !c.w.arrived[c.w.epoch][r] {
			names = append(names, fmt.Sprint(r))
		}
	}
	return names
}

// warnLate tells the logger that the call waits for others. Only rank 0 knows for
// which, so that where it is missing itself nobody does.
func (c *call) warnLate(waited time.Duration) {
	waited = waited.Round(time.Second)
	if c.w.rank != 0 {
		c.log(slog.LevelInfo, "waits for ranks to come to the call; rank 0 says which, if it has come", "waited", waited)
		return
	}
	c.log(slog.LevelWarn, "waits for ranks to come to the call", "absent", strings.Join(c.absent(), ", "), "waited", waited)
}

// late is what a rank does that has waited for more than half of the limit.
func (c *call) late(waited, limit time.Duration) error {
	w := c.w
	if err := c.announce(); err != nil {
		return err
	}
	patience, absent := limit, []string{"0"}
	if w.rank == 0 {
		absent = c.absent()
	}
	if w.rank != 0 || len(absent) == 0 {
		patience += limit / 2 // rank 0 names the absent ones, unless it is one of them
	}
	if waited < patience {
		return nil
	}
	f := c.object(ErrAbsent, nil, "waited %v for rank %s", limit, strings.Join(absent, ", "))
	if len(absent) == 0 {
		f.message = fmt.Sprintf("waited %v; all ranks came, but the reduction does not end", patience)
	}
	c.tellAll(f)
	err := f.crossed(nil)
	c.breakdown(&toldError{w.rank, err.Error()})
	return err
}

// test makes progress and reports whether the request is complete.
func (c *call) test(req transport.Request) (bool, error) {
	done, _, err := req.Test()
	if err != nil {
		return false, c.breakdown(err)
	}
	if !done && c.ladder.polls > 16 {
		if err := c.worldMail(); err != nil {
			return false, err
		}
	}
	return done, nil
}

// await waits until the request, of so many bytes, is complete.
func (c *call) await(req transport.Request, length int) error {
	c.ladder.reset()
	for {
		done, err := c.test(req)
		switch {
		case err != nil || done:
			return err
		case length > longMessage:
			c.ladder.haul()
		default:
			c.ladder.wait(hotStarving, idleNap)
		}
	}
}

// worldMail takes in an announcement or a breakdown.
func (c *call) worldMail() error {
	st, ok, err := c.w.comm.Iprobe(transport.AnySource, tagWorld)
	if err != nil {
		return c.breakdown(err)
	}
	if !ok {
		return nil
	}
	msg := make([]byte, st.Count)
	req, err := c.w.comm.Irecv(msg, st.Source, tagWorld)
	for done := false; err == nil && !done; {
		done, _, err = req.Test()
	}
	if err != nil {
		return c.breakdown(err)
	}
	return c.onWorldMail(st.Source, msg)
}

// onWorldMail takes in a message to the world, whatever the call.
func (c *call) onWorldMail(source int, msg []byte) error {
	h, body, err := wire.ParseHeader(msg)
	if err != nil {
		return c.breakdown(fmt.Errorf("from rank %d: %w", source, err))
	}
	switch h.Kind {
	case wire.Announce:
		m := c.w.arrived[h.Epoch]
		if m == nil {
			m = make(map[int]bool)
			c.w.arrived[h.Epoch] = m
		}
		m[source] = true
		return nil
	case wire.Broken:
		var f fault
		if err := f.unmarshal(body, nil); err != nil {
			return c.breakdown(fmt.Errorf("from rank %d: %w", source, err))
		}
		b := c.breakdown(&toldError{source, f.message})
		if f.class == classPreflight {
			return f.public(nil)
		}
		return b
	}
	return c.breakdown(fmt.Errorf("message of kind %d from rank %d where none of its kind may come", h.Kind, source))
}
