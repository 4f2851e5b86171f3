#!/bin/sh
# Installs Debian packages, as root, and starts none of their services, now or at boot. Usage: apt.sh PACKAGE ..
set -eu

# Maintainer scripts run this program before they start a service (invoke-rc.d(8)); exit 101 is "not allowed". One that says so
# is mounted over the machine's own, in a mount namespace that ends with this script, however it ends.
policy=/usr/sbin/policy-rc.d

if [ "${TARE_APT_INSIDE:-}" != 1 ]; then
    # A mount needs a file below it. One that is empty and not executable changes nothing, should it ever be left.
    [ -e "$policy" ] || : >"$policy"
    trap '[ -s "$policy" ] || [ -x "$policy" ] || rm -f "$policy"' EXIT
    if unshare --mount true 2>/dev/null; then
        TARE_APT_INSIDE=1 unshare --mount --propagation private "$0" "$@"
    else
        # In a container without that privilege there is no systemd either; init scripts are not started in runlevel 1.
        TARE_APT_INSIDE=1 RUNLEVEL=1 "$0" "$@"
    fi
    exit
fi

denial=$(mktemp)
trap 'rm -f "$denial"' EXIT
printf '#!/bin/sh\nexit 101\n' >"$denial"
chmod 755 "$denial"
[ -n "${RUNLEVEL:-}" ] || mount --bind "$denial" "$policy"

apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q --yes --no-remove --no-install-recommends \
    -o DPkg::Lock::Timeout=600 "$@"

[ -d /run/systemd/system ] || exit 0
for package in "$@"; do
    dpkg -L "$package" | sed -n 's;^.*/systemd/system/\([^/@]*\.\(service\|socket\|timer\)\)$;\1;p' |
        while read -r unit; do systemctl --quiet disable "$unit" || true; done
done
