#!/bin/sh
# Installs components of the toolchain that building does without. Usage: components.sh [COMPONENT ..], formatter and linter
# where none is named.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

there() { cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1; }

if [ $# -gt 0 ]; then
    command -v rustup >/dev/null 2>&1 || die "only rustup has these components: $*"
    exec rustup component add "$@"
fi
there && exit 0
if command -v rustup >/dev/null 2>&1; then
    rustup component add rustfmt clippy
fi
there || die "rustfmt and clippy are missing: install those of the Rust toolchain in use, and start again"
