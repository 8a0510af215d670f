#!/usr/bin/env bash
# The first process of the node. It is started in mount, ipc and process namespaces of its own, opens the one door
# to the user's shell while it is still in the machine's network, and then leaves that network for good.
# When it ends, everything it started ends.
#
#   init.sh STATE PROGRAMS PORT CGROUP
set -euo pipefail

state=$1 programs=$2 port=$3 cgroup=$4 stage=${5:-outside}
self=$(readlink -f "${BASH_SOURCE[0]}")
export PATH=$programs:$PATH KUBECACHEDIR=/run/kube-cache

# A program that ends is started again, like systemd does it on a node: tests may kill any of them.
supervise() { # NAME COMMAND...
  local name=$1; shift
  (
    while true; do
      code=0; "$@" >> "/run/cluster/log/$name.log" 2>&1 < /dev/null || code=$?
      echo "$name ended with $code" >> /run/cluster/log/ended
      sleep 1
    done
  ) &
}

mounts() {
  # The node's own disk: what kubelet, containerd, CNI and hostPath volumes write stays out of the machine's folders.
  # A new node starts with an empty one.
  mount --bind "$state/disk/var-lib" /var/lib
  mount --bind "$state/disk/var-log" /var/log
  local resolver; resolver=$(readlink -m /etc/resolv.conf)
  mount -t tmpfs -o mode=755 tmpfs /run
  mkdir -p /run/cluster /run/node /run/netns /run/lock
  mount --bind "$state" /run/cluster
  mount -t tmpfs tmpfs /run/netns
  cp -r "$(dirname "$self")/." /run/node/
  # Processes on the node resolve names like pods do, in the cluster's own DNS.
  [ -e "$resolver" ] || { mkdir -p "$(dirname "$resolver")"; touch "$resolver"; }
  mount --bind /run/node/resolv.conf "$resolver"
  # kubelet sets these for the whole machine. It shall believe that it did.
  local setting
  mkdir -p /run/settings
  while read -r setting value; do
    echo "$value" > "/run/settings/${setting//\//-}"
    mount --bind "/run/settings/${setting//\//-}" "/proc/sys/$setting"
  done <<< $'vm/overcommit_memory 1\nvm/panic_on_oom 0\nkernel/panic 10\nkernel/panic_on_oops 1\nkernel/keys/root_maxkeys 1000000\nkernel/keys/root_maxbytes 25000000'
  # Last, so that none of the above is the same mount in two places.
  mount --make-rshared /
}

