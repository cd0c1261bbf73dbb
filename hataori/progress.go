package hataori

import (
	"time"
)

// Progress is how far a call has come, for Options.Progress.
type Progress struct {
	Done    int64         // items evaluated, failed ones included
	Failed  int64         // of these, with Options.Collect
	Total   int64         // −1 where the source does not tell
	Elapsed time.Duration // since the work began
	Rate    float64       // items per second since the last report
	Lanes   int           // healthy lanes of all ranks
	Busy    int           // of these, lanes that have items

	// Remaining is what is left divided by the mean rate so far; −1 as long as
	// that is not known.
	Remaining time.Duration
}

const defaultProgressEvery = time.Second

// meter calls Options.Progress from time to time, on a goroutine of its own, so
// that neither an item nor the coordinator waits for it.
type meter struct {
	call  *call
	crew  *crew
	total int64
	start time.Time
	last  Progress
	quit  chan struct{}
	ended chan struct{}
}

// startMeter returns nil if nobody wants to know.
func (c *call) startMeter(crew *crew, total int64) *meter {
	if c.opts.Progress == nil {
		return nil
	}
	m := &meter{call: c, crew: crew, total: total, start: time.Now(), quit: make(chan struct{}), ended: make(chan struct{})}
	go m.run()
	return m
}

// stop makes the last report and returns after it.
func (m *meter) stop() {
	if m != nil {
		close(m.quit)
		<-m.ended
	}
}

func (m *meter) run() {
	defer close(m.ended)
	returned := false
	defer func() {
		if !returned {
			m.call.blame("Options.Progress", unreturned(recover()))
		}
	}()
	every := m.call.opts.ProgressEvery
	if every == 0 {
		every = defaultProgressEvery
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			m.call.opts.Progress(m.sample())
		case <-m.quit:
			m.call.opts.Progress(m.sample())
			returned = true
			return
		}
	}
}

func (m *meter) sample() Progress {
	items, _ := m.crew.progress()
	items -= m.crew.cancelledItems()
	p := Progress{Done: max(items+m.call.remote.Load(), m.last.Done), Failed: m.call.absorbed.Load(), Total: m.total,
		Elapsed: time.Since(m.start), Remaining: -1}
	if d := p.Elapsed - m.last.Elapsed; d > 0 {
		p.Rate = float64(p.Done-m.last.Done) / d.Seconds()
	}
	own := m.crew.snapshot()
	p.Lanes = own.Healthy + int(m.call.farLanes.Load())
	p.Busy = max(own.Healthy-own.Idle, 0) + int(m.call.farBusy.Load())
	if p.Total >= 0 && p.Done > 0 {
		p.Remaining = time.Duration(float64(p.Elapsed) / float64(p.Done) * float64(max(p.Total-p.Done, 0)))
	}
	m.last = p
	return p
}
