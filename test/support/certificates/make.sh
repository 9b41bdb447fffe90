#!/bin/sh
# Makes the certificates of the TLS tests anew: a certificate authority of their own, one good certificate for
# shop.test, one that expired, one for another host, one that nobody signed. They protect nothing.
set -eu
cd "$(dirname "$0")"
days=36500
new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$1.key.pem"; }
new_key authority
openssl req -x509 -new -key authority.key.pem -days $days -subj '/CN=Test authority' -out authority.pem
issue() { # name, host, dates…
  name=$1; host=$2; shift 2
  new_key "$name"
  openssl req -new -key "$name.key.pem" -subj "/CN=$host" -out "$name.csr"
  printf 'subjectAltName=DNS:%s\n' "$host" > "$name.ext"
  openssl x509 -req -in "$name.csr" -CA authority.pem -CAkey authority.key.pem -set_serial "$(date +%s%N)" \
    -extfile "$name.ext" "$@" -out "$name.pem"
  rm "$name.csr" "$name.ext"
}
issue good shop.test -days $days
issue other-host other.test -days $days
# Only `openssl ca` takes dates of the past in every version.
new_key expired
printf '[ca]\ndefault_ca=d\n[d]\ndatabase=index.txt\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\npolicy=p\nx509_extensions=e\nunique_subject=no\n[p]\ncommonName=supplied\n[e]\nsubjectAltName=DNS:shop.test\n' > ca.cnf
: > index.txt
openssl req -new -key expired.key.pem -subj '/CN=shop.test' -out expired.csr
openssl ca -batch -notext -config ca.cnf -cert authority.pem -keyfile authority.key.pem -in expired.csr \
  -startdate 20200101000000Z -enddate 20200201000000Z -out expired.pem -outdir .
rm -f expired.csr ca.cnf index.txt* ./*[0-9A-F][0-9A-F].pem
new_key self-signed
openssl req -x509 -new -key self-signed.key.pem -days $days -subj '/CN=shop.test' \
  -addext 'subjectAltName=DNS:shop.test' -out self-signed.pem
rm authority.key.pem
