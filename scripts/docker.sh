#!/bin/sh
# Unpacks Debian's Docker Engine, and the key-value store that engines of 2015 shared, into target/docker, for tests that
# start engines of their own: nothing of it is installed, and no service is started. An engine that is on the PATH already is used as it is.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")/.." && pwd)
docker=$here/target/docker

PATH=$PATH:/usr/sbin:/sbin
[ ! -e "$docker/done" ] || exit 0
! command -v dockerd >/dev/null 2>&1 || exit 0

command -v apt-get >/dev/null 2>&1 || die "the tests of Docker's networks need dockerd on the PATH"
rm -rf "$docker"
mkdir -p "$docker/packages"
say "Unpacking Docker Engine into target/docker"
(
    cd "$docker/packages"
    apt-get download -q docker.io containerd runc tini libdevmapper1.02.1 etcd-server >&2
    for package in *.deb; do
        dpkg -x "$package" "$docker"
    done
)
rm -rf "$docker/packages"
: >"$docker/done"
