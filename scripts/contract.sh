#!/usr/bin/env bash
# examples/contract, one CGO_ENABLED=0 binary: the default run with Go alone, and, where the public problems lie beside the
# project, every one of them against its golden values on 1, 2 and 4 ranks under both MPIs, with bit-equal sums.
#
#   scripts/contract.sh [--all [PATTERN]]     --all takes both stored paths of each problem, the planner's, and both providers;
#                                             PATTERN: of the problems so called
set -u
. "$(dirname "$0")/lib.sh"
CGO_ENABLED=0 go build -o "$build/contract" ./examples/contract || exit 1
bad=0

fail() { echo "FAIL: $*"; bad=1; }

HATAORI_MPI=off "$build/contract" >"$build/contract.out" 2>&1 || fail "the default run: $(cat "$build/contract.out")"

problems=$root/../shared/einsum
if [ ! -d "$problems" ]; then
  echo "skipped: no public problems at ../shared/einsum"
  exit $bad
fi
paths=(opt_size) providers=(auto)
[ "${1:-}" = --all ] && paths=(opt_size opt_flops own) providers=(native blas)
pattern=${2:-*}

# sums LINE prints the fields that must not depend on ranks.
sums() { grep -o '"\(sum\|norm2\|samples\|items\)":[^"]*' <<<"$1" | tr '\n' ' '; }

# one FILE PATH PROVIDER runs one problem on all rank counts.
one() {
  local first="" launch n out this
  for launch in mpi_openmpi mpi_mpich; do
    for n in 1 2 4; do
      out=$($launch $n timeout 120 "$build/contract" --file "$1" --path "$2" --provider "$3" --golden "$problems/golden.json" --json 2>&1) ||
        { fail "$launch -n $n contract $(basename "$1") --path $2 --provider $3: $out"; continue; }
      this=$(sums "$out")
      [ -n "$this" ] || fail "$launch -n $n contract $(basename "$1"): no sum in: $out"
      [ "$this" = "${first:=$this}" ] || fail "$launch -n $n contract $(basename "$1"): $this differs from $first"
    done
  done
}
count=0
for file in "$problems"/*.json; do
  name=$(basename "$file" .json)
  [[ $name == golden || $name != $pattern ]] && continue
  for path in "${paths[@]}"; do
    for provider in "${providers[@]}"; do one "$file" "$path" "$provider"; count=$((count + 1)); done
  done
done
((count > 0)) || fail "no problem files in $problems"
[ $bad = 0 ] && echo "contract: ok on $count problems, 1, 2 and 4 ranks, Open MPI and MPICH"
exit $bad
