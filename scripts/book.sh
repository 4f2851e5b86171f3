#!/bin/sh
# Makes the user's guide a book by mdBook, which is built first where it is missing.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

version=0.5.4

if ! command -v mdbook >/dev/null 2>&1; then
    say "Building mdBook $version, once; this takes a minute"
    # Unoptimised: the guide is small.
    cargo install mdbook --debug --locked --version "$version" --no-default-features
fi
exec mdbook build docs/guide --dest-dir "$PWD/target/book"
