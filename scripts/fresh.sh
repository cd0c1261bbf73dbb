#!/usr/bin/env bash
# README's two commands on a fresh machine: a bare Debian root made by debootstrap, plus Go and git, in a chroot.
#
#   scripts/fresh.sh [DIR]     DIR holds the root and is emptied first; default .build/fresh
#
# Needs root and a package mirror; it takes the mirror, the certificates and the names of hosts from this machine.
set -eu
. "$(dirname "$0")/lib.sh"

dir=${1:-$build/fresh}
need_packages debootstrap
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | head -n 1)
release=$(. /etc/os-release && echo "$VERSION_CODENAME")

unmount() { for m in proc dev sys; do mountpoint -q "$dir/$m" && umount -l "$dir/$m"; done; true; }
unmount
trap unmount EXIT
rm -rf "$dir"
debootstrap --variant=minbase --include=ca-certificates,git "$release" "$dir" "$mirror" >"$build/debootstrap.log" ||
  { tail "$build/debootstrap.log"; exit 1; }

cp -a "$(go env GOROOT)" "$dir/usr/local/go"
cp /etc/resolv.conf /etc/hosts "$dir/etc/"
cp -a /etc/ssl/certs/. "$dir/etc/ssl/certs/"
cp -a /etc/apt/sources.list.d /etc/apt/apt.conf.d "$dir/etc/apt/" && cp -a /usr/share/keyrings/. "$dir/usr/share/keyrings/"
git clone -q "$root" "$dir/hataori-go"
mkdir -p "$dir/proc" "$dir/dev" "$dir/sys"
mount --bind /proc "$dir/proc" && mount --rbind /dev "$dir/dev" && mount --rbind /sys "$dir/sys"

# The commands stand in README's first block; what follows # is for people.
sed -n '/^```sh$/,/^```$/p' README.md | sed '1d;/^```$/,$d' | sed 's/ *#.*//' | while read -r command; do
  echo "== $command"
  chroot "$dir" /usr/bin/env -i HOME=/root PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    GOPROXY="$(go env GOPROXY)" GOSUMDB="$(go env GOSUMDB)" GOTOOLCHAIN=local \
    bash -c "cd /hataori-go && timeout 2400 $command" </dev/null || { echo "FAIL: $command"; exit 1; }
done
echo "fresh: ok"
