#!/usr/bin/env bash
# examples/mpi_smoke, one CGO_ENABLED=0 binary, under Open MPI and MPICH at 1, 2, 3, 4 and 6 ranks.
set -u
. "$(dirname "$0")/lib.sh"
CGO_ENABLED=0 go build -o "$build/mpi_smoke" ./examples/mpi_smoke || exit 1
bad=0

fail() { echo "FAIL: $*"; bad=1; }

# holds LAUNCH RANKS FLAG…: one line that says ok, and silence on standard error.
holds() {
  local launch=$1 n=$2 out status what
  shift 2
  what="$launch -n $n mpi_smoke $*"
  out=$($launch "$n" timeout 60 "$build/mpi_smoke" "$@" 2>"$build/smoke.err")
  status=$?
  [ $status = 0 ] || fail "$what: status $status: $(cat "$build/smoke.err")"
  [[ $out == "mpi_smoke: ok"* ]] && [ "$(wc -l <<<"$out")" = 1 ] || fail "$what: printed '$out'"
  [ -s "$build/smoke.err" ] && fail "$what: stderr holds: $(cat "$build/smoke.err")"
}

for launch in mpi_openmpi mpi_mpich; do
  for group in 2 3 -1; do holds $launch 6 --group $group; done
  for n in 1 2 3 4 6; do
    for lanes in 1 2; do holds $launch $n --lanes $lanes; done
    start=$SECONDS
    out=$($launch $n timeout 60 "$build/mpi_smoke" --lanes 2 --fail-at 7 2>&1)
    status=$?
    what="$launch -n $n mpi_smoke --fail-at 7"
    [ $status != 0 ] || fail "$what: status 0"
    ((SECONDS - start <= 5)) || fail "$what: took $((SECONDS - start)) s"
    for word in 'item 7' rank lane; do
      grep -q "$word" <<<"$out" || fail "$what: the message names no '$word': $out"
    done
    [ "$(grep -c 'item 7' <<<"$out")" = 1 ] || fail "$what: the message stands $(grep -c 'item 7' <<<"$out") times"
  done
done
[ $bad = 0 ] && echo "mpi_smoke: ok at 1, 2, 3, 4 and 6 ranks under Open MPI and MPICH"
exit $bad
