#!/usr/bin/env bash
# Gives the tests a real Bitcoin node: a bitcoind on the PATH where there is one, else Bitcoin Knots out of Debian's
# "sid" suite, unpacked with its own libraries into a cache folder and never installed. Prints the command that
# starts the node. Needs apt and dpkg-deb, but no root. A folder that is complete already is used as it is.
set -euo pipefail

version_prefix='29.'
cache="${XDG_CACHE_HOME:-$HOME/.cache}/paylink/bitcoin-knots"
# What the daemon links against. sid's C library comes along, so that the system's stays as it is.
packages='bitcoin-knots libc6 libstdc++6 libgcc-s1 libevent-core-2.1-7t64 libevent-extra-2.1-7t64
  libevent-pthreads-2.1-7t64 libsqlite3-0 libzmq5 libsodium26 libpgm-5.3-0t64 libnorm1t64 libbsd0 libmd0
  libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 libcom-err2 libkeyutils1 libssl3t64'

fail() {
  printf 'install-bitcoin-node: %s\n' "$1" >&2
  exit 1
}

if command -v bitcoind >/dev/null; then
  command -v bitcoind
  exit 0
fi
if [ -x "$cache/bitcoind" ]; then
  printf '%s\n' "$cache/bitcoind"
  exit 0
fi
for tool in apt-get apt-cache dpkg-deb; do
  command -v "$tool" >/dev/null ||
    fail "there is no bitcoind on the PATH and no $tool to get one with: install Bitcoin Core or Bitcoin Knots yourself"
done

# The mirror that the system itself uses.
mirror="$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
  grep -v '^ *#' | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1 | tr -d ' ' || true)"
[ -n "$mirror" ] ||
  fail "no Debian mirror stands in /etc/apt: add the one that this machine uses to /etc/apt/sources.list, or install Bitcoin Core or Bitcoin Knots yourself"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ -r "$keyring" ] || fail "$keyring is missing: apt-get install debian-archive-keyring"

mkdir -p "$(dirname "$cache")"
work="$(mktemp -d "$(dirname "$cache")/.bitcoin-knots.XXXXXX")"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/apt/state/lists/partial" "$work/apt/cache/archives/partial" "$work/apt/parts" "$work/debs" "$work/root"
: >"$work/apt/status"
printf 'deb [signed-by=%s] %s sid main\n' "$keyring" "$mirror" >"$work/apt/sources.list"
# A configuration of its own beside the system's: the system's lists, packages and pins are neither read nor changed.
cat >"$work/apt/apt.conf" <<CONF
Dir::State "$work/apt/state";
Dir::State::status "$work/apt/status";
Dir::Cache "$work/apt/cache";
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "$work/apt/parts";
Dir::Etc::preferencesparts "$work/apt/parts";
APT::Sandbox::User "";
APT::Install-Recommends "false";
Acquire::Languages "none";
Acquire::Retries "3";
CONF
export APT_CONFIG="$work/apt/apt.conf"

apt-get update -qq >"$work/log" 2>&1 || {
  tail -20 "$work/log" >&2
  fail "Debian's sid suite could not be read from $mirror"
}
candidate="$(apt-cache policy bitcoin-knots | awk '/Candidate:/ { print $2 }')"
case "$candidate" in
  "$version_prefix"*) ;;
  *) printf 'install-bitcoin-node: sid has bitcoin-knots "%s", tests were written with %sx\n' "$candidate" "$version_prefix" >&2 ;;
esac
# shellcheck disable=SC2086
(cd "$work/debs" && apt-get download -qq $packages) >"$work/log" 2>&1 || {
  tail -20 "$work/log" >&2
  fail "sid's bitcoin-knots or one of its libraries could not be downloaded from $mirror"
}
for package in "$work"/debs/*.deb; do
  dpkg-deb -x "$package" "$work/root"
done

# sid's own loader starts the daemon, with sid's libraries and none of the system's.
loader="$(find "$work/root/usr/lib" -name 'ld-linux-*.so.*' -type f -print -quit)"
zmq="$(find "$work/root/usr/lib" -name 'libzmq.so.*' -print -quit)"
daemon="$work/root/usr/bin/bitcoind"
[ -n "$loader" ] && [ -n "$zmq" ] && [ -x "$daemon" ] || fail "sid's packages are not laid out as expected"
libraries="$(dirname "$zmq")"
cat >"$work/bitcoind" <<WRAPPER
#!/bin/sh
here="\$(dirname "\$(readlink -f "\$0")")"
exec "\$here${loader#"$work"}" --library-path "\$here${libraries#"$work"}" "\$here${daemon#"$work"}" "\$@"
WRAPPER
chmod 755 "$work/bitcoind"
"$work/bitcoind" -version >"$work/log" 2>&1 || {
  cat "$work/log" >&2
  fail 'sid'"'"'s bitcoind does not start: a library is missing from the list in this script'
}
head -1 "$work/log" >&2

rm -rf "$work/apt" "$work/debs" "$work/log" "$work/root/usr/share" "$work/root/usr/bin/bitcoin-qt"
chmod 755 "$work"
# Two runs at once: the first to come here is kept.
mv -T "$work" "$cache" 2>/dev/null || [ -x "$cache/bitcoind" ] || fail "$cache could not be written: remove it and run this again"
printf '%s\n' "$cache/bitcoind"
