#!/bin/sh
# Builds the release binary into target/bin/tare: static for musl, so that it runs in any container, else for this host.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

musl=$(uname -m)-unknown-linux-musl

# Whether the toolchain has the standard library for musl.
has_musl() {
    libraries=$(rustc --print target-libdir --target "$musl" 2>/dev/null) &&
        ls "$libraries"/libstd-*.rlib >/dev/null 2>&1
}

if ! has_musl && command -v rustup >/dev/null 2>&1; then
    rustup target add "$musl" || say "rustup cannot get $musl"
fi

directory=${CARGO_TARGET_DIR:-target}
if has_musl; then
    cargo build --release --locked --package tare --target "$musl"
    built=$directory/$musl/release/tare
else
    say "This toolchain has no $musl: building for this host; the binary is not static and runs in no foreign container"
    cargo build --release --locked --package tare
    built=$directory/release/tare
fi
mkdir -p target/bin
install -m 755 "$built" target/bin/tare
