#!/bin/sh
# Makes a stand-in for the image in $1 (node:24-bookworm-slim) where no registry of images can be reached: Debian's
# bookworm by debootstrap, with Node.js and npm from the npm registry. Needs root, debootstrap and podman.
set -eu
image="$1"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
debootstrap --variant=minbase bookworm "$folder/root" >"$folder/debootstrap.log" 2>&1 || {
  tail -20 "$folder/debootstrap.log"
  exit 1
}
npm install --prefix "$folder/npm" --no-audit --no-fund --loglevel=error node@24 npm@11
modules="$folder/npm/node_modules"
cp "$modules/node/bin/node" "$folder/root/usr/local/bin/node"
mkdir -p "$folder/root/usr/local/lib/node_modules"
cp -r "$modules/npm" "$folder/root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$folder/root/usr/local/bin/npm"
chroot "$folder/root" groupadd --gid 1000 node
chroot "$folder/root" useradd --uid 1000 --gid node --create-home node
tar -C "$folder/root" -c . | podman import --quiet - "$image"
