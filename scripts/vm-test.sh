#!/bin/sh
# Runs end-to-end tests of the command, those marked as ignored, inside the virtual machine, one after the other.
# Usage: vm-test.sh TEST ..
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# The networks that this machine cannot carry, with commas between them.
uncarried() {
    target/bin/tare list networks | awk '$2 == "no" && $1 !~ /:/ { printf "%s%s", comma, $1; comma = "," }'
}

# Where cargo builds a test.
program() {
    said=$(cargo test --locked --package tare --test "$1" --no-run 2>&1) || die "$said"
    printf '%s\n' "$said" | sed -n 's/^ *Executable .*(\(.*\))$/\1/p'
}

command="export PATH=\$PATH:/usr/sbin:/sbin TARE_BINARY=$PWD/target/bin/tare TARE_VM_NETWORKS=$(uncarried)"
for test in "$@"; do
    built=$(program "$test")
    [ -x "$built" ] || die "cargo did not say where it built the test $test"
    command="$command; $built --ignored --nocapture --test-threads 1 || failed=1"
done
exec "$(dirname "$0")/vm.sh" "$command; [ -z \"\${failed:-}\" ]"
