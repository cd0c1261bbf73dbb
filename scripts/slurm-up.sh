#!/usr/bin/env bash
# Brings up a Slurm of one node on loopback, without systemd, for tests, and takes it down again.
#
#   scripts/slurm-up.sh start DIR     writes DIR/slurm.conf, starts munged, slurmctld and slurmd, waits until the node is idle
#   scripts/slurm-up.sh stop DIR      ends them
#
# After start, export SLURM_CONF=DIR/slurm.conf. Needs root and the packages slurm-wlm and munge.
set -u
. "$(dirname "$0")/lib.sh"

start() {
  local dir=$1 host cpus
  need_packages slurm-wlm munge || return 1
  host=$(hostname -s) cpus=$(nproc)
  mkdir -p "$dir"/{state,spool,log,munge} /run/munge
  chown munge: "$dir/munge" /run/munge
  chmod 755 "$dir" "$dir/munge" /run/munge
  [ -s "$dir/munge/key" ] || { head -c 1024 /dev/urandom >"$dir/munge/key"; }
  chown munge: "$dir/munge/key"; chmod 400 "$dir/munge/key"
  # Two ports that nothing else of this machine uses for long.
  cat >"$dir/slurm.conf" <<CONF
ClusterName=loopback
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/log/slurmctld
SlurmdLogFile=$dir/log/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
MpiDefault=none
ReturnToService=2
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=$cpus State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE OverSubscribe=YES State=UP
CONF
  export SLURM_CONF=$dir/slurm.conf
  runuser -u munge -- munged --key-file="$dir/munge/key" --socket="$dir/munge/socket" \
    --pid-file="$dir/munge/pid" --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" || return 1
  slurmctld -f "$SLURM_CONF" && slurmd -f "$SLURM_CONF" || return 1
  local i
  for ((i = 0; i < 60; i++)); do
    sinfo -h -o %T 2>/dev/null | grep -q '^idle' && return 0
    sleep 0.5
  done
  echo "the node did not become idle in 30 s:" >&2
  sinfo >&2; tail -n 5 "$dir"/log/* >&2
  return 1
}

stop() {
  local dir=$1 f i pid
  export SLURM_CONF=$dir/slurm.conf
  # Jobs first: a daemon that has ended cannot end its steps.
  if [ -s "$dir/slurmctld.pid" ]; then
    for ((i = 0; i < 20; i++)); do
      [ -n "$(timeout 10 squeue --noheader 2>/dev/null)" ] || break
      timeout 10 scancel --quiet --signal=KILL --user="$(id -un)" 2>/dev/null
      timeout 10 scancel --quiet --user="$(id -un)" 2>/dev/null
      sleep 0.5
    done
  fi
  # Helpers of steps inherit the folder's name in their environment, and may outlive a daemon.
  for f in /proc/[0-9]*; do
    [ "$(cat "$f/comm" 2>/dev/null)" = slurmstepd ] && grep -qzF "SLURM_CONF=$SLURM_CONF" "$f/environ" 2>/dev/null &&
      kill -KILL "${f#/proc/}" 2>/dev/null
  done
  for f in "$dir/slurmd.pid" "$dir/slurmctld.pid" "$dir/munge/pid"; do
    [ -s "$f" ] || continue
    pid=$(cat "$f")
    kill "$pid" 2>/dev/null
    for ((i = 0; i < 100; i++)); do
      grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$pid/status" || break # gone, or waits for its parent
      sleep 0.1
    done
  done
  return 0
}

case "${1:-}" in
  start | stop) [ -n "${2:-}" ] || { echo "usage: $0 start|stop DIR" >&2; exit 2; }; "$1" "$2" ;;
  *) echo "usage: $0 start|stop DIR" >&2; exit 2 ;;
esac
