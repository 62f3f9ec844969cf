{{- define "drover.name" -}}
{{- .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "drover.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "drover.selector" -}}
app.kubernetes.io/name: {{ include "drover.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "drover.labels" -}}
{{ include "drover.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Of {root, tag}: a tag of its own wins, then the digest, then the tag of all. */}}
{{- define "drover.image" -}}
{{- $image := .root.Values.image -}}
{{- if .tag -}}
{{ $image.repository }}:{{ .tag }}
{{- else if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "drover.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default (include "drover.fullname" .) }}
{{- else -}}
{{ .Values.serviceAccount.name | default "default" }}
{{- end -}}
{{- end -}}

{{/* What each service is: whether it reads the database, serves people and agents, calls out; and which secrets it
has. `inner`: it reads the database, but checks no keys. */}}
{{- define "drover.traits" -}}
scheduler: {database: false, edge: false, outside: false, secrets: []}
gateway: {database: true, edge: true, outside: true, secrets: [identity_secrets, sealing_keys]}
render: {database: false, edge: false, outside: false, secrets: []}
cleanup: {database: true, edge: true, outside: true, secrets: [identity_secrets, sealing_keys, cron_secrets]}
reminder: {database: true, edge: true, outside: true, secrets: [identity_secrets, sealing_keys]}
notifier: {database: false, edge: false, outside: true, secrets: []}
projector: {database: true, edge: false, outside: false, secrets: []}
archiver: {database: true, inner: true, edge: false, outside: false, secrets: []}
api: {database: true, edge: true, outside: true, secrets: [identity_secrets, sealing_keys]}
{{- end -}}

{{- define "drover.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "drover.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* Of a container: {root, natsUser, database, secrets, settings, secretSettings}. */}}
{{- define "drover.env" -}}
{{- $values := .root.Values -}}
{{- if $values.nats.caSecret }}
- {name: SSL_CERT_FILE, value: /run/drover-ca/ca.crt}
{{- end }}
- name: DROVER_INSTANCE
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- {name: DROVER_NATS_URL_FILE, value: /run/secrets/drover/nats_url_{{ .natsUser }}}
- {name: DROVER_NATS_SYSTEM_URL_FILE, value: /run/secrets/drover/nats_url_system}
{{- if and .database (not .inner) }}
- {name: DROVER_JWT_SECRETS_FILE, value: /run/secrets/drover/jwt_secrets}
{{- else }}
# It answers nobody whose key it would have to check, so it has no secret with which keys could be made.
- {name: DROVER_JWT_SECRETS_FILE, value: /run/secrets/drover/inner_secrets}
{{- end }}
{{- if .root.Values.archive.claim }}
- {name: DROVER_ARCHIVE, value: /archive}
{{- end }}
{{- if .database }}
- {name: DROVER_POSTGRES_URL_FILE, value: /run/secrets/drover/postgres_url}
{{- else }}
# It opens no connection to a database, and the network policy would not let it.
- {name: DROVER_POSTGRES_URL, value: "postgresql://nobody@127.0.0.1:1/nothing"}
{{- end }}
{{- range .secrets }}
- {name: DROVER_{{ upper . }}_FILE, value: /run/secrets/drover/{{ . }}}
{{- end }}
{{- range $name, $key := .secretSettings }}
- {name: {{ $name }}_FILE, value: /run/secrets/drover/{{ $key }}}
{{- end }}
{{- range $name, $value := .settings }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end -}}

{{- define "drover.mounts" -}}
- {name: secrets, mountPath: /run/secrets/drover, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if .root.Values.nats.caSecret }}
- {name: nats-ca, mountPath: /run/drover-ca, readOnly: true}
{{- end }}
{{- if .root.Values.archive.claim }}
- {name: archive, mountPath: /archive, readOnly: {{ ne .natsUser "archiver" }}}
{{- end }}
{{- end -}}

{{- define "drover.volumes" -}}
- name: secrets
  secret:
    secretName: {{ .root.Values.secret }}
    defaultMode: 0440
    items:
      - {key: nats_url_{{ .natsUser }}, path: nats_url_{{ .natsUser }}}
      - {key: nats_url_system, path: nats_url_system}
{{- if and .database (not .inner) }}
      - {key: jwt_secrets, path: jwt_secrets}
{{- else }}
      - {key: inner_secrets, path: inner_secrets}
{{- end }}
{{- if .database }}
      - {key: postgres_url, path: postgres_url}
{{- end }}
{{- range .secrets }}
      - {key: {{ . }}, path: {{ . }}}
{{- end }}
{{- range $name, $key := .secretSettings }}
      - {key: {{ $key }}, path: {{ $key }}}
{{- end }}
- name: tmp
  emptyDir: {sizeLimit: {{ .tmpSizeLimit | default "64Mi" }}}
{{- if .root.Values.nats.caSecret }}
- name: nats-ca
  secret:
    secretName: {{ .root.Values.nats.caSecret }}
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- if .root.Values.archive.claim }}
- name: archive
  persistentVolumeClaim:
    claimName: {{ .root.Values.archive.claim }}
    readOnly: {{ ne .natsUser "archiver" }}
{{- end }}
{{- end -}}
