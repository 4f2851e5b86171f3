#!/bin/sh
# Builds the packages of this machine's target in two directories, from this commit, and compares the bytes.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# Paths of different lengths: one that the binary told would move everything after it.
root=$PWD/target/reproducible
rm -rf "$root"
mkdir -p "$root"

# build DIRECTORY NAME: clones into the directory, and keeps its packages under the name.
build() {
    git clone --quiet . "$root/$1"
    (cd "$root/$1" && CARGO_TARGET_DIR="$PWD/target" cargo xtask dist host)
    mv "$root/$1/target/dist" "$root/$2"
    rm -rf "${root:?}/$1"
}
build one one.dist
# Another user's settings, too.
(umask 077 && export TZ=Asia/Kathmandu LC_ALL=C && build another/directory another.dist)

diff -r "$root/one.dist" "$root/another.dist" || die "the two builds differ: see $root"
if grep -raqF "$root" "$root/one.dist"; then
    die "a file tells the directory in which it was built: $root"
fi
say "Two builds in two directories gave the same bytes:"
cat "$root/one.dist/SHA256SUMS" >&2
rm -rf "$root"
