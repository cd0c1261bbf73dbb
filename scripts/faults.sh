#!/usr/bin/env bash
# How jobs end: every event of the table in docs/endings.md under Open MPI and MPICH, each row under its own time limit, its
# exit status, messages and duration compared with the table, and nothing of the job left running.
#
#   scripts/faults.sh [EVENT…]
set -u
. "$(dirname "$0")/lib.sh"
CGO_ENABLED=0 go build -o "$build/" ./internal/faulty ./internal/endings || exit 1
logs=$build/endings-logs
mkdir -p "$logs"
IFS=,
check() { "$build/endings" --program "$build/faulty" --table docs/endings.md --logs "$logs" --only "$events" "$1"; }
events="$*"
# Both at once: most of the time is waiting for launchers.
check mpirun >"$logs/mpirun.txt" 2>&1 &
first=$!
check mpiexec
second=$?
wait $first
first=$?
cat "$logs/mpirun.txt"
[ $first = 0 ] && [ $second = 0 ]
