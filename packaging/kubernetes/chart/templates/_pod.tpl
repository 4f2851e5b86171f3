{{- define "tare.labels" -}}
app.kubernetes.io/name: tare
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "tare.account" -}}
{{ .Values.account | default .Release.Name }}
{{- end }}

{{- /* Metadata of a pod: no mesh puts a proxy before it. */}}
{{- define "tare.podMetadata" -}}
labels:
  {{- include "tare.labels" . | nindent 2 }}
annotations: {sidecar.istio.io/inject: "false", linkerd.io/inject: disabled}
{{- end }}

{{- /* What all pods have beside their containers and volumes. */}}
{{- define "tare.podSpec" -}}
serviceAccountName: {{ include "tare.account" . }}
restartPolicy: Never
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: {type: RuntimeDefault}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- /* A container without its volumes: a list of the root, its name, the words of its command, and its directory. */}}
{{- define "tare.container" -}}
{{- $root := index . 0 -}}
- name: {{ index . 1 }}
  image: {{ $root.Values.image.name }}
  command: ["/tare"]
  args:
    {{- toYaml (index . 2) | nindent 4 }}
  workingDir: {{ index . 3 }}
  securityContext:
    allowPrivilegeEscalation: false
    capabilities: {drop: ["ALL"]}
  resources:
    {{- toYaml $root.Values.resources | nindent 4 }}
{{- end }}

{{- /* Arguments of a run: a list of the root, the user's arguments, and the run's directory. The pods that it makes have
the image and the secrets of the run itself. */}}
{{- define "tare.runArguments" -}}
{{- $root := index . 0 -}}
{{- $words := concat (list "run") (index . 1) (list "--pod-image" $root.Values.image.name) -}}
{{- range $root.Values.image.pullSecrets }}{{ $words = concat $words (list "--image-pull-secret" .) }}{{ end -}}
{{- toJson (concat $words (list "--out" (index . 2))) -}}
{{- end }}
