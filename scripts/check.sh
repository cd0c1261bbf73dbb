#!/usr/bin/env bash
# The single gate: every stage in a process group of its own, under a time limit, with a named failure.
#
#   scripts/check.sh              all stages
#   scripts/check.sh NAME…        those stages
#   scripts/check.sh --list       their names and time limits
#
# VERBOSE=1 prints the output of stages that pass, too. It ends with a line "N passed, N failed".
set -u
. "$(dirname "$0")/lib.sh"
export CGO_ENABLED=0 # as the product is built; what is compiled for one stage serves the next

# What a fresh machine lacks; Go itself is the only thing presupposed.
packages=(gcc libc6-dev openmpi-bin mpich libopenblas0-serial libopenblas0-pthread hdf5-tools python3-h5py)

# name, time limit in seconds, what it does
stages=(
  "packages 600 need_packages ${packages[*]}"
  "format 60 check_format"
  "vet 200 go vet ./..."
  "staticcheck 200 go tool staticcheck ./..."
  "modules 120 check_modules"
  "build 200 check_build"
  "house 60 go test -count=1 ./internal/house"
  "unit 450 check_unit"
  "race 600 check_race"
  "fuzz-seeds 120 check_seeds"
  "portable 200 check_portable"
  "smoke 240 scripts/smoke.sh"
  "contract 500 scripts/contract.sh"
  "store 240 scripts/store.sh"
  "readme 300 scripts/readme.sh"
  "docs 400 scripts/docs.sh"
  "faults 150 scripts/faults.sh"
)

check_format() {
  local bad
  bad=$(find . -name .build -prune -o -name '*.go' -print0 | xargs -0 gofmt -l)
  [ -z "$bad" ] || { echo "gofmt -w these: $bad"; return 1; }
  local script
  for script in scripts/*.sh .ci/run; do bash -n "$script" || return 1; done
}

# The module list is tidy, and what it names is what was published.
check_modules() { go mod tidy -diff && go mod verify; }

# No C compiler, no header; other processors build too. Any vet compiles what main packages and tests are made of, and checks these
# themselves; one that looks at no dependency is the fastest.
check_build() {
  go build ./... &&
    GOARCH=arm64 go vet -assign ./... &&
    GOARCH=arm64 go build -o "$build/arm64/" ./cmd/hataori ./examples/contract ./examples/mpi_smoke
}

# The stage vet has vetted the tests, and fuzz-seeds runs the seeds, each once.
go_test() { go test -vet=off -count=1 "$@"; }

# A launcher or library that is missing fails here instead of being skipped.
check_unit() { HATAORI_REQUIRE_MPI=1 HATAORI_REQUIRE_BLAS=1 HATAORI_REQUIRE_HDF5=1 go_test -skip '^Fuzz' ./...; }

check_seeds() {
  local packages
  packages=$(grep -rlE '^func Fuzz' --include='*_test.go' . | xargs -n 1 dirname | sort -u) && [ -n "$packages" ] || return 1
  # shellcheck disable=SC2086  # a list of folders
  go_test -run '^Fuzz' $packages
}

# Left out are packages whose code runs on the goroutine of its caller alone, and whose callers are looked at here. Races of
# the engine are looked for in its pool, with and without vector kernels, those of contractions where lanes and workers share a plan.
check_race() {
  local alone='/engine/(cpu|native|ref|einsum|npy|gonumx)$|/internal/(picture|simulate|house)$' packages
  export CGO_ENABLED=1
  packages=$(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... | grep -vE "$alone") || return 1
  # shellcheck disable=SC2086  # a list of packages
  go_test -race -short -skip '^Fuzz' $packages &&
    go_test -race -short -run 'Shared|Branch|Workers|Caller' ./engine/einsum &&
    go test -race -vet=off -c -o "$build/cpu.race" ./engine/cpu && cd engine/cpu &&
    "$build/cpu.race" -test.short -test.skip 'TestSerial$|TestPortable$|TestBLAS' &&
    "$build/cpu.race" -test.short -test.run 'TestBLASFixedTiles$/^Dot' &&
    GODEBUG=cpu.avx2=off "$build/cpu.race" -test.short -test.run 'TestPool2$'
}

# The kernels, and the engine on them, again as on processors without AVX-512, and without vector instructions at all.
check_portable() {
  GODEBUG=cpu.avx512f=off go_test -short ./engine/native && GODEBUG=cpu.avx2=off go_test -short ./engine/native ./engine/einsum || return 1
  go test -vet=off -c -o "$build/cpu.test" ./engine/cpu && cd engine/cpu || return 1
  local off
  for off in avx512f avx2; do
    GODEBUG=cpu.$off=off "$build/cpu.test" -test.short -test.skip 'TestPortable$|TestBLAS' || return 1
  done
}

if [ "${1:-}" = --list ]; then
  for s in "${stages[@]}"; do read -r name limit _ <<<"$s"; printf '%-12s %4d s\n' "$name" "$limit"; done
  exit 0
fi

wanted=" $* " passed=0 failed=()
for name in "$@"; do
  printf '%s\n' "${stages[@]}" | grep -q "^$name " || { echo "no stage is called $name; see scripts/check.sh --list" >&2; exit 2; }
done
for s in "${stages[@]}"; do
  read -r name limit command <<<"$s"
  if [ $# -gt 0 ] && [[ $wanted != *" $name "* ]]; then continue; fi
  # shellcheck disable=SC2086  # the command is a word list
  if run_stage "$name" "$limit" $command; then passed=$((passed + 1)); else failed+=("$name"); fi
done
[ ${#failed[@]} = 0 ] || echo "failed stages: ${failed[*]}"
echo "$passed passed, ${#failed[@]} failed"
[ ${#failed[@]} = 0 ]
