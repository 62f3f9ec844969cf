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
mkdir -p secrets/nats secrets/farm

secret() {  # FILE COMMAND...: once
  file=secrets/$1
  shift
  [ -f "$file" ] || "$@" > "$file"
}

sealing_key() { printf 'k1:%s\n' "$(openssl rand -base64 32)"; }

secret jwt_secrets openssl rand -hex 32
secret inner_secrets openssl rand -hex 32
secret identity_secrets openssl rand -hex 32
secret cron_secrets openssl rand -hex 32
secret sealing_keys sealing_key
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

# Keys of the simulated farm, signed as `drover key` does.
encoded() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
key() {  # ROLE
  claims=$(printf '{"iss":"drover","role":"%s","iat":%d,"exp":%d}' "$1" "$(date +%s)" "$(($(date +%s) + 2592000))" | encoded)
  said="$(printf '{"alg":"HS256","typ":"JWT"}' | encoded).$claims"
  printf '%s.%s' "$said" "$(printf '%s' "$said" | openssl dgst -sha256 -hmac "$(cut -d, -f1 secrets/jwt_secrets)" -binary | encoded)"
}
cat > secrets/farm/credentials.json.new <<JSON
{"url": "http://edge:8080", "anon_key": "$(key anon)", "service_key": "$(key service_role)",
 "cron_secret": "$(cut -d, -f1 secrets/cron_secrets)", "admin_email": "", "admin_password": "", "nats_url": "", "postgres_url": ""}
JSON
mv -f secrets/farm/credentials.json.new secrets/farm/credentials.json

# Containers run as users of their own. Nobody else of this machine gets through the folder above.
chmod 700 secrets
chmod 755 secrets/nats secrets/farm
chmod 444 secrets/nats/* secrets/farm/* secrets/nats_url_* secrets/*_secrets secrets/*_keys secrets/postgres_* secrets/grafana_*

if [ ! -f .env ]; then
  [ "$profile" = cluster ] && profiles=cluster || profiles=
  cat > .env <<ENV
# Of this installation; docs/deployment.md names what else can be set.
COMPOSE_PROJECT_NAME=drover
COMPOSE_PROFILES=$profiles
NATS_CONFIG=$profile
DROVER_NATS_REPLICAS=$replicas
ENV
  echo "wrote deploy/.env"
elif ! grep -q "^NATS_CONFIG=$profile$" .env; then
  echo "deploy/.env says otherwise: set NATS_CONFIG=$profile, DROVER_NATS_REPLICAS=$replicas and COMPOSE_PROFILES there" >&2
  exit 1
fi
