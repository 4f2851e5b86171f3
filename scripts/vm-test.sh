#!/bin/sh
# Runs end-to-end tests of the command, those marked as ignored, inside the virtual machine, one after the other.
# One that is written lab:FILTER is a part of the lab's own tests; all modules that networks need are loaded before it.
# Usage: vm-test.sh TEST ..
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# The networks that this machine cannot carry, with commas between them.
uncarried() {
    target/bin/tare list networks | awk '$2 == "no" && $1 !~ /:/ { printf "%s%s", comma, $1; comma = "," }'
}

# Where cargo builds a test of a package.
program() {
    said=$(cargo test --locked --package "$1" --test "$2" --no-run 2>&1) || die "$said"
    printf '%s\n' "$said" | sed -n 's/^ *Executable .*(\(.*\))$/\1/p'
}

networks=$(uncarried)
command="export PATH=\$PATH:$PWD/target/tools/bin:/usr/sbin:/sbin TARE_BINARY=$PWD/target/bin/tare TARE_VM_NETWORKS=$networks"
# Docker Engine's programs are large, and give one another so many seconds: a Swarm 20 to attach a container, which takes longer here.
case " $* " in
*docker* | *swarm*)
    [ ! -d target/docker ] || export TARE_VM_DISK="$PWD/target/docker"
    export TARE_VM_CLOCK=instructions
    ;;
esac
for test in "$@"; do
    if [ "$test" = networks ] && [ -z "$networks" ]; then
        say "This machine can carry every network: all of them were tested on it"
        continue
    fi
    case $test in
    lab:*)
        built=$(program tare-lab lab)
        arguments=${test#lab:}
        ;;
    *)
        built=$(program tare "$test")
        arguments="--ignored --nocapture --test-threads 1"
        ;;
    esac
    [ -x "$built" ] || die "cargo did not say where it built the test $test"
    [ "$test" = "${test#lab:}" ] || command="$command; target/bin/tare doctor --modules | xargs -r modprobe -a || true"
    command="$command; $built $arguments || failed=1"
done
exec "$(dirname "$0")/vm.sh" "$command; [ -z \"\${failed:-}\" ]"
