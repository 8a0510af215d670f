# shellcheck shell=bash
# What the commands of this folder share: where things lie, how they speak, who is alive. Sourced, never run.
# shellcheck disable=SC2034
set -euo pipefail
shopt -s inherit_errexit nullglob

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
here=$tools/cluster
cache=$(realpath -m "${PLATFORM_OPERATOR_CACHE:-${XDG_CACHE_HOME:-${HOME:?is not set: set it, or PLATFORM_OPERATOR_CACHE}/.cache}/platform-operator}")
state=$(realpath -m "${PLATFORM_OPERATOR_CLUSTER:-$cache/cluster}")
# Control groups are the one thing of a node that no namespace takes along when it ends, so they get a name of their own.
cgroup=platform-operator-$(printf %s "$state" | sha256sum | cut -c1-8)
registry_address=10.240.0.1:4873
binaries=$(dirname "$tools")/node_modules/.bin

say() { printf 'cluster: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

need_root() {
  [ "$(id -u)" = 0 ] || die "this needs root, for namespaces, mounts and iptables of its own; try: sudo -E $0"
}

need_cluster() {
  need_root
  alive || die "no cluster is running in $state; start it with $here/up"
}

# One command at a time changes this cluster. The lock lies beside the state folder, which may come and go; `down` takes it
# along. So the one that was waited for may be no file any more, or another one by now: then this is done again.
take_lock() {
  mkdir -p "$(dirname "$state")" || die "cannot create the folder of $state"
  until [ "$state.lock" -ef "/proc/$$/fd/8" ]; do
    : >> "$state.lock" || die "cannot write $state.lock"
    exec 8<> "$state.lock"
    flock -n 8 || { say "another up or down is at work on $state, waiting for it"; flock 8; }
  done
}

# By whoever has it, in the end.
remove_lock() { rm -f "$state.lock"; }

# The node's processes hold this lock as long as one of them lives: no process id that could be somebody else's by
# now is ever trusted.
alive() { [ -e "$state/alive" ] && ! flock -n "$state/alive" true 8>&-; }

# Prints the machine's id of the node's first process. The file holds that of its parent, which wrote it itself
# before it became `unshare`.
node_pid() { pgrep -P "$(cat "$state/pid" 2> /dev/null)" 2> /dev/null; }

# Seconds since the machine started, to measure with.
uptime() { local up; read -r up _ < /proc/uptime; echo "$up"; }
since() { awk -v a="$1" -v b="$(uptime)" 'BEGIN { printf "%.1f s", b - a }'; }

# Sets `command` to what runs its arguments inside the node's namespaces, in the folder it is called from. They get a
# SIGTERM when the caller's process is killed, which the border between process namespaces would otherwise keep off.
node_command() {
  local pid; pid=$(node_pid) || die "the node in $state is just starting or ending"
  command=(nsenter --target "$pid" --mount --net --ipc --pid --wdns="$PWD" -- setpriv --pdeathsig TERM
    env KUBECONFIG=/run/cluster/node.kubeconfig KUBECACHEDIR=/run/kube-cache "PATH=$(cat "$state/programs"):$binaries:$PATH"
    "npm_config_registry=http://$registry_address/" "$@")
}
inside() { local command; node_command "$@"; "${command[@]}" 8>&-; }

# Ends the node, and with it every process, mount and link in its namespaces; then what no namespace takes along.
stop_node() {
  local pid tries=0
  while alive; do
    # Its parent is there, and holds the lock, until the last process in its namespaces is gone.
    pid=$(node_pid || cat "$state/pid" 2> /dev/null) && [ -n "$pid" ] && kill -KILL "$pid" 2> /dev/null || true
    tries=$((tries + 1))
    [ $tries -lt 300 ] || die "the processes that hold $state/alive do not end"
    sleep 0.1
  done
  tries=0
  until remove_control_groups; do
    tries=$((tries + 1))
    [ $tries -lt 30 ] || { say "left behind: $(control_groups | tr '\n' ' ')"; break; }
    sleep 0.1
  done
  rm -f "$state/pid" "$state/ready"
}

control_groups() { find /sys/fs/cgroup -depth -type d -path "/sys/fs/cgroup*/$cgroup*" 2> /dev/null; }
remove_control_groups() { control_groups | xargs -r rmdir 2> /dev/null; }
