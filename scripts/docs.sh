#!/usr/bin/env bash
# Runs the commands of the pages in docs as they stand there, page by page, in a copy of the tree.
#
#   scripts/docs.sh [PAGE…]            the blocks marked sh
#   scripts/docs.sh --slurm [PAGE…]    those marked sh slurm; needs SLURM_CONF, see scripts/slurm-test.sh
set -u
. "$(dirname "$0")/lib.sh"
export OMPI_MCA_rmaps_base_oversubscribe=1 # a test machine may have fewer cores than ranks
fence='```sh'
if [ "${1:-}" = --slurm ]; then fence='```sh slurm'; shift; fi
[ $# -gt 0 ] || set -- docs/*.md
copy=$(mktemp -d "${TMPDIR:-/tmp}/docs.XXXXXX") || exit 1
trap 'rm -rf "$copy"' EXIT
tar -cf - --exclude=./.git --exclude=./.build . | tar -xf - -C "$copy"
bad=0 count=0
for page in "$@"; do
  commands=$(awk -v fence="$fence" '$0 == fence { on = 1; next } $0 == "```" { on = 0 } on' "$page")
  [ -n "$commands" ] || continue
  count=$((count + 1))
  (cd "$copy" && ulimit -c 0 && timeout 200 bash -euo pipefail -c "$commands" </dev/null >"$copy/log" 2>&1) ||
    { echo "FAIL: status $?: $page"; tail -n 30 "$copy/log"; bad=1; }
  find "$copy" -maxdepth 1 -name '*.h5*' -delete # pages share no files
done
((count >= 1)) || { echo "FAIL: no commands found"; bad=1; }
[ $bad = 0 ] && echo "docs: the commands of $count pages ran"
exit $bad
