#!/bin/sh
# Feeds arbitrary bytes to everything that reads what others say: fuzz.sh [SECONDS] [TARGET ..], all targets unless some are named.
#
# cargo-fuzz wants a nightly compiler for its sanitizers; the stable one has them, too, and lets itself be told so. What is
# found lies in fuzz/artifacts, what was learnt in fuzz/corpus.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

version=0.13.2
seconds=${1:-30}
[ $# -eq 0 ] || shift

if ! cargo fuzz --version >/dev/null 2>&1; then
    say "Building cargo-fuzz $version, once; this takes some minutes"
    cargo install cargo-fuzz --debug --locked --version "$version"
fi
export RUSTC_BOOTSTRAP=1
# Its runtime is built for the C library that is here.
triple=$(rustc -vV | sed -n 's/^host: //p')

# The directory of real messages that a target begins with.
seeds() {
    case $1 in
    messages | conversation | answers) echo fuzz/seeds/control ;;
    orders) echo fuzz/seeds/agent ;;
    netlink | rules) echo fuzz/seeds/netlink ;;
    *) echo "fuzz/seeds/$1" ;;
    esac
}

# What tools have said is among the tests' fixtures: the tool's name goes before it.
tools() {
    mkdir -p fuzz/corpus/tools
    for said in crates/traffic/fixtures/*/*; do
        tool=$(basename "$(dirname "$said")")
        { printf '%s\n' "$tool" && cat "$said"; } >"fuzz/corpus/tools/$tool-$(basename "$said")"
    done
}

# shellcheck disable=SC2046 # a word each
[ $# -gt 0 ] || set -- $(sed -n 's/^name = "\([a-z]*\)"$/\1/p' fuzz/Cargo.toml)
tools
for target in "$@"; do
    say "$target, $seconds s"
    mkdir -p "fuzz/corpus/$target"
    beginning=$(seeds "$target")
    [ -d "$beginning" ] || beginning=
    # shellcheck disable=SC2086 # one directory, or none
    cargo fuzz run --target "$triple" "$target" "fuzz/corpus/$target" $beginning -- \
        -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=20 -print_final_stats=1
done
