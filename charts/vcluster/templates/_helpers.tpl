{{/* The labels of every object of the release. */}}
{{- define "vcluster.labels" -}}
app: vcluster
chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | quote }}
release: {{ .Release.Name | quote }}
heritage: {{ .Release.Service | quote }}
{{- end -}}

{{/* What the pods of the control plane are found by. vCluster looks for it, too. */}}
{{- define "vcluster.selector" -}}
app: vcluster
release: {{ .Release.Name | quote }}
{{- end -}}

{{/* Metadata of an object: (dict "root" $ "name" … "labels" … "annotations" …), cluster-scoped with "cluster" true. */}}
{{- define "vcluster.metadata" -}}
name: {{ .name | quote }}
{{- if not .cluster }}
namespace: {{ .root.Release.Namespace | quote }}
{{- end }}
labels:
  {{- include "vcluster.labels" .root | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with merge dict (.annotations | default dict) .root.Values.controlPlane.advanced.globalMetadata.annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* An image reference: (dict "root" $ "image" {registry, repository} "tag" …). */}}
{{- define "vcluster.image" -}}
{{- $registry := .root.Values.controlPlane.advanced.defaultImageRegistry | default .image.registry -}}
{{- with $registry }}{{ . }}/{{ end }}{{ .image.repository }}:{{ .tag }}
{{- end -}}

{{/*
The name of the cluster-scoped objects, as upstream's chart cuts it: with a release of 8 characters, 49 of the
namespace's are left.
*/}}
{{- define "vcluster.clusterRoleName" -}}
{{- printf "vc-%s-v-%s" .Release.Name .Release.Namespace | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* Rules of the ClusterRole, empty when nothing cluster-scoped is synced. */}}
{{- define "vcluster.clusterRules" -}}
{{- if .Values.sync.fromHost.nodes.enabled }}
- apiGroups: [""]
  resources: [nodes, nodes/status, pods]
  verbs: [get, list, watch]
- apiGroups: [""]
  resources: [nodes/metrics, nodes/proxy, nodes/stats]
  verbs: [get]
{{- end }}
{{- if .Values.sync.fromHost.ingressClasses.enabled }}
- apiGroups: [networking.k8s.io]
  resources: [ingressclasses]
  verbs: [get, list, watch]
{{- end }}
{{- with .Values.rbac.clusterRole.extraRules }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The configuration: every value, as it was merged. */}}
{{- define "vcluster.config" -}}
{{- toYaml .Values -}}
{{- end -}}
