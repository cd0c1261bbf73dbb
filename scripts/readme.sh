#!/usr/bin/env bash
# Runs the commands of README's section "On a cluster" as they stand there. Those of srun belong to scripts/slurm-test.sh, which
# needs a Slurm.
set -u
. "$(dirname "$0")/lib.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 # a test machine may have fewer cores than ranks
bad=0 count=0
while read -r command; do
  case $command in "" | srun*) continue ;; esac
  count=$((count + 1))
  echo "== $command"
  timeout 150 bash -c "$command" </dev/null || { echo "FAIL: status $?: $command"; bad=1; }
done < <(sed -n '/^## On a cluster/,/^## /p' README.md | sed -n '/^```sh$/,/^```$/p' | sed '/^```/d;s/ *#.*//')
rm -f contract
((count >= 3)) || { echo "FAIL: only $count commands found in README.md"; bad=1; }
exit $bad
