#!/bin/sh
# Runs cargo-deny, which is built first where it is missing. Usage: deny.sh ARGUMENT ..
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

version=0.20.2

if ! cargo deny --version >/dev/null 2>&1; then
    say "Building cargo-deny $version, once; this takes some minutes"
    # Unoptimised: it is built for a few runs.
    cargo install cargo-deny --debug --locked --version "$version"
fi
exec cargo deny "$@"
