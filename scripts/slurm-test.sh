#!/usr/bin/env bash
# How jobs end under Slurm: brings up a Slurm of one node, runs the events of the table in docs/endings.md under srun with
# Open MPI and MPICH and under sbatch, compares, runs the pages' commands for Slurm, and takes the Slurm down again. Needs root.
#
#   scripts/slurm-test.sh [EVENT…]
set -u
. "$(dirname "$0")/lib.sh"
need_packages slurm-wlm munge openmpi-bin mpich || exit 1
CGO_ENABLED=0 go build -o "$build/" ./internal/faulty ./internal/endings || exit 1
logs=$build/endings-logs
mkdir -p "$logs"
dir=$(mktemp -d /tmp/slurm-test.XXXXXX) || exit 1
down() {
  scripts/slurm-up.sh stop "$dir"
  rm -rf "$dir"
}
trap down EXIT
trap 'exit 1' INT TERM
scripts/slurm-up.sh start "$dir" || exit 1
export SLURM_CONF=$dir/slurm.conf
status=0
[ $# -gt 0 ] || scripts/docs.sh --slurm || status=1
IFS=,
"$build/endings" --program "$build/faulty" --table docs/endings.md --logs "$logs" --only "$*" \
  "srun --mpi=none" "srun --mpi=pmix" "srun --mpi=pmi2" "srun -K1 --mpi=pmix" "srun -K1 --mpi=pmi2" sbatch || status=1
exit $status
