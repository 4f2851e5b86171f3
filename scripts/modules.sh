#!/bin/sh
# Kernel modules that networks need, that can be loaded and are not: named, and loaded where the user says yes.
# tare loads none by itself; without them it skips the networks in question and says so.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

missing=$(target/bin/tare doctor --modules | tr '\n' ' ')
[ -n "$missing" ] || exit 0

say "Kernel modules that can be loaded and are not: $missing"
command="modprobe --all $missing"
if is_root; then
    with=$command
else
    with="sudo $command"
fi
if confirm "May this be run: $with"; then
    # Splitting the words is meant.
    # shellcheck disable=SC2086
    $with
else
    say "Not loaded; networks that need them are skipped. By hand: $with"
fi
