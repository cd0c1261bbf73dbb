#!/usr/bin/env bash
# Results on disk: 200 kills at random moments and a cut at every byte (package store), then the files of examples/contract, on one
# rank, on two of each MPI and from a run that was killed and resumed, compared by h5diff and opened by h5dump and h5py.
set -u
. "$(dirname "$0")/lib.sh"
bad=0
fail() { echo "FAIL: $*"; bad=1; }

# In memory where there is such a file system: what is tested is the death of processes, not of disks.
tmp=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")/store.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
TMPDIR=$tmp HATAORI_SOAK=1 HATAORI_REQUIRE_HDF5=1 CGO_ENABLED=0 go test -count=1 -v -run 'Kill|Cut|Torn|Full|Tools' ./store >"$tmp/log" 2>&1 ||
  fail "$(tail -n 40 "$tmp/log")"
grep -o '[0-9]* kills.*' "$tmp/log" || fail "no kills were counted"

CGO_ENABLED=0 go build -o "$build/contract" ./examples/contract || exit 1
problem=(--circuit 4x4x24 --open 10 --slices 512 --provider native --lanes 1)
HATAORI_MPI=off "$build/contract" "${problem[@]}" --out "$tmp/one.h5" >/dev/null || fail "contract --out"

# agree FILE compares the datasets of a file with those of the run on one rank.
agree() {
  local d
  for d in /output /slices /slices_done; do
    h5diff "$tmp/one.h5" "$1" "$d" >"$tmp/diff" 2>&1 || fail "h5diff $d of $(basename "$1"): $(head -n 5 "$tmp/diff")"
  done
  h5dump -d /output "$1" >"$tmp/dump" 2>&1 || fail "h5dump: $(head -n 5 "$tmp/dump")"
  /usr/bin/python3 -c '
import h5py, numpy as np, sys
with h5py.File(sys.argv[1]) as f:
    assert f["slices"].shape == (512, f["slices"].shape[1]) and f["slices_done"][...].all()
    assert f["output"].shape == (2,) * 10 and f["output"].dtype == np.complex128
    assert np.isfinite(f["output"][...]).all() and np.abs(f["output"][...]).max() > 0' "$1" || fail "h5py: $1"
}
agree "$tmp/one.h5"
for launch in mpi_openmpi mpi_mpich; do
  $launch 2 timeout 60 "$build/contract" "${problem[@]}" --out "$tmp/$launch.h5" >/dev/null || fail "$launch contract --out"
  agree "$tmp/$launch.h5"
  out=$tmp/killed-$launch.h5
  HATAORI_MPI=off "$build/contract" "${problem[@]}" --out "$out" >/dev/null 2>&1 &
  for ((i = 0; i < 2000; i++)); do
    [ "$(stat -c %s "$out.journal" 2>/dev/null || echo 0)" -lt 100000 ] || break
    sleep 0.01
  done
  kill -KILL $! && wait $! 2>/dev/null
  [ $? = 137 ] || fail "the run ended before it was killed"
  text=$($launch 2 timeout 60 "$build/contract" "${problem[@]}" --out "$out" --resume) || fail "$launch contract --resume: $text"
  grep -o '[0-9]* slices were kept' <<<"$text" || fail "nothing was kept: $text"
  agree "$out"
done
[ $bad = 0 ] && echo "store: ok"
exit $bad
