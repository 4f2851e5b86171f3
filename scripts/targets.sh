#!/bin/sh
# Sees to Rust's standard library for targets, by rustup where it is missing. Usage: targets.sh TARGET ..
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

for target in "$@"; do
    libraries=$(rustc --print target-libdir --target "$target") && ls "$libraries"/libstd-*.rlib >/dev/null 2>&1 && continue
    command -v rustup >/dev/null 2>&1 || die "this Rust toolchain has no $target, and only rustup can get it: install rustup"
    rustup target add "$target"
done
