#!/bin/sh
# Makes a base for the trainer's image from Debian's packages, where Docker Hub cannot be reached. Needs root, mmdebstrap and buildah:
#
#     tests/trainer/base_image.sh localhost/base
#
# It is Debian 13 with a virtual environment of its Python 3.13, into which pip installs, and with this machine's certificates, so that
# a proxy that is trusted here is trusted there.
set -eu
name="${1:?the name of the image to make}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
mmdebstrap --variant=minbase --include=ca-certificates,python3-venv \
    --customize-hook='copy-in /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs' \
    --customize-hook='chroot "$1" python3 -m venv /opt/python' \
    trixie "$folder/base.tar"
container="$(buildah from scratch)"
buildah add --quiet "$container" "$folder/base.tar" /
buildah config --env PATH=/opt/python/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$container"
buildah commit --quiet --rm "$container" "$name"
