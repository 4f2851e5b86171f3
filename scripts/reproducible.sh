#!/bin/sh
# Builds the binary that is shipped in two directories, from this commit, and compares the bytes.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# Paths of different lengths: one that the binary told would move everything after it.
root=$PWD/target/reproducible
rm -rf "$root"
mkdir -p "$root"
for directory in one another/directory; do
    git clone --quiet . "$root/$directory"
    (cd "$root/$directory" && CARGO_TARGET_DIR="$PWD/target" scripts/build.sh release && cp target/bin/tare "$root/${directory%%/*}.tare")
    rm -rf "$root/$directory"
done
if ! cmp "$root/one.tare" "$root/another.tare"; then
    die "the two builds differ: see $root"
fi
if grep -qaF "$root" "$root/one.tare"; then
    die "the binary tells the directory in which it was built: $root"
fi
say "Two builds in two directories gave the same $(wc -c <"$root/one.tare") bytes: $(sha256sum <"$root/one.tare" | cut -c 1-64)"
rm -rf "$root"
