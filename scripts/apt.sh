#!/bin/sh
# Installs Debian packages, as root, and starts none of their services, now or at boot. Usage: apt.sh PACKAGE ..
set -eu

policy=/usr/sbin/policy-rc.d

# What maintainer scripts ask before they start a service (invoke-rc.d(8)); 101 is "not allowed".
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -q --yes --no-remove --no-install-recommends \
    -o DPkg::Lock::Timeout=600 "$@"

[ -d /run/systemd/system ] || exit 0
for package in "$@"; do
    dpkg -L "$package" | sed -n 's|^.*/systemd/system/\([^/@]*\.service\)$|\1|p' |
        while read -r unit; do systemctl --quiet disable "$unit" || true; done
done
