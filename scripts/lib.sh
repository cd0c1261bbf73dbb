# Shared by the scripts of this folder; sourced, never run.
# Gives: $root (the checkout), $build (scratch for binaries), run_stage, mpi_openmpi, mpi_mpich, need_packages.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/.build
mkdir -p "$build"
cd "$root" || exit 1

# Containers forbid Open MPI's single-copy path, and root must say so twice.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none

# mpi_openmpi N CMD… and mpi_mpich N CMD… run CMD on N ranks, unbound, more ranks than cores allowed.
mpi_openmpi() { local n=$1; shift; mpirun.openmpi --oversubscribe --bind-to none -n "$n" "$@"; }
mpi_mpich() { local n=$1; shift; mpiexec.hydra -n "$n" "$@"; }

# run_stage NAME SECONDS CMD… runs CMD in a process group of its own, ends the whole group after SECONDS, and
# on failure prints the stage's name and its output. It returns CMD's status, 124 when the time ran out.
run_stage() {
  local name=$1 limit=$2 log status start=$SECONDS
  shift 2
  log=$build/stage-$(printf '%s' "$name" | tr -c 'a-zA-Z0-9' -).log
  set -m
  "$@" >"$log" 2>&1 </dev/null &
  local pid=$!
  set +m
  ( for ((i = 0; i < limit; i++)); do sleep 1; kill -0 "$pid" 2>/dev/null || exit 0; done
    kill -TERM -- "-$pid" 2>/dev/null; sleep 3; kill -KILL -- "-$pid" 2>/dev/null ) &
  local watch=$!
  wait "$pid"; status=$?
  kill "$watch" 2>/dev/null; wait "$watch" 2>/dev/null
  kill -KILL -- "-$pid" 2>/dev/null
  if ((SECONDS - start >= limit)) && ((status != 0)); then status=124; fi
  if ((status == 0)); then
    printf 'ok    %-28s %4d s\n' "$name" $((SECONDS - start))
    if [ -n "${VERBOSE:-}" ]; then cat "$log"; fi
  else
    printf 'FAIL  %-28s %4d s, status %d%s\n' "$name" $((SECONDS - start)) "$status" \
      "$( ((status == 124)) && printf ' (time limit of %d s)' "$limit")"
    sed 's/^/    /' "$log" | tail -n 80
  fi
  return "$status"
}

# need_packages NAME… installs the Debian packages that are missing when it may, else says which and fails.
need_packages() {
  local missing=() p
  for p in "$@"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing+=("$p")
  done
  ((${#missing[@]} == 0)) && return 0
  if command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get update -qq &&
      DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" && return 0
  fi
  printf 'missing packages: %s\ninstall them with: sudo apt-get install %s\n' "${missing[*]}" "${missing[*]}" >&2
  return 1
}
