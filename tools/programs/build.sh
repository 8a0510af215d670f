#!/usr/bin/env bash
# Builds the real programs of this folder into a cache outside the repository and prints the folder that
# holds them all.
#
#   build.sh [PROGRAM...]      build these (all that a cluster needs when none is named); progress goes to stderr
#
# Each program is built once for its module, its go.sum, its flags and the Go version, under a lock, so that
# any number of checkouts and runs share one cache. The cache is $PLATFORM_OPERATOR_CACHE, by default
# ~/.cache/platform-operator. About 30 minutes on a new two-core machine, about a second on a filled cache.
set -euo pipefail
# Without it a build that fails inside $(...) would go on, and its empty folder would be kept for good.
shopt -s inherit_errexit
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${PLATFORM_OPERATOR_CACHE:-${XDG_CACHE_HOME:-${HOME:?is not set: set it, or PLATFORM_OPERATOR_CACHE}/.cache}/platform-operator}
say() { printf 'programs: %s\n' "$*" >&2; }

k8s=v1.35.4
k8s_version="-X k8s.io/component-base/version.gitVersion=$k8s -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=35 -X k8s.io/client-go/pkg/version.gitVersion=$k8s -X k8s.io/client-go/pkg/version.gitMajor=1 -X k8s.io/client-go/pkg/version.gitMinor=35"

# MODULE|PACKAGES|LDFLAGS|EXTRA, in the order in which a cluster needs them. `named`: built only when it is named.
table() {
  local p=''
  for c in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do p+="k8s.io/kubernetes/cmd/$c "; done
  cat <<T
kubernetes|$p|$k8s_version|
etcd|.||
vcluster|github.com/loft-sh/vcluster/cmd/vcluster||
kine|github.com/k3s-io/kine|-linkmode external -extldflags -static|cgo
pulumi|github.com/pulumi/pulumi/pkg/v3/cmd/pulumi|-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.274.1|
pulumi-resource-kubernetes|.|-X github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version.Version=v4.25.0|schema
coredns|github.com/coredns/coredns||
kube-router|github.com/cloudnativelabs/kube-router/v2/cmd/kube-router||
platform-sandbox|.||
helm|helm.sh/helm/v4/cmd/helm|-X helm.sh/helm/v4/internal/version.version=v4.3.1|
jaeger|github.com/jaegertracing/jaeger/cmd/jaeger||named
promtool|github.com/prometheus/prometheus/cmd/promtool||named-lean
vcluster-0.36.0|github.com/loft-sh/vcluster/cmd/vcluster||named
T
}

# The embedded schema of the Kubernetes provider lies in its module, not in ours.
overlay() {
  local name=github.com/pulumi/pulumi-kubernetes/provider/v4 module
  # Before it was fetched a module has no folder, and `go list` says so with nothing at all.
  go mod download "$name" >&2
  module=$(go list -m -f '{{.Dir}}' "$name")/cmd/pulumi-resource-kubernetes
  [ -f "$module/schema.json" ] || { say "$name has no schema.json"; exit 1; }
  printf '{"Replace":{"%s/schema.json":"%s/schema.json","%s/terraform-mapping.json":"%s/terraform-mapping.json"}}' \
    "$PWD" "$module" "$PWD" "$module" > "$1"
}

build() { # MODULE PACKAGES LDFLAGS EXTRA -> prints the folder
  local module=$1 packages=$2 ldflags="-s -w $3" extra=$4 key out work started
  cd "$here/$module"
  key=$({ echo "$go_version"; echo "$packages|$ldflags|$extra"; cat go.mod go.sum ./*.go 2>/dev/null || true; } | sha256sum | cut -c1-12)
  out=$cache/programs/$module-$key
  if [ ! -d "$out" ]; then
    mkdir -p "$cache/programs"
    exec 9> "$cache/programs/$module.lock"
    flock -n 9 || { say "$module is being built by another run, waiting for it"; flock 9; }
  fi
  if [ ! -d "$out" ]; then
    say "building $module"
    started=$SECONDS
    # Leftovers of a build that was killed: whoever holds the lock is alone.
    rm -rf "$cache/programs/.$module-"??????
    work=$(mktemp -d "$cache/programs/.$module-XXXXXX")
    # shellcheck disable=SC2064
    trap "rm -rf '$work'" EXIT
    local env=(CGO_ENABLED=0) flags=(-trimpath -buildvcs=false -ldflags "$ldflags")
    case $extra in
      cgo) env=(CGO_ENABLED=1); flags+=(-tags "netgo osusergo sqlite_omit_load_extension") ;;
      # Without the ways to find targets in clouds, which are most of it.
      named-lean) flags+=(-tags remove_all_sd) ;;
      schema) overlay "$work/overlay.json"; flags+=(-overlay "$work/overlay.json") ;;
    esac
    local list; read -ra list <<< "$packages"
    env "${env[@]}" go build "${flags[@]}" -o "$work/" "${list[@]}" >&2 || { say "$module could not be built"; exit 1; }
    rm -f "$work/overlay.json"
    mv "$work" "$out"
    say "built $module in $((SECONDS - started)) s"
  fi
  exec 9>&- || true
  echo "$out"
}

main() {
  command -v go > /dev/null || { say "needs Go 1.26 on PATH"; exit 1; }
  mkdir -p "$cache/programs"
  local wanted=" $* " dirs=() module packages ldflags extra dir go_version
  go_version=$(go version)
  for module in "$@"; do
    [ -d "$here/$module" ] || { say "there is no program '$module' here"; exit 1; }
  done
  while IFS='|' read -r module packages ldflags extra; do
    if [ $# -gt 0 ] && [[ $wanted != *" $module "* ]]; then continue; fi
    if [ $# = 0 ] && [[ $extra = named* ]]; then continue; fi
    dir=$(build "$module" "$packages" "$ldflags" "$extra")
    dirs+=("$dir")
  done < <(table)
  local set
  set=$cache/programs/set-$(printf '%s\n' "${dirs[@]}" | sha256sum | cut -c1-12)
  if [ ! -d "$set" ]; then
    local work; work=$(mktemp -d "$cache/programs/.set-XXXXXX")
    for dir in "${dirs[@]}"; do ln -s "$dir"/* "$work/"; done
    mv -T "$work" "$set" 2> /dev/null || rm -rf "$work"
  fi
  echo "$set"
}
main "$@"
