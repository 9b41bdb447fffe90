#!/bin/sh
# Makes a stand-in for the image in $1 (node:24-bookworm-slim) for the architecture in $2 (amd64, arm64) where no
# registry of images can be reached: Debian's bookworm by debootstrap, with Node.js and npm from the npm registry. Needs
# root, debootstrap and podman; for another machine's architecture also qemu-user-static, registered with the kernel.
set -eu
image="$1"
architecture="$2"
case "$architecture" in
  amd64) cpu=x64 ;;
  *) cpu="$architecture" ;;
esac
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
debootstrap --arch="$architecture" --variant=minbase bookworm "$folder/root" >"$folder/debootstrap.log" 2>&1 || {
  tail -20 "$folder/debootstrap.log"
  exit 1
}
npm install --prefix "$folder/npm" --no-audit --no-fund --loglevel=error --force --cpu="$cpu" --os=linux \
  "node-linux-$cpu@24" npm@11
modules="$folder/npm/node_modules"
cp "$modules/node-linux-$cpu/bin/node" "$folder/root/usr/local/bin/node"
mkdir -p "$folder/root/usr/local/lib/node_modules"
cp -r "$modules/npm" "$folder/root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$folder/root/usr/local/bin/npm"
chroot "$folder/root" groupadd --gid 1000 node
chroot "$folder/root" useradd --uid 1000 --gid node --create-home node
tar -C "$folder/root" -c . | podman import --quiet --os=linux --arch="$architecture" - "$image"
