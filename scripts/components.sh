#!/bin/sh
# Sees to the toolchain's formatter and linter, which building does without.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

there() { cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; }

there && exit 0
if command -v rustup >/dev/null 2>&1; then
    rustup component add rustfmt clippy
fi
there || die "rustfmt and clippy are missing: install those of the Rust toolchain in use, and start again"
