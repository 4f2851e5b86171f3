#!/bin/sh
# Runs the built tare as the calling user. Usage: run.sh ARGUMENT ..
set -eu
here=$(dirname "$0")
"$here/modules.sh"
tare=$("$here/apparmor.sh")
exec "$tare" "$@"
