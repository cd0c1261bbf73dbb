package progress

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// pty is a terminal of that size: what is written to the first comes out of the
// second.
func pty(t *testing.T, rows, cols uint16) (terminal, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminals to be had: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("no terminals to be had: %v", err)
	}
	t.Cleanup(func() { terminal.Close() })
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}); err != nil {
		t.Fatal(err)
	}
	return terminal, screen
}

// TestTerminals draws on terminals of every size, and of those that can do
// nothing.
func TestTerminals(t *testing.T) {
	for _, x := range []struct {
		term       string
		rows, cols uint16
		bar        bool
	}{
		{"xterm", 24, 80, true}, {"xterm", 24, 20, true}, {"xterm", 0, 0, false}, {"xterm", 1, 1, false}, {"xterm", 65535, 65535, true},
		{"dumb", 24, 80, false}, {"", 24, 80, false},
	} {
		t.Setenv("TERM", x.term)
		terminal, screen := pty(t, x.rows, x.cols)
		d := New(terminal, Options{Every: 1})
		read := make(chan []byte)
		go func() {
			var all []byte
			b := make([]byte, 1<<16)
			for !bytes.Contains(all, []byte("the end")) {
				n, err := screen.Read(b)
				if err != nil {
					break
				}
				all = append(all, b[:n]...)
			}
			read <- all
		}()
		told(d)
		d.Close()
		fmt.Fprint(terminal, "the end")
		got := <-read
		// A bar that is drawn only once, at its end, needs no escape.
		escapes, whole := bytes.ContainsRune(got, 0x1b), bytes.Contains(got, []byte(" 100 % ["))
		if d.terminal != x.bar || escapes && !x.bar || x.bar && !escapes && !whole || len(got) > 1<<20 {
			t.Errorf("TERM=%q, %d × %d: a bar: %v, %d bytes: %.300q", x.term, x.rows, x.cols, d.terminal, len(got), got)
		}
	}
}

// TestClosed: nobody is there to read, and the work goes on.
func TestClosed(t *testing.T) {
	t.Setenv("TERM", "xterm")
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	reader.Close()
	d := New(writer, Options{Every: 1})
	told(d)
	d.Close()
	writer.Close()
	d = New(writer, Options{Every: 1})
	told(d)
	d.Close()
	terminal, screen := pty(t, 24, 80)
	screen.Close() // hung up
	d = New(terminal, Options{})
	told(d)
	d.Close()
}