# The parent of all pods' control groups. A new cpuset is unusable until it names processors and memory.
control_groups() {
  local parent
  if [ -e /sys/fs/cgroup/cgroup.controllers ]; then mkdir -p "/sys/fs/cgroup/$cgroup"; return; fi
  for parent in /sys/fs/cgroup/*/; do
    mkdir -p "$parent$cgroup"
    [ ! -e "${parent}cpuset.cpus" ] || {
      cat "${parent}cpuset.cpus" > "$parent$cgroup/cpuset.cpus"
      cat "${parent}cpuset.mems" > "$parent$cgroup/cpuset.mems"
    }
  done
}

network() {
  ip link set lo up
  # An address for the node and a default route make packets to Service addresses reach the NAT rules. They
  # lead nowhere else: this network has no other end.
  ip link add node0 type bridge
  ip addr add 10.240.0.1/24 dev node0
  ip link set node0 up
  ip route add default dev node0
  echo 1 > /proc/sys/net/ipv4/ip_forward
}

control_plane() {
  local pki=/run/cluster/pki
  supervise etcd etcd --data-dir /var/lib/etcd --unsafe-no-fsync --log-level error \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 --listen-peer-urls http://127.0.0.1:2380
  supervise kube-apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 --secure-port=6443 --bind-address=0.0.0.0 \
    --advertise-address=10.240.0.1 --service-cluster-ip-range=10.96.0.0/16 --allow-privileged=true \
    --authorization-mode=Node,RBAC --enable-admission-plugins=NodeRestriction \
    --tls-cert-file=$pki/kube-apiserver.crt --tls-private-key-file=$pki/kube-apiserver.key --client-ca-file=$pki/ca.crt \
    --kubelet-client-certificate=$pki/kube-apiserver-kubelet.crt --kubelet-client-key=$pki/kube-apiserver-kubelet.key \
    --kubelet-certificate-authority=$pki/ca.crt --kubelet-preferred-address-types=InternalIP \
    --requestheader-client-ca-file=$pki/ca.crt --requestheader-allowed-names=front-proxy --requestheader-username-headers=X-Remote-User \
    --requestheader-group-headers=X-Remote-Group --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file=$pki/front-proxy.crt --proxy-client-key-file=$pki/front-proxy.key \
    --service-account-issuer=https://kubernetes.default.svc --service-account-key-file=$pki/sa.pub --service-account-signing-key-file=$pki/sa.key
  supervise api-door socat UNIX-LISTEN:/run/api.sock,fork,backlog=128,unlink-early,mode=600 TCP:127.0.0.1:6443
}

await_api() {
  until curl -sf --max-time 2 --cacert /run/cluster/pki/ca.crt https://127.0.0.1:6443/readyz > /dev/null; do sleep 0.1; done
}

node_programs() {
  local pki=/run/cluster/pki
  supervise kube-controller-manager kube-controller-manager --kubeconfig=/run/cluster/kube-controller-manager.kubeconfig \
    --service-account-private-key-file=$pki/sa.key --root-ca-file=$pki/ca.crt --cluster-signing-cert-file=$pki/ca.crt \
    --cluster-signing-key-file=$pki/ca.key --use-service-account-credentials=true --kube-api-qps=200 --kube-api-burst=400 \
    --leader-elect=false --bind-address=127.0.0.1 --secure-port=0
  supervise kube-scheduler kube-scheduler --kubeconfig=/run/cluster/kube-scheduler.kubeconfig --kube-api-qps=200 --kube-api-burst=400 --leader-elect=false \
    --bind-address=127.0.0.1 --secure-port=0
  supervise kubelet kubelet --config=/run/node/kubelet.yaml --kubeconfig=/run/cluster/kubelet.kubeconfig --hostname-override=node1 \
    --node-ip=10.240.0.1 --cgroup-root="/$cgroup"
  supervise kube-proxy kube-proxy --config=/run/node/kube-proxy.yaml
  supervise kube-router bash /run/node/kube-router.sh --kubeconfig=/run/cluster/node.kubeconfig --hostname-override=node1 --run-firewall=true \
    --run-router=false --run-service-proxy=false --run-loadbalancer=false --service-cluster-ip-range=10.96.0.0/16 \
    --health-port=0 --metrics-port=0
}

case $stage in
  outside)
    mounts
    control_groups
    supervise outside-door socat "TCP-LISTEN:$port,bind=127.0.0.1,fork,reuseaddr,backlog=128" UNIX-CONNECT:/run/api.sock
    exec unshare --net -- bash "$self" "$state" "$programs" "$port" "$cgroup" inside
    ;;
  inside)
    trap 'exit 0' TERM INT
    network
    control_plane
    supervise containerd containerd --config /run/node/containerd.toml
    until ctr version > /dev/null 2>&1; do sleep 0.1; done
    # Before the first pod: one that is told to wait for its image waits ten seconds.
    bash /run/node/images.sh >> /run/cluster/log/images.log 2>&1
    await_api
    node_programs
    kubectl --kubeconfig=/run/cluster/node.kubeconfig apply --server-side -f /run/node/manifests/ > /run/cluster/log/manifests.log 2>&1
    export KUBECONFIG=/run/cluster/node.kubeconfig
    supervise volumes bash /run/node/volumes.sh
    supervise registry bash /run/node/registry.sh
    wait
    ;;
esac
