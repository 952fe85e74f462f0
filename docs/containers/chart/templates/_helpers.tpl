{{- define "heddle.selector" -}}
app.kubernetes.io/name: heddle
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .name }}
{{- end }}

{{- define "heddle.labels" -}}
{{ include "heddle.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "heddle.probe" -}}
{{- if eq .name "gateway" -}}
httpGet: { path: /status, port: serving }
{{- else if .root.Values.tls.existingSecret -}}
exec: { command: [python, -m, heddle_runtime.serving.health, "127.0.0.1:{{ .service.port }}"] }
{{- else -}}
grpc: { port: {{ .service.port }} }
{{- end }}
{{- end }}

{{- define "heddle.check" -}}
{{- $most := ternary (max .service.maxReplicas .service.replicas) .service.replicas .root.Values.autoscaling.enabled -}}
{{- if and (gt (int $most) 1) .service.storage.size (eq .service.storage.accessMode "ReadWriteOnce") -}}
{{- fail (printf "%s: several replicas need storage with accessMode ReadWriteMany" .name) -}}
{{- end -}}
{{- end }}
