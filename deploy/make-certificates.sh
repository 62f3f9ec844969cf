#!/bin/sh
# Makes a private authority and certificates for NATS and the edge, for trying out: deploy/make-certificates.sh [NAME...]
# NAMEs are added to both (the host name or IP address under which others reach this machine). What is there is kept:
# remove deploy/tls to begin anew. In production let cert-manager, step-ca or the like do this, with shorter lives.
set -eu
umask 077
cd "$(dirname "$0")"
days=825
mkdir -p tls/nats tls/edge tls/trust

if [ ! -f tls/ca.key ]; then
  openssl ecparam -name prime256v1 -genkey -noout -out tls/ca.key
  openssl req -x509 -new -key tls/ca.key -sha256 -days 3650 -subj "/CN=Drover trial authority" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign" -out tls/ca.crt
  echo "made the authority: tls/ca.crt"
fi

names() {  # DNS:a,IP:1.2.3.4 of all arguments
  for name in "$@"; do
    case "$name" in
      *[!0-9.]*) printf 'DNS:%s,' "$name" ;;
      *) printf 'IP:%s,' "$name" ;;
    esac
  done | sed 's/,$//'
}

certificate() {  # FILE USAGE NAME...
  file=$1 usage=$2
  shift 2
  [ -f "$file.crt" ] && return
  openssl ecparam -name prime256v1 -genkey -noout -out "$file.key"
  openssl req -new -key "$file.key" -subj "/CN=$1" -out "$file.csr"
  printf 'subjectAltName=%s\nextendedKeyUsage=%s\nkeyUsage=critical,digitalSignature\nbasicConstraints=CA:FALSE\n' \
    "$(names "$@")" "$usage" > "$file.ext"
  openssl x509 -req -in "$file.csr" -CA tls/ca.crt -CAkey tls/ca.key -CAcreateserial -sha256 -days "$days" \
    -extfile "$file.ext" -out "$file.crt" 2> /dev/null
  rm "$file.csr" "$file.ext"
  echo "made $file.crt for $*"
}

# Only that of NATS may also be shown as a client: that is how its nodes know each other.
certificate tls/nats/nats serverAuth,clientAuth nats-1 nats-2 nats-3 localhost 127.0.0.1 "$@"
certificate tls/edge/edge serverAuth localhost edge 127.0.0.1 "$@"
cp tls/ca.crt tls/nats/ca.crt
cp tls/ca.crt tls/trust/ca.crt
# Containers run as users of their own. Nobody else of this machine gets through the folder above.
chmod 700 tls
chmod 755 tls/nats tls/edge tls/trust
chmod 444 tls/nats/* tls/edge/* tls/trust/*
