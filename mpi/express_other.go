//go:build !amd64 || !(linux || darwin || freebsd)

package mpi

func (l *library) crossTake() int {
	for x := &l.cross; ; {
		rc := l.crossTest()
		if rc == 0 && x.flag != 0 {
			x.stage = 1
			return l.crossStart(fnIrecv)
		}
		if x.looks--; rc != 0 || x.looks == 0 {
			return rc
		}
	}
}

func (l *library) crossGive() int {
	if rc := l.crossStart(fnIsend); rc != 0 {
		return rc
	}
	l.cross.stage = 1
	return l.crossTest()
}

func (l *library) crossStart(f fn) int {
	x := &l.cross
	return l.foreign(f, x.buf, x.count, x.dataType, x.peer, x.tag, x.comm, x.request)
}

func (l *library) crossTest() int {
	x := &l.cross
	rc := l.foreign(fnTest, x.request, l.outAddr(0), x.status)
	x.flag = int32(l.out[0])
	return rc
}
