#!/usr/bin/env bash
# Gives the cluster's archives (listed in /run/cluster/images) to containerd, those that it does not have yet.
set -euo pipefail
loaded=/run/cluster/containerd/loaded
touch "$loaded"
while read -r archive; do
  grep -qxF "$archive" "$loaded" || {
    ctr --namespace k8s.io images import "$archive"
    echo "$archive" >> "$loaded"
  }
done < /run/cluster/images
