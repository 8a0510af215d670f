#!/usr/bin/env bash
# The provisioner of the default StorageClass. Every claim gets a folder of the node as a `local` volume: unlike a
# hostPath, kubelet gives that to the pod's fsGroup, so that a pod of any uid can write to it, as on a real cloud.
# It works off the whole list each time and uses the watches only to learn that something changed.
set -euo pipefail
class=node-folder
root=/var/lib/volumes

provision() {
  local namespace name uid size modes
  kubectl get persistentvolumeclaims --all-namespaces -o go-template='{{range .items}}{{if and (eq (printf "%v" .spec.storageClassName) "'$class'") (not .spec.volumeName) (not .metadata.deletionTimestamp)}}{{.metadata.namespace}} {{.metadata.name}} {{.metadata.uid}} {{.spec.resources.requests.storage}} {{range .spec.accessModes}}"{{.}}",{{end}}{{"\n"}}{{end}}{{end}}' |
    while read -r namespace name uid size modes; do
      mkdir -p "$root/pvc-$uid"
      kubectl apply --server-side -f - <<Y
apiVersion: v1
kind: PersistentVolume
metadata:
  name: pvc-$uid
  annotations: { pv.kubernetes.io/provisioned-by: local-cluster/$class }
spec:
  storageClassName: $class
  persistentVolumeReclaimPolicy: Delete
  capacity: { storage: "$size" }
  accessModes: [${modes%,}]
  claimRef: { apiVersion: v1, kind: PersistentVolumeClaim, namespace: "$namespace", name: "$name", uid: "$uid" }
  local: { path: $root/pvc-$uid }
  nodeAffinity:
    required:
      nodeSelectorTerms: [{ matchExpressions: [{ key: kubernetes.io/hostname, operator: In, values: [node1] }] }]
Y
    done
}

reclaim() {
  local name
  kubectl get persistentvolumes -o go-template='{{range .items}}{{if and (eq .spec.storageClassName "'$class'") (eq (printf "%v" .status.phase) "Released") (eq .spec.persistentVolumeReclaimPolicy "Delete")}}{{.metadata.name}}{{"\n"}}{{end}}{{end}}' |
    while read -r name; do
      rm -rf "${root:?}/$name"
      kubectl delete persistentvolume "$name"
    done
}

changes() {
  while true; do kubectl get "$@" --watch -o name || true; sleep 1; done
}

mkdir -p "$root"
coproc wake { changes persistentvolumeclaims --all-namespaces & changes persistentvolumes & wait; }
while true; do
  read -r -t 60 _ <&"${wake[0]}" || true
  while read -r -t 0.05 _ <&"${wake[0]}"; do :; done
  provision || echo "claims could not be worked off, trying again at the next change"
  reclaim || echo "volumes could not be reclaimed, trying again at the next change"
done
