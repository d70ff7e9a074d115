{{/* The pod of a runner: (dict "root" . "arguments" (list …) "restartPolicy" "Always") */}}
{{- define "agl.runnerPod" -}}
{{- $runners := .root.Values.runners -}}
{{- include "agl.podSettings" (dict "root" .root "user" 10001) }}
restartPolicy: {{ .restartPolicy }}
terminationGracePeriodSeconds: {{ add $runners.graceSeconds 10 }}
{{- with include "agl.placement" $runners | trim }}{{ . | nindent 0 }}{{ end }}
containers:
  - name: runner
    {{- include "agl.image" (dict "root" .root "image" $runners.image) | nindent 4 }}
    args:
      - runner
      - --store={{ include "agl.serverUrl" .root }}
      - --gateway={{ include "agl.serverUrl" .root }}
      - --agent={{ $runners.agentFile }}
      - --processes={{ $runners.workers }}
      - --concurrency={{ $runners.concurrency }}
      - --grace={{ $runners.graceSeconds }}s
      {{- range .arguments }}
      - {{ . }}
      {{- end }}
    env:
      {{- include "agl.serverAccess" (dict "root" .root "key" "worker-key") | nindent 6 }}
      {{- with $runners.extraEnv }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    resources:
      {{- toYaml $runners.resources | nindent 6 }}
    {{- include "agl.containerSecurity" .root | nindent 4 }}
    volumeMounts:
      - { name: tmp, mountPath: /tmp }
      {{- with $runners.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - { name: tmp, emptyDir: {} }
  {{- with $runners.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* The Job that `agl kubernetes-runner` creates for each batch of rollouts. */}}
{{- define "agl.jobTemplate" -}}
{{- $of := dict "root" . "component" "runner" -}}
apiVersion: batch/v1
kind: Job
metadata:
  labels:
    {{- include "agl.labels" $of | nindent 4 }}
spec:
  activeDeadlineSeconds: {{ .Values.runners.jobs.activeDeadlineSeconds }}
  ttlSecondsAfterFinished: {{ .Values.runners.jobs.ttlSecondsAfterFinished }}
  # A pod that is evicted or preempted is replaced, and does not count as a failure.
  podFailurePolicy:
    rules:
      - action: Ignore
        onPodConditions: [{ type: DisruptionTarget, status: "True" }]
  template:
    metadata:
      labels:
        {{- include "agl.podLabels" $of | nindent 8 }}
    spec:
      {{- include "agl.runnerPod" (dict "root" . "arguments" (list) "restartPolicy" "Never") | nindent 6 }}
{{- end }}
