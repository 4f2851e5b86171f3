#!/bin/sh
# Where AppArmor forbids user namespaces to programs without a profile (Ubuntu 23.10 and later): installs tare and a
# profile for it alone, where the user says yes. Prints the binary to run.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

built=target/bin/tare
installed=/usr/local/bin/tare
profile=/etc/apparmor.d/tare
restriction=/proc/sys/kernel/apparmor_restrict_unprivileged_userns

if is_root || [ "$(cat "$restriction" 2>/dev/null || echo 0)" != 1 ]; then
    echo "$built"
    exit 0
fi
if ! cmp -s "$built" "$installed" || ! cmp -s packaging/apparmor/tare "$profile"; then
    as_root "AppArmor lets only programs with a profile make user namespaces: tare needs one, and to be where only root can write" \
        sh -c 'install -m 755 "$1" "$2" && install -m 644 packaging/apparmor/tare "$3" && apparmor_parser --replace "$3"' \
        sh "$built" "$installed" "$profile"
fi
echo "$installed"
