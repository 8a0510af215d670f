#!/usr/bin/env bash
# Gives the cluster's archives (listed in /run/cluster/images) to containerd, those that it does not have yet, and
# forgets what load-image gave to it more than a day ago.
set -euo pipefail
loaded=/run/cluster/containerd/loaded loads=/run/cluster/containerd/loads
touch "$loaded" "$loads"
while read -r archive; do
  grep -qxF "$archive" "$loaded" || {
    ctr --namespace k8s.io images import "$archive"
    echo "$archive" >> "$loaded"
  }
done < /run/cluster/images

yesterday=$(($(date +%s) - 86400))
while read -r when name; do
  if [ "$when" -ge $yesterday ]; then continue; fi
  awk -v name="$name" -v since=$yesterday '$2 == name && $1 >= since { found = 1 } END { exit !found }' "$loads" ||
    ctr --namespace k8s.io images rm "$name" || true
done < "$loads"
# containerd's names by content, of which no other name is left, would keep that content.
ctr --namespace k8s.io images ls | awk 'NR > 1 { if ($1 ~ /^sha256:/) id[$1] = $3; else named[$3] = 1 } END { for (ref in id) if (!(id[ref] in named)) print ref }' |
  xargs -r ctr --namespace k8s.io images rm
awk -v since=$yesterday '$1 >= since' "$loads" > "$loads.new"
mv "$loads.new" "$loads"
