{{/* The Deployment, ServiceAccount, claim and Secret are named after the release: platform-operator for the
     release of that name, <release>-platform-operator for another. */}}
{{- define "platform-operator.fullname" -}}
{{- if contains "platform-operator" .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-platform-operator" (.Release.Name | trunc 32 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{- define "platform-operator.selectorLabels" -}}
app.kubernetes.io/name: platform-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "platform-operator.labels" -}}
{{- include "platform-operator.labelsAnd" (list . dict) -}}
{{- end -}}

{{/* The labels of every object, and those of this one: a list of the root and of a map, which wins over commonLabels. */}}
{{- define "platform-operator.labelsAnd" -}}
{{- $own := index . 1 | default dict -}}
{{- with index . 0 -}}
{{ include "platform-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with merge (dict) $own (.Values.commonLabels | default dict) }}
{{ toYaml . }}
{{- end }}
{{- end -}}
{{- end -}}

{{- define "platform-operator.caName" -}}
{{- printf "%s-ca" (include "platform-operator.fullname" .) -}}
{{- end -}}

{{- define "platform-operator.image" -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- end -}}

{{- define "platform-operator.cleanupNamespace" -}}
{{- .Values.cleanupNamespace | default .Release.Namespace -}}
{{- end -}}

{{- define "platform-operator.claimName" -}}
{{- .Values.state.existingClaim | default (printf "%s-state" (include "platform-operator.fullname" .)) -}}
{{- end -}}

{{- define "platform-operator.passphraseSecretName" -}}
{{- .Values.passphrase.existingSecret | default (printf "%s-passphrase" (include "platform-operator.fullname" .)) -}}
{{- end -}}

{{/* A quantity of memory in MiB, rounded down. */}}
{{- define "platform-operator.mebibytes" -}}
{{- $text := toString . -}}
{{- $form := "^[0-9.]+([eE][+]?[0-9]+)?" -}}
{{- $number := regexFind $form $text | float64 -}}
{{- $unit := regexReplaceAll $form $text "" -}}
{{- $units := dict "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 "Pi" 1125899906842624.0 "Ei" 1152921504606846976.0 "n" 1e-9 "u" 1e-6 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 -}}
{{- divf (mulf $number (get $units $unit | default 1.0)) 1048576.0 | int -}}
{{- end -}}

{{/* What the pod takes at its peak, in MiB: the operator, an operation for each place, and the fetch of a package
     (measured: docs/performance.md). */}}
{{- define "platform-operator.peak" -}}
{{- add 200 300 (mul 476 (int .Values.maxConcurrentInstalls)) -}}
{{- end -}}

{{/* Rules between values, in words a reader can act on: the schema can only point at one of them. */}}
{{- define "platform-operator.checks" -}}
{{- if and .Values.state.existingClaim (not .Values.passphrase.existingSecret) -}}
{{- fail "state.existingClaim requires passphrase.existingSecret: the chart cannot know the passphrase of state in a claim it did not create" -}}
{{- end -}}
{{- if and (gt (int .Values.replicaCount) 1) (not .Values.leaderElect) -}}
{{- fail "replicaCount: more than 1 replica requires leaderElect" -}}
{{- end -}}
{{- with dig "limits" "memory" "" .Values.resources -}}
{{- $limit := include "platform-operator.mebibytes" . | int -}}
{{- $peak := include "platform-operator.peak" $ | int -}}
{{- if gt (mul $peak 4) (mul $limit 3) -}}
{{- fail (printf "resources.limits.memory: %s is too little for maxConcurrentInstalls %d: at its peak the pod takes %d MiB, which must stay below three quarters of the limit. Set resources.limits.memory to %dMi at least, or a smaller maxConcurrentInstalls" (toString .) (int $.Values.maxConcurrentInstalls) $peak (div (add (mul $peak 4) 2) 3)) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.service) -}}
{{- fail "metrics.serviceMonitor.enabled requires metrics.service: a ServiceMonitor selects that Service" -}}
{{- end -}}
{{- $labels := dict "commonLabels" .Values.commonLabels "podLabels" .Values.podLabels "metrics.serviceMonitor.labels" .Values.metrics.serviceMonitor.labels "metrics.prometheusRule.labels" .Values.metrics.prometheusRule.labels "metrics.dashboard.labels" .Values.metrics.dashboard.labels -}}
{{- range $value, $own := $labels -}}
{{- range $label := keys ($own | default dict) | sortAlpha -}}
{{- if or (hasPrefix "app.kubernetes.io/" $label) (hasPrefix "helm.sh/" $label) -}}
{{- fail (printf "%s: %s is the chart's own: the Deployment, the Services and the NetworkPolicies select by such labels" $value $label) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $alerts := list -}}
{{- range ($.Files.Get "files/alerts.yaml" | fromYaml).groups -}}
{{- range .rules -}}{{- $alerts = append $alerts .alert -}}{{- end -}}
{{- end -}}
{{- range .Values.metrics.prometheusRule.disabled -}}
{{- if not (has . $alerts) -}}
{{- fail (printf "metrics.prometheusRule.disabled: there is no alert %s; there are %s" . (join ", " $alerts)) -}}
{{- end -}}
{{- end -}}
{{- if contains "PRIVATE KEY" (.Values.npm.caBundle | default "") -}}
{{- fail "npm.caBundle: a private key is in it, and everybody who reads ConfigMaps could read it there: give certificates alone" -}}
{{- end -}}
{{- $taken := dict -}}
{{- if .Values.npm.caBundle -}}
{{- $taken = merge $taken (dict "NODE_EXTRA_CA_CERTS" "npm.caBundle" "SSL_CERT_DIR" "npm.caBundle") -}}
{{- end -}}
{{- if or .Values.proxy.https .Values.proxy.http -}}
{{- $taken = merge $taken (dict "HTTPS_PROXY" "proxy.https" "HTTP_PROXY" "proxy.http" "NO_PROXY" "proxy.noProxy") -}}
{{- end -}}
{{- range .Values.extraEnv -}}
{{- if hasKey $taken .name -}}
{{- fail (printf "extraEnv: %s is set by %s already" .name (get $taken .name)) -}}
{{- end -}}
{{- $_ := set $taken .name "extraEnv" -}}
{{- end -}}
{{- $flags := dict "--state-dir" "state" "--passphrase-file" "passphrase" "--storage-root-base" "storageRootBase" "--install-timeout" "installTimeout" "--repair-interval" "repairInterval" "--target-poll" "targetPoll" "--max-concurrent-installs" "maxConcurrentInstalls" "--max-concurrent-targets" "maxConcurrentTargets" "--watch-namespaces" "watchNamespaces" "--cleanup-namespace" "cleanupNamespace" "--leader-elect" "leaderElect" "--no-leader-elect" "leaderElect" "--npm-registry" "npm.registry" "--npmrc" "npm.existingSecret" "--plugin-server" "plugins.server" "--plugin-directory" "plugins.existingClaim" -}}
{{- range .Values.extraArgs -}}
{{- $flag := splitList "=" . | first -}}
{{- if hasKey $flags $flag -}}
{{- fail (printf "extraArgs: %s is the flag of the value %s, and can be given once" $flag (get $flags $flag)) -}}
{{- end -}}
{{- end -}}
{{- if and .Values.headlamp.enabled (not .Subcharts.headlamp) -}}
{{- fail "headlamp.enabled: this copy of the chart does not carry the Headlamp chart 0.46.0. Use a released chart, make one with Headlamp's archive (make chart), or install Headlamp's own chart beside this one" -}}
{{- end -}}
{{- end -}}

{{/* The passphrase of the chart's own Secret, base64 encoded: the one in the cluster, or a new one where nothing can
     have been encrypted yet. A changed passphrase makes every instance's state unreadable, so each doubt is an error. */}}
{{- define "platform-operator.passphrase" -}}
{{- include "platform-operator.checks" . -}}
{{- $namespace := .Release.Namespace -}}
{{- $name := include "platform-operator.passphraseSecretName" . -}}
{{- $claim := include "platform-operator.claimName" . -}}
{{- if not (lookup "v1" "Namespace" "" "kube-system") -}}
{{- fail (printf "passphrase.existingSecret: this render cannot see the cluster, so it cannot tell whether Secret %s/%s with the passphrase of existing state is there, and a new passphrase would make that state unreadable. Use helm install, helm upgrade or --dry-run=server, or create a Secret with the key passphrase and name it here." $namespace $name) -}}
{{- end -}}
{{- $secret := lookup "v1" "Secret" $namespace $name -}}
{{- if $secret -}}
{{- $passphrase := get ($secret.data | default dict) "passphrase" -}}
{{- if not $passphrase -}}
{{- fail (printf "passphrase: Secret %s/%s has no key passphrase. Restore it from your backup: without the original passphrase the state of the instances is unreadable." $namespace $name) -}}
{{- end -}}
{{- $passphrase -}}
{{- else if lookup "v1" "PersistentVolumeClaim" $namespace $claim -}}
{{- fail (printf "passphrase: the state claim %s/%s exists, but Secret %s with its passphrase is gone. Restore the Secret from your backup; only if nothing in the claim is needed any more, delete the claim and install again." $namespace $claim $name) -}}
{{- else if not .Release.IsInstall -}}
{{- fail (printf "passphrase: Secret %s/%s is gone. A passphrase is generated only on a first install: restore the Secret from your backup, or uninstall and install again." $namespace $name) -}}
{{- else -}}
{{- randAlphaNum 48 | b64enc -}}
{{- end -}}
{{- end -}}
