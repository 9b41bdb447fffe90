#!/bin/sh
# Prints an .env for compose.yaml with fresh secrets, and makes the file with the signer's key beside compose.yaml.
# usage: deploy/make-env.sh pay.example.com > .env
set -eu
domain="${1:?usage: deploy/make-env.sh HOST-NAME > .env}"
folder="${SIGNER_KEY_FOLDER:-.}"
secret() { od -An -tx1 -N"$1" /dev/urandom | tr -d ' \n'; }

# An existing key is never replaced: it opens the seed that your customers' payments went to.
if [ ! -e "$folder/signer-key" ]; then
  (umask 077 && secret 32 >"$folder/signer-key")
fi
# Containers read it as their user `node`.
case "$(id -u)" in
0) chown 1000:1000 "$folder/signer-key" ;;
1000) ;;
*) echo "the signer's container could not read its key: sudo chown 1000:1000 $folder/signer-key" >&2 ;;
esac

cat <<END
DOMAIN=$domain
SECRET_KEY=$(secret 32)
OWNER_DATABASE_PASSWORD=$(secret 24)
API_DATABASE_PASSWORD=$(secret 24)
WATCHER_DATABASE_PASSWORD=$(secret 24)
DELIVERY_DATABASE_PASSWORD=$(secret 24)
SIGNER_DATABASE_PASSWORD=$(secret 24)
SMTP_URL=
# One for each network that takes real money; see docs/operating-chains.md.
LIVE_BITCOIN_RPC_URL=
LIVE_LITECOIN_RPC_URL=
LIVE_ETHEREUM_RPC_URL=
LIVE_BASE_RPC_URL=
LIVE_ARBITRUM_RPC_URL=
LIVE_POLYGON_RPC_URL=
LIVE_SOLANA_RPC_URL=
# Every other variable of docs/operating.md that is yours to choose may stand here too.
END
