# shellcheck shell=bash
# What the commands of this folder share: where things lie, how they speak, who is alive. Sourced, never run.
set -euo pipefail
shopt -s inherit_errexit nullglob

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
here=$tools/cluster
cache=${PLATFORM_OPERATOR_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/platform-operator}
state=$(realpath -ms "${PLATFORM_OPERATOR_CLUSTER:-$cache/cluster}")
# Control groups are the one thing of a node that no namespace takes along when it ends, so they get a name of their own.
cgroup=platform-operator-$(printf %s "$state" | sha256sum | cut -c1-8)
registry_address=10.240.0.1:4873
node=$tools/../node_modules/.bin/node

say() { printf 'cluster: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

need_root() {
  [ "$(id -u)" = 0 ] || die "this needs root (namespaces, mounts and iptables of its own): run it with sudo -E"
}

# One command at a time changes this cluster. The lock lies beside the state folder, which may come and go.
take_lock() {
  mkdir -p "$(dirname "$state")" 2> /dev/null || die "cannot create $(dirname "$state")"
  exec 8> "$state.lock" || die "cannot write $state.lock"
  flock -n 8 || { say "another up or down is at work on $state, waiting for it"; flock 8; }
}

# The node's first process holds this lock as long as it lives, and so do its children, which end with it:
# no process id that could be somebody else's by now is ever trusted.
alive() { [ -e "$state/alive" ] && ! flock -n "$state/alive" true 8>&-; }

# Prints the machine's id of the node's first process.
node_pid() { cat "$state/pid" 2> /dev/null; }

# The seconds since the machine started, to measure with.
uptime() { local up; read -r up _ < /proc/uptime; echo "$up"; }
since() { awk -v a="$1" -v b="$(uptime)" 'BEGIN { printf "%.1f s", b - a }'; }

# Sets `command` to what runs its arguments inside the node's namespaces, in the folder it is called from.
node_command() {
  command=(nsenter --target "$(node_pid)" --mount --net --ipc --pid --wdns="$PWD" -- env KUBECONFIG=/run/cluster/node.kubeconfig
    KUBECACHEDIR=/run/kube-cache "PATH=$(cat "$state/programs"):$PATH" "npm_config_registry=http://$registry_address/" "$@")
}
inside() { local command; node_command "$@"; "${command[@]}" 8>&-; }

# Gives a docker-archive to the node's containerd.
import() { inside ctr --namespace k8s.io images import - < "$1"; }

# Ends the node, and with it every process, mount and link in its namespaces; then what no namespace takes along.
stop_node() {
  local pid group tries=0
  if alive; then
    pid=$(node_pid) && kill -KILL "$pid" 2> /dev/null || true
    while alive; do
      tries=$((tries + 1))
      [ $tries -lt 300 ] || die "the node's processes do not end; see: ps -o pid,stat,args --ppid $pid"
      sleep 0.1
    done
  fi
  for group in $(find /sys/fs/cgroup -depth -type d -path "/sys/fs/cgroup/*$cgroup*" 2> /dev/null); do
    rmdir "$group" 2> /dev/null || say "left behind: control group $group"
  done
  rm -f "$state/pid" "$state/ready"
}
