#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Make the Debian base image where no image registry can be reached: sudo docker/base-image.sh [debian:12-slim]
# It uses the mirrors of this machine's apt; on a machine that is not Debian 12, set `MIRROR=http://...`.
set -eu
image=${1:-debian:12-slim}
command -v debootstrap >/dev/null || { echo "error: no debootstrap"; echo "  try: apt-get install debootstrap"; exit 2; } >&2

targets='deb $(REPO_URI) $(RELEASE) $(COMPONENT)'
if [ -n "${MIRROR:-}" ]; then
    sources="deb $MIRROR bookworm main
deb $MIRROR bookworm-updates main
deb ${MIRROR%/}-security bookworm-security main"
else
    sources=$(apt-get indextargets --format "$targets" 'Created-By: Packages' 'ORIGIN: Debian' | sort -u)
    MIRROR=$(echo "$sources" | sed -n 's/^deb \([^ ]*\) bookworm main$/\1/p' | head -n 1)
    [ -n "$MIRROR" ] || { echo "error: apt has no mirror of Debian 12 here"; echo "  try: MIRROR=... $0"; exit 2; } >&2
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
debootstrap --variant=minbase bookworm "$folder/root" "$MIRROR"
# Without documentation, as the published image, now and for packages that are installed later.
cat > "$folder/root/etc/dpkg/dpkg.cfg.d/slim" <<SLIM
path-exclude /usr/share/doc/*
path-include /usr/share/doc/*/copyright
path-exclude /usr/share/info/*
path-exclude /usr/share/locale/*
path-exclude /usr/share/man/*
SLIM
find "$folder/root/usr/share/doc" -type f ! -name copyright -delete
rm -rf "$folder/root/usr/share/info" "$folder/root/usr/share/locale" "$folder/root/usr/share/man"
mkdir "$folder/root/usr/share/man" "$folder/root/usr/share/man/man1"
echo "$sources" > "$folder/root/etc/apt/sources.list"
rm -rf "$folder/root/var/cache/apt/archives" "$folder/root/var/lib/apt/lists"
mkdir -p "$folder/root/var/cache/apt/archives/partial" "$folder/root/var/lib/apt/lists/partial"
tar -C "$folder/root" --one-file-system --exclude='./dev/*' --exclude='./proc/*' --exclude='./sys/*' -c . |
    docker import --change 'CMD ["bash"]' - "$image"
