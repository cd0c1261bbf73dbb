#!/usr/bin/env bash
# Does memory grow? First the tests that are too large for every day: one call of ten million items, a stream of a million
# items of 1 KiB, an item and a result of 2.1 GiB (left out with less than 16 GiB to spare). Then ten million items on four ranks, in
# calls of every kind, with the resident set and the Go heap of every rank measured after each of a hundred rounds (bench/soak).
#
#   scripts/soak.sh                    the usual soak, some minutes
#   scripts/soak.sh --long 8h          the same rounds for so long
#   scripts/soak.sh --mpich            under MPICH in place of Open MPI
#   scripts/soak.sh … -- FLAGS         flags of bench/soak, such as -v, -items N, -rounds N
#
# It prints one line "SOAK … holds|short", and a status of 0 if it holds, 1 if memory grows, 2 if a call went wrong.
set -u
. "$(dirname "$0")/lib.sh"
launch=mpi_openmpi package=openmpi-bin flags=()
while [ $# -gt 0 ]; do
  case "$1" in
    --long) [ -n "${2:-}" ] || { echo "how long? --long 8h" >&2; exit 2; }; flags+=(-for "$2"); shift ;;
    --mpich) launch=mpi_mpich package=mpich ;;
    --) shift; flags+=("$@"); break ;;
    *) sed -n '2,13p' "$0" >&2; exit 2 ;;
  esac
  shift
done
need_packages "$package" || exit 2
export CGO_ENABLED=0
HATAORI_BIG=1 go test -count=1 -v -run '^(TestTenMillionItems|TestStreamMemory|TestMoreThanTwoGiB)$' ./hataori || exit 1
go build -o "$build/soak" ./bench/soak || exit 2
$launch 4 "$build/soak" "${flags[@]}"
