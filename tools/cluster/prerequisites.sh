# shellcheck shell=bash
# What must be there before a node can start, and how its absence is said. Sourced by up.

# With what they recommend: gcc links nothing without libc6-dev, which it only recommends.
install_packages() {
  local missing=() pair log
  for pair in containerd:containerd runc:runc /usr/lib/cni/bridge:containernetworking-plugins iptables:iptables ipset:ipset \
    conntrack:conntrack socat:socat buildah:buildah debootstrap:debootstrap ip:iproute2 /bin/busybox:busybox-static \
    openssl:openssl curl:curl nsenter:util-linux pgrep:procps gcc:gcc; do
    command -v "${pair%:*}" > /dev/null || missing+=("${pair#*:}")
  done
  if [ ${#missing[@]} != 0 ]; then
    command -v apt-get > /dev/null || die "missing: ${missing[*]} (their names in Debian); install them and try again"
    say "installing ${missing[*]}"
    log=$(mktemp)
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y "${missing[@]}"; } > "$log" 2>&1 8>&- ||
      die "apt-get could not install ${missing[*]}: $(grep -m 1 '^E:' "$log" || tail -n 1 "$log")"
    rm -f "$log"
  fi
  command -v npm > /dev/null || die "missing: npm (it comes with Node.js)"
  [ -x "$binaries/node" ] || die "missing: $binaries/node; run \`npm ci\` in the repository first"
}

# The node has folders of its own in these places, so that it leaves nothing in the machine's. It would not see what
# the machine has there.
check_folders() {
  local folder
  for folder in "$here" "$cache" "$state"; do
    case $folder/ in
      /run/* | /var/run/* | /var/lib/* | /var/log/*) die "$folder cannot be used: the node has a /run, /var/lib and /var/log of its own" ;;
    esac
  done
}

free_megabytes() { df --output=avail -BM "$(existing "$1")" | tail -n 1 | tr -dc 0-9; }
existing() { local folder=$1; until [ -d "$folder" ]; do folder=$(dirname "$folder"); done; echo "$folder"; }

check_space() {
  local folder need=1500
  # Filling a new cache takes the compiler's own cache, programs, images and an npm registry.
  [ -d "$cache/images" ] || need=12000
  for folder in "$cache" "$state"; do
    [ "$(free_megabytes "$folder")" -ge $need ] || space_said=yes
    [ -z "${space_said:-}" ] || die "only $(free_megabytes "$folder") MB are free in $folder, and the cluster needs about $need MB there"
  done
}

say_if_full() { # FOLDERS...
  local folder
  [ -z "${space_said:-}" ] || return 0
  for folder in "$@"; do
    if [ "$(free_megabytes "$folder")" -lt 50 ]; then say "the disk is full: $(free_megabytes "$folder") MB are free in $folder"; fi
  done
}

# Somebody listens there, for this machine at least.
taken() { (: <> "/dev/tcp/127.0.0.1/$1") 2> /dev/null; }

# Prints the loopback port of the API server.
choose_port() {
  local port=${PLATFORM_OPERATOR_CLUSTER_PORT:-}
  if [ -n "$port" ]; then
    [[ $port =~ ^[0-9]+$ ]] && [ "$port" -ge 1 ] && [ "$port" -le 65535 ] || die "PLATFORM_OPERATOR_CLUSTER_PORT is '$port', which is no port"
    if taken "$port"; then die "port $port is taken; free it, or name another one in PLATFORM_OPERATOR_CLUSTER_PORT"; fi
  else
    # A kubeconfig of an earlier start stays valid, if it can.
    port=$(last_port)
    if [ -n "$port" ] && ! taken "$port"; then echo "$port"; return; fi
    port=$(free_port 16443) || die "ports 16443 to 16542 are all taken; name a free one in PLATFORM_OPERATOR_CLUSTER_PORT"
  fi
  echo "$port"
}

last_port() { # prints the one of the last start of this folder's cluster, if there was one
  [ ! -e "$state/kubeconfig" ] || sed -n 's#^ *server: https://127\.0\.0\.1:\([0-9]*\)$#\1#p' "$state/kubeconfig"
}

free_port() { # FROM: prints the first free one of a hundred
  local port
  for port in $(seq "$1" $(($1 + 99))); do
    if ! taken "$port"; then echo "$port"; return; fi
  done
  return 1
}

# Several clusters, in folders of their own, may share one cache.
take_cache_lock() {
  : >> "$cache/preparing.lock"
  exec 6< "$cache/preparing.lock"
  flock -n 6 || { say "another run is preparing images and packages, waiting for it"; flock 6; }
}
