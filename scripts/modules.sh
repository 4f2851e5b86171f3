#!/bin/sh
# Kernel modules that networks need, that can be loaded and are not: named, and loaded where the user says yes.
# tare loads none by itself; without them it skips the networks in question and says so.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

PATH=$PATH:/usr/sbin:/sbin
command -v modprobe >/dev/null 2>&1 || exit 0

missing=
for module in veth bridge br_netfilter nf_tables nft_counter nft_ct nft_chain_nat nft_nat nft_masq nft_fib_ipv4 nft_fib_ipv6; do
    # A dry run succeeds for the first time only where a module can be loaded and is neither loaded nor built in.
    modprobe --dry-run --first-time --quiet "$module" 2>/dev/null || continue
    missing="$missing $module"
done
[ -n "$missing" ] || exit 0

say "Kernel modules that can be loaded and are not:$missing"
command="modprobe --all$missing"
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
