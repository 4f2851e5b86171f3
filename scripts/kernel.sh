#!/bin/sh
# Unpacks a kernel of Debian's with its modules below target/vm, installs nothing, and prints where its image is. It is the
# newest of this distribution, or of its backports where that lacks what the newest networks need.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

here=$(cd "$(dirname "$0")/.." && pwd)
vm=$here/target/vm
mkdir -p "$vm"

# netkit came with Linux 6.7.
LEAST=6.7

# The package of the newest kernel, as apt with these options knows it.
newest() { apt-cache "$@" depends linux-image-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -1; }

# Whether a kernel's package is of a version that has all.
has_all() { [ "$(printf '%s\n' "$LEAST" "${1#linux-image-}" | sort -V | head -1)" = "$LEAST" ]; }

# Options by which apt knows this distribution's backports, from where its other packages come, and nothing else.
backports() {
    # shellcheck disable=SC1091
    codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
    # shellcheck disable=SC2016
    site=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' 'Origin: Debian' |
        awk -v codename="$codename" '$2 == codename && $3 == "main" { print $1; exit }')
    [ -n "$site" ] || return 1
    apt=$vm/apt
    mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/archives/partial"
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s-backports main\n' "$site" "$codename" \
        >"$apt/parts/backports.list"
    printf '%s' "-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=$apt/parts -o Dir::State::Lists=$apt/lists -o Dir::Cache=$apt"
}

# Downloads a kernel's package by apt with these options, and unpacks it.
unpack() {
    name=$1
    shift
    rm -rf "${vm:?}/$name"
    mkdir -p "$vm/$name"
    (cd "$vm" && apt-get "$@" download -q "$name" >&2 && dpkg -x "$name"_*.deb "$name" && rm "$name"_*.deb) || return 1
    depmod -b "$vm/$name" "${name#linux-image-}"
    : >"$vm/$name/done"
}

image() { printf '%s\n' "$vm/$1/boot/vmlinuz-${1#linux-image-}"; }

for done in "$vm"/linux-image-*/done; do
    name=$(basename "$(dirname "$done")")
    if [ -e "$done" ] && has_all "$name"; then
        image "$name"
        exit 0
    fi
done

name=$(newest)
[ -n "$name" ] || die "apt knows no package linux-image-amd64: this needs Debian's package lists"
if ! has_all "$name" && options=$(backports); then
    # shellcheck disable=SC2086
    if apt-get $options update -q >&2 && newer=$(newest $options) && [ -n "$newer" ] && unpack "$newer" $options; then
        image "$newer"
        exit 0
    fi
    say "Backports cannot be had: $name lacks what the newest networks need"
fi
[ -e "$vm/$name/done" ] || unpack "$name"
image "$name"
