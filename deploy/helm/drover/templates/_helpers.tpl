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

{{/* What each service is: whether it reads the database, serves people and agents, calls out, reads or writes the
archive; and which secrets it has. tools/service_secrets.py decides about secrets, with the reasons; a test compares. */}}
{{- define "drover.traits" -}}
scheduler: {database: false, edge: false, outside: false, archive: reads, secrets: []}
gateway: {database: true, edge: true, outside: true, archive: reads, secrets: [render_sealing_keys, reminder_sealing_keys]}
render: {database: false, edge: false, outside: false, archive: reads, secrets: []}
cleanup: {database: true, edge: true, outside: true, archive: reads, secrets: [cron_secrets]}
reminder: {database: true, edge: true, outside: true, archive: reads, secrets: [reminder_sealing_keys]}
notifier: {database: false, edge: false, outside: true, archive: "", secrets: []}
projector: {database: true, edge: false, outside: false, archive: reads, secrets: []}
archiver: {database: true, edge: false, outside: false, archive: writes, secrets: []}
api: {database: true, edge: true, outside: true, archive: reads, secrets: [identity_secrets, identity_sealing_keys, reminder_sealing_keys]}
{{- end -}}

{{/* The files that a container gets, each with its setting: {root, natsUser, database, edge, archive, secrets,
secretSettings}. */}}
{{- define "drover.files" -}}
{{- $values := .root.Values -}}
{{- if .natsUser }}
nats_url_{{ .natsUser }}: DROVER_NATS_URL
nats_url_system: DROVER_NATS_SYSTEM_URL
{{- end }}
{{- if .database }}
postgres_url: DROVER_POSTGRES_URL
{{- end }}
{{- range .secrets }}
{{ . }}: DROVER_{{ upper . }}
{{- end }}
{{- if and .edge $values.keysOfBefore }}
jwt_secrets: DROVER_JWT_SECRETS
{{- end }}
{{- if and .archive $values.archive.bucket $values.archive.hasKey }}
{{- $key := ternary "archive_s3" "archive_reader_s3" (eq .archive "writes") }}
{{ $key }}_key_id: DROVER_ARCHIVE_S3_KEY_ID
{{ $key }}_secret: DROVER_ARCHIVE_S3_SECRET
{{- end }}
{{- range $name, $key := .secretSettings }}
{{ $key }}: {{ $name }}
{{- end }}
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

{{/* Of a container: {root, natsUser, database, edge, archive, secrets, settings, secretSettings}. */}}
{{- define "drover.env" -}}
{{- $values := .root.Values -}}
{{- if $values.nats.caSecret }}
- {name: SSL_CERT_FILE, value: /run/drover-ca/ca.crt}
{{- end }}
- name: DROVER_INSTANCE
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
{{- range $file, $setting := fromYaml (include "drover.files" .) }}
- {name: {{ $setting }}_FILE, value: /run/secrets/drover/{{ $file }}}
{{- end }}
{{- if not .database }}
# It opens no connection to a database, and the network policy would not let it.
- {name: DROVER_POSTGRES_URL, value: "postgresql://nobody@127.0.0.1:1/nothing"}
{{- end }}
{{- if .archive }}
{{- with $values.archive.claim }}
- {name: DROVER_ARCHIVE, value: /archive}
{{- end }}
{{- with $values.archive.bucket }}
- {name: DROVER_ARCHIVE, value: {{ . | quote }}}
{{- end }}
{{- with $values.archive.endpoint }}
- {name: DROVER_ARCHIVE_S3_ENDPOINT, value: {{ . | quote }}}
{{- end }}
{{- with $values.archive.region }}
- {name: DROVER_ARCHIVE_S3_REGION, value: {{ . | quote }}}
{{- end }}
{{- end }}
{{- /* Without the archive a service must not be told that commits leave NATS: it would refuse to start. */}}
{{- range $name, $value := ternary .settings (omit .settings "DROVER_LOG_KEEP") (ne .archive "") }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end -}}

{{- define "drover.mounts" -}}
- {name: secrets, mountPath: /run/secrets/drover, readOnly: true}
- {name: tmp, mountPath: /tmp}
{{- if .root.Values.nats.caSecret }}
- {name: nats-ca, mountPath: /run/drover-ca, readOnly: true}
{{- end }}
{{- if and .archive .root.Values.archive.claim }}
- {name: archive, mountPath: /archive, readOnly: {{ ne .archive "writes" }}}
{{- end }}
{{- end -}}

{{- define "drover.volumes" -}}
- name: secrets
  secret:
    secretName: {{ .root.Values.secret }}
    defaultMode: 0440
    items:
{{- range $file, $setting := fromYaml (include "drover.files" .) }}
      - {key: {{ $file }}, path: {{ $file }}}
{{- end }}
- name: tmp
  emptyDir: {sizeLimit: {{ .tmpSizeLimit | default "64Mi" }}}
{{- if .root.Values.nats.caSecret }}
- name: nats-ca
  secret:
    secretName: {{ .root.Values.nats.caSecret }}
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- if and .archive .root.Values.archive.claim }}
- name: archive
  persistentVolumeClaim:
    claimName: {{ .root.Values.archive.claim }}
    readOnly: {{ ne .archive "writes" }}
{{- end }}
{{- end -}}
