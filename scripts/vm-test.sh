#!/bin/sh
# Runs an end-to-end test of the command, those marked as ignored, inside the virtual machine.
# Usage: vm-test.sh TEST
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

said=$(cargo test --locked --package tare --test "$1" --no-run 2>&1) || die "$said"
program=$(printf '%s\n' "$said" | sed -n 's/^ *Executable .*(\(.*\))$/\1/p')
[ -x "$program" ] || die "cargo did not say where it built the test $1"
exec "$(dirname "$0")/vm.sh" "PATH=\$PATH:/usr/sbin:/sbin TARE_BINARY=$PWD/target/bin/tare $program --ignored --nocapture --test-threads 1"
