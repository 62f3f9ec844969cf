#!/bin/sh
# Writes what deploy/compose.yaml needs and git must not have: deploy/secrets, deploy/tls, deploy/.env.
#
#   deploy/setup.sh single|cluster [NAME...]
#
# NAMEs: under which others reach this machine, for the certificates. Secrets that are there are kept.
set -eu
umask 077
cd "$(dirname "$0")"

case "${1:-}" in
  single) nodes="nats-1" replicas=1 ;;
  cluster) nodes="nats-1 nats-2 nats-3" replicas=3 ;;
  *) echo "usage: $0 single|cluster [NAME...]" >&2; exit 2 ;;
esac
profile=$1
shift

./make-certificates.sh "$@"
mkdir -p secrets/nats

secret() {  # FILE COMMAND...: once
  file=secrets/$1
  shift
  [ -f "$file" ] || "$@" > "$file"
}

# Each context has sealing keys of its own. An installation of before goes on with the ones that all contexts shared.
sealing_keys() {  # CONTEXT
  if [ -f secrets/sealing_keys ]; then cat secrets/sealing_keys; else printf '%s1:%s\n' "$1" "$(openssl rand -base64 32)"; fi
}

# A secret that not everybody needs. Older versions had some of them in .env, by the name of the setting.
optional() {  # FILE SETTING
  [ -f "secrets/$1" ] && return
  value=
  [ -f .env ] && value=$(sed -n "s/^$2=//p" .env | tail -n 1 | sed "s/^\([\"']\)\(.*\)\1\$/\2/")
  if [ -n "$value" ]; then
    printf '%s\n' "$value" > "secrets/$1"
    echo "$2 of deploy/.env is now in deploy/secrets/$1; remove it from deploy/.env" >&2
  else
    printf '# Not set. Replace this line with the value of %s, if you need it.\n' "$2" > "secrets/$1"
  fi
}

secret identity_secrets openssl rand -hex 32
secret cron_secrets openssl rand -hex 32
for context in identity render reminder; do secret "${context}_sealing_keys" sealing_keys "$context"; done
for name in sentry_dsn alert_slack_url alert_webhook_url alert_webhook_secrets reminder_webhook_secrets \
    reminder_vapid_private_key reminder_apprise_urls render_nas_password render_nexrender_secret \
    evidence_s3_key_id evidence_s3_secret; do
  optional "$name" "DROVER_$(printf '%s' "$name" | tr '[:lower:]' '[:upper:]')"
done
for key in archive_s3 archive_reader_s3; do
  optional "${key}_key_id" DROVER_ARCHIVE_S3_KEY_ID
  optional "${key}_secret" DROVER_ARCHIVE_S3_SECRET
done
secret none echo '# Nothing: this installation has no API keys of older versions.'
secret postgres_password openssl rand -hex 24
secret grafana_password openssl rand -hex 16
printf 'postgresql://drover:%s@postgres:5432/drover\n' "$(cat secrets/postgres_password)" > secrets/postgres_url.new
mv -f secrets/postgres_url.new secrets/postgres_url

# One password for each user that nats/users.conf names; an address with it for the service of that name.
passwords=secrets/nats/passwords.conf
[ -f "$passwords" ] || : > "$passwords"
chmod 600 "$passwords"
sed -n 's/.*user: "\([a-z-]*\)", password: \$\([A-Z_]*\)$/\1 \2/p' nats/users.conf | while read -r user variable; do
  grep -q "^$variable:" "$passwords" || printf '%s: "%s"\n' "$variable" "$(openssl rand -hex 24)" >> "$passwords"
  password=$(sed -n "s/^$variable: \"\(.*\)\"$/\1/p" "$passwords")
  url=
  for node in $nodes; do url="$url${url:+,}tls://$user:$password@$node:4222"; done
  printf '%s\n' "$url" > secrets/nats_url.new
  mv -f secrets/nats_url.new "secrets/nats_url_$user"
done

# Containers run as users of their own. Nobody else of this machine gets through the folder above.
chmod 700 secrets
chmod 755 secrets/nats
find secrets -type f -exec chmod 444 {} +

if [ ! -f .env ]; then
  [ "$profile" = cluster ] && profiles=cluster || profiles=
  cat > .env <<ENV
# Of this installation; docs/deployment.md names what else can be set.
COMPOSE_PROJECT_NAME=drover
COMPOSE_PROFILES=$profiles
NATS_CONFIG=$profile
DROVER_NATS_REPLICAS=$replicas
# What the key in every phone may do: off, read, agent or full. The simulated farm (profile demo) needs agent.
DROVER_ANON=off
ENV
  echo "wrote deploy/.env"
elif ! grep -q "^NATS_CONFIG=$profile$" .env; then
  echo "deploy/.env says otherwise: set NATS_CONFIG=$profile, DROVER_NATS_REPLICAS=$replicas and COMPOSE_PROFILES there" >&2
  exit 1
fi

# API keys of older versions are verified with a shared secret, until they are adopted (docs/identity.md).
if [ -f secrets/jwt_secrets ] && ! grep -q '^JWT_SECRETS_FILE=' .env; then
  echo 'JWT_SECRETS_FILE=./secrets/jwt_secrets' >> .env
  echo "deploy/.env: API keys of older versions stay valid; docs/identity.md says how to retire deploy/secrets/jwt_secrets"
fi
