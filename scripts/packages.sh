#!/bin/sh
# Installs the Debian packages of programs that are missing; no service is started. A header stands for a library.
# Usage: packages.sh {PROGRAM|/PATH/OF/HEADER.h}:PACKAGE[,PACKAGE..] ..
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# System programs are often not on an ordinary user's PATH.
PATH=$PATH:/usr/sbin:/sbin

missing=
for need in "$@"; do
    case "${need%%:*}" in
    *.h) [ ! -e "${need%%:*}" ] || continue ;;
    *) ! command -v "${need%%:*}" >/dev/null 2>&1 || continue ;;
    esac
    missing="$missing $(printf '%s' "${need#*:}" | tr , ' ')"
done
[ -n "$missing" ] || exit 0

command -v apt-get >/dev/null 2>&1 ||
    die "these packages, or what your system calls them, are missing:$missing"
# apt.sh is apt-get install, without the services of what it installs.
# shellcheck disable=SC2086 # a word each
as_root "Packages are missing:$missing" "$(cd "$(dirname "$0")" && pwd)/apt.sh" $missing ||
    die "these packages cannot be installed:$missing; what needs them cannot run until they are"
