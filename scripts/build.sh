#!/bin/sh
# Builds the binary into target/bin/tare: static for musl, so that it runs in any container, else for this host.
# Usage: build.sh PROFILE
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

profile=$1
musl=$(uname -m)-unknown-linux-musl

# Whether the toolchain has the standard library for musl.
has_musl() {
    libraries=$(rustc --print target-libdir --target "$musl" 2>/dev/null) &&
        ls "$libraries"/libstd-*.rlib >/dev/null 2>&1
}

if ! has_musl && command -v rustup >/dev/null 2>&1; then
    rustup target add "$musl" || say "rustup cannot get $musl"
fi

# What is shipped does not tell, and does not depend on, the directory in which it was built.
if [ "$profile" = release ]; then
    RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=$PWD=/tare --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
    export RUSTFLAGS
fi

# What is shipped has the features that it needs. For tests all packages are selected, so that their dependencies are compiled once.
selection=--workspace
[ "$profile" != release ] || selection='--package tare --no-default-features --features docker,kubernetes'

directory=${CARGO_TARGET_DIR:-target}
if has_musl; then
    # shellcheck disable=SC2086 # a word each
    cargo build --profile "$profile" --locked $selection --bin tare --target "$musl"
    built=$directory/$musl/$profile/tare
else
    say "This toolchain has no $musl: building for this host; the binary is not static and runs in no foreign container"
    host=$(rustc -vV | sed -n 's/^host: //p')
    # shellcheck disable=SC2086 # a word each
    cargo build --profile "$profile" --locked $selection --bin tare --target "$host"
    built=$directory/$host/$profile/tare
fi
mkdir -p target/bin
# Renamed into place: the one that is there may be running.
install -m 755 "$built" target/bin/tare.new
mv target/bin/tare.new target/bin/tare
