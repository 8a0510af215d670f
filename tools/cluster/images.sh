# shellcheck shell=bash
# The images that pods of the local cluster need, from the programs that were built here: no registry is asked.
# Each is a docker-archive in the cache, made again only when what it is made of changed. Sourced by up.

# archive NAME CONFIG ENTRY... : prints the path of a docker-archive with one layer. CONFIG is the JSON of the image's
# run configuration. An ENTRY is PATH=SOURCE (a program, mode 0755), PATH=DIR (an empty folder, mode 1777) or PATH->TARGET (a link).
archive() {
  local name=$1 config=$2 entry source key out work layer; shift 2
  # A program's real path names its build; the folder that gathers them changes with any of them.
  key=$({ printf '%s\n' "$name" "$config"; for entry in "$@"; do
    source=$(readlink -f "${entry#*=}" || true)
    if [ -f "$source" ]; then stat -c "${entry%%=*} %n %s %Y" "$source"; else echo "$entry"; fi
  done; } | sha256sum | cut -c1-12)
  out=$cache/images/$(tr -c 'a-z0-9.\n' - <<< "$name")-$key.tar
  if [ ! -e "$out" ]; then
    say "making image $name"
    work=$(mktemp -d "$cache/images/.making-XXXXXX")
    for entry in "$@"; do place "$work/root" "$entry"; done
    tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$work/root" -cf "$work/layer.tar" .
    layer=$(sha256sum < "$work/layer.tar" | cut -c1-64)
    printf '{"architecture":"amd64","os":"linux","config":%s,"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
      "$config" "$layer" > "$work/config.json"
    printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$name" > "$work/manifest.json"
    tar --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$work" -cf "$work/image.tar" config.json layer.tar manifest.json
    mv "$work/image.tar" "$out"
    rm -rf "$work"
  fi
  touch "$out"
  echo "$out"
}

place() { # ROOT ENTRY
  local path
  case $2 in
    *'->'*) path=$1${2%%->*}; mkdir -p "$(dirname "$path")"; ln -s "${2#*->}" "$path" ;;
    *=DIR) path=$1${2%=*}; mkdir -p "$path"; chmod 1777 "$path" ;;
    *) path=$1${2%%=*}; mkdir -p "$(dirname "$path")"; command install -m 755 "${2#*=}" "$path" ;;
  esac
}

run_path='"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"]'

vcluster_image() { # VERSION PROGRAMS
  archive "ghcr.io/loft-sh/vcluster-oss:$1" "{\"Entrypoint\":[\"/vcluster\",\"start\"],\"WorkingDir\":\"/\",$run_path}" \
    /vcluster="$2/vcluster" /bin/busybox=/bin/busybox "/bin/sh->/bin/busybox" /tmp=DIR /data=DIR
}

# Prints the archives of all images, one a line. The busybox of Debian is static, so it runs in an empty image.
make_images() { # PROGRAMS
  mkdir -p "$cache/images"
  rm -rf "$cache/images"/.making-??????
  find "$cache/images" -name '*.tar' -mtime +14 -delete
  local p=$1 applet busybox=()
  for applet in $(/bin/busybox --list); do [ "$applet" = busybox ] || busybox+=("/bin/$applet->/bin/busybox"); done
  archive registry.k8s.io/pause:3.10 '{"Entrypoint":["/bin/busybox","sleep","2147483647"]}' /bin/busybox=/bin/busybox
  archive docker.io/library/busybox:1.36 "{\"Cmd\":[\"sh\"],$run_path}" /bin/busybox=/bin/busybox /tmp=DIR "${busybox[@]}"
  # vCluster writes /etc/hosts of a StatefulSet's pod with it.
  archive mirror.gcr.io/library/alpine:3.20 "{\"Cmd\":[\"sh\"],$run_path}" /bin/busybox=/bin/busybox /tmp=DIR "${busybox[@]}"
  archive docker.io/coredns/coredns:1.14.1 '{"Entrypoint":["/coredns"]}' /coredns="$p/coredns"
  # What the chart's init container copies to /binaries.
  archive ghcr.io/loft-sh/kubernetes:v1.35.4 "{\"Cmd\":[\"sh\"],$run_path}" /bin/busybox=/bin/busybox "/bin/sh->/bin/busybox" "/bin/cp->/bin/busybox" \
    /kubernetes/kube-apiserver="$p/kube-apiserver" /kubernetes/kube-controller-manager="$p/kube-controller-manager" /kubernetes/kine="$p/kine"
  vcluster_image 0.36.1 "$p"
}
