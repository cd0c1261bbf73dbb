#!/usr/bin/env bash
# README's two commands on a fresh machine: a bare Debian root made by debootstrap, plus Go and git, in a chroot.
#
#   scripts/fresh.sh                 makes the root and runs README's first block in it
#   scripts/fresh.sh make            only makes the root, with a clone of the last commit
#   scripts/fresh.sh run COMMAND     runs one command in a root that is there, e.g. 'scripts/check.sh unit'
#
# The root is FRESH_DIR (/var/tmp/hataori-fresh), emptied by make. Needs root and a package mirror; mirror, certificates and the names of
# hosts are those of this machine. Time limits come with check.sh's stages.
set -eu
. "$(dirname "$0")/lib.sh"

dir=${FRESH_DIR:-/var/tmp/hataori-fresh}

unmount() { for m in proc dev sys; do if mountpoint -q "$dir/$m"; then umount -l "$dir/$m"; fi; done; }

make_root() {
  local release mirror
  need_packages debootstrap
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' | awk -v r="$release" '$1 == r && $2 == "main" { print $3; exit }')
  [ -n "$mirror" ] || { echo "no mirror of $release in apt's lists: run apt-get update" >&2; return 1; }
  unmount
  rm -rf --one-file-system "$dir"
  debootstrap --variant=minbase --include=ca-certificates,git "$release" "$dir" "$mirror" >"$build/debootstrap.log" 2>&1 ||
    { tail "$build/debootstrap.log"; return 1; }
  cp -a "$(go env GOROOT)" "$dir/usr/local/go"
  cp /etc/resolv.conf /etc/hosts "$dir/etc/"
  cp -a /etc/ssl/certs/. "$dir/etc/ssl/certs/"
  cp -a /etc/apt/sources.list.d /etc/apt/apt.conf.d "$dir/etc/apt/" && cp -a /usr/share/keyrings/. "$dir/usr/share/keyrings/"
  rm -f "$dir/etc/apt/sources.list" # the same mirror as in sources.list.d
  git clone -q "$root" "$dir/hataori-go"
}

# inside COMMAND runs it as a new user would, in the clone, with nothing of this machine's environment.
inside() {
  echo "== $1"
  unmount
  trap unmount EXIT
  mount --bind /proc "$dir/proc" && mount --rbind /dev "$dir/dev" && mount --rbind /sys "$dir/sys"
  mount --make-rslave "$dir/dev" && mount --make-rslave "$dir/sys"
  chroot "$dir" /usr/bin/env -i HOME=/root PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    GOPROXY="$(go env GOPROXY)" GOSUMDB="$(go env GOSUMDB)" GOTOOLCHAIN=local \
    bash -c "cd /hataori-go && $1" </dev/null || { echo "FAIL: $1"; return 1; }
}

case "${1:-all}" in
  make) make_root ;;
  run) inside "${2:?a command}" ;;
  all)
    make_root
    # The commands stand in README's first block; what follows # is for people.
    while read -r command; do inside "$command"; done < <(sed -n '/^```sh$/,/^```$/p' README.md | sed '1d;/^```$/,$d' | sed 's/ *#.*//')
    ;;
  *) sed -n '2,9p' "$0" >&2; exit 2 ;;
esac
echo "fresh: ok"
