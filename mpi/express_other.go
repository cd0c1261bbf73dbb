//go:build !amd64 || !(linux || darwin || freebsd)

package mpi

func (l *library) crossTake() int {
	x := &l.cross
	if rc := l.crossPost(); rc != 0 {
		return rc
	}
	for {
		rc := l.crossTest(&x.recv)
		if x.looks--; rc != 0 || x.flag != 0 || x.looks == 0 {
			return rc
		}
	}
}

func (l *library) crossGive() int {
	x := &l.cross
	if rc := l.crossStart(stepSend, &x.send); rc != 0 {
		return rc
	}
	if rc := l.crossPost(); rc != 0 {
		return rc
	}
	return l.crossTest(&x.send)
}

func (l *library) crossPost() int {
	if l.cross.post == 0 {
		return 0
	}
	return l.crossStart(stepPost, &l.cross.recv)
}

func (l *library) crossStart(step int32, t *transfer) int {
	l.cross.step = step
	return l.foreign(crossed[step], t.buf, t.count, t.dataType, t.peer, t.tag, t.comm, t.request)
}

func (l *library) crossTest(t *transfer) int {
	x := &l.cross
	x.step = stepTest
	rc := l.foreign(fnTest, t.request, l.outAddr(0), x.status)
	x.flag = int32(l.out[0])
	return rc
}
