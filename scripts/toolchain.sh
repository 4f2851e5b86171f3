#!/bin/sh
# Sees to a Rust toolchain that is new enough: the one there is, else a stable one by rustup, else Debian's packages.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

wanted=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)

at_least_wanted() {
    [ -n "$1" ] && [ "$(printf '%s\n' "$wanted" "$1" | sort -V | head -n 1)" = "$wanted" ]
}

new_enough() {
    command -v cargo >/dev/null 2>&1 && command -v rustc >/dev/null 2>&1 &&
        at_least_wanted "$(cargo --version 2>/dev/null | cut -d ' ' -f 2)"
}

# The version that apt would install, if any.
candidate() {
    apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \([0-9].*\)$/\1/p'
}

# A stable toolchain for this directory alone: the user's default stays as it is.
stable_by_rustup() {
    say "Installing a stable Rust toolchain by rustup, for this directory"
    rustup toolchain install stable --profile minimal --no-self-update
    rustup override set stable
}

# Which of Debian's packages give a toolchain that is new enough, or rustup, which can get one.
packages() {
    if [ -n "$(candidate rustup)" ]; then
        echo rustup
    elif at_least_wanted "$(candidate cargo-web)"; then
        echo rustc-web cargo-web
    elif at_least_wanted "$(candidate cargo)"; then
        echo rustc cargo
    fi
}

new_enough && exit 0

if ! command -v rustup >/dev/null 2>&1 && command -v apt-get >/dev/null 2>&1; then
    [ -n "$(candidate cargo)" ] || as_root "The list of packages is empty" apt-get update -q
    chosen=$(packages)
    # Older packages of Rust that are in the way are the user's to remove.
    # shellcheck disable=SC2086 # a word each
    [ -z "$chosen" ] || as_root "Rust $wanted or newer is missing" env DEBIAN_FRONTEND=noninteractive \
        apt-get install -q --yes --no-remove --no-install-recommends $chosen
    hash -r
fi
new_enough || ! command -v rustup >/dev/null 2>&1 || stable_by_rustup
new_enough || die "Rust $wanted or newer is missing: install it, with rustc and cargo on the PATH, and start again"
