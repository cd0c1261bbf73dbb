package store

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// reserveFile makes sure that the file at path can grow by n bytes, without
// changing its length. Where the file system cannot reserve, it looks at least
// whether there is room.
func reserveFile(path string, n int64) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_FSIZE, &limit) == nil && uint64(st.Size()+n) > limit.Cur {
		return syscall.EFBIG
	}
	for {
		err = unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, st.Size(), n)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if !errors.Is(err, syscall.EOPNOTSUPP) && !errors.Is(err, syscall.ENOSYS) {
		return err
	}
	var fs unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &fs) == nil && int64(fs.Bavail) < n/max(1, int64(fs.Bsize)) {
		return syscall.ENOSPC
	}
	return nil
}
