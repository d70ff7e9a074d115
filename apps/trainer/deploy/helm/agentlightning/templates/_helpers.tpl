{{- define "agl.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{/* Labels that select the pods of a component: (dict "root" . "component" "server") */}}
{{- define "agl.selector" -}}
app.kubernetes.io/name: agentlightning
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "agl.labels" -}}
{{ include "agl.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* Metadata of a pod: as for the selector */}}
{{- define "agl.podLabels" -}}
{{ include "agl.labels" . }}
{{- with .root.Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* (dict "root" . "image" .Values.server.image) */}}
{{- define "agl.image" -}}
image: {{ printf "%s:%s" .image.repository (default .root.Chart.AppVersion .image.tag) | quote }}
imagePullPolicy: {{ .image.pullPolicy }}
{{- end }}

{{/* Settings that all pods share: (dict "root" . "user" 10001 "account" "…") */}}
{{- define "agl.podSettings" -}}
enableServiceLinks: false
serviceAccountName: {{ include "agl.name" .root }}
automountServiceAccountToken: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  fsGroup: {{ .user }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "agl.placement" -}}
{{- with .nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "agl.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* (dict "size" "20Gi" "storageClass" "") */}}
{{- define "agl.claim" -}}
accessModes: [ReadWriteOnce]
{{- with .storageClass }}
storageClassName: {{ . | quote }}
{{- end }}
resources:
  requests:
    storage: {{ .size }}
{{- end }}

{{- define "agl.keysSecret" -}}
{{- default (printf "%s-keys" (include "agl.name" .)) .Values.keys.existingSecret -}}
{{- end }}

{{/* A variable from the Secret with the keys: (dict "root" . "variable" "AGL_SERVER_KEY" "key" "server-key") */}}
{{- define "agl.keyVariable" -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef: { name: {{ include "agl.keysSecret" .root }}, key: {{ .key }} }
{{- end }}

{{- define "agl.runtimeTlsSecret" -}}
{{- default (printf "%s-runtime-tls" (include "agl.name" .)) .Values.gpuRuntime.tlsSecret -}}
{{- end }}

{{- define "agl.runtimeAddress" -}}
{{- printf "%s-runtime.%s.svc" (include "agl.name" .) .Release.Namespace -}}
{{- end }}

{{- define "agl.serverUrl" -}}
{{- default (printf "http://%s.%s.svc:%v" (include "agl.name" .) .Release.Namespace .Values.server.service.port) .Values.runners.serverUrl -}}
{{- end }}

{{/* Key of a process that reaches the server, unless keySecret has one: (dict "root" . "key" "worker-key") */}}
{{- define "agl.serverAccess" -}}
{{- $secret := .root.Values.runners.keySecret -}}
- name: AGL_STORE_KEY
  valueFrom:
    secretKeyRef: { name: {{ default (include "agl.keysSecret" .root) $secret.name }}, key: {{ $secret.name | empty | ternary .key $secret.key }} }
{{- if hasPrefix "http:" (include "agl.serverUrl" .root) }}
# Plain HTTP, inside the cluster.
- { name: AGL_ALLOW_INSECURE_KEYS, value: "1" }
{{- end }}
{{- end }}

{{/* Fails for values that exclude each other. */}}
{{- define "agl.check" -}}
{{- if and .Values.postgresql.enabled .Values.externalDatabase.existingSecret }}
{{- fail "postgresql.enabled and externalDatabase.existingSecret are both set. Remove one: the server has one database." }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) }}
{{- fail "ingress.host is empty. Set it to the public name of the server, or ingress.enabled to false." }}
{{- end }}
{{- if and (eq .Values.runners.mode "jobs") (le (int .Values.runners.jobs.ttlSecondsAfterFinished) 300) }}
{{- fail (printf "runners.jobs.ttlSecondsAfterFinished is %v. Set it above 300: failed Jobs are what the backoff after failures is computed from." .Values.runners.jobs.ttlSecondsAfterFinished) }}
{{- end }}
{{- end }}
