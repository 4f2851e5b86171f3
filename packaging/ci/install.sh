#!/bin/sh
# Installs tare where there is none: the package tare-bench of PyPI, in an environment of its own.
# TARE_VERSION: version to install; the newest where it is empty.
set -eu

if command -v tare >/dev/null 2>&1; then
    echo "tare is there: $(tare --version)"
    exit 0
fi
pipx install "tare-bench${TARE_VERSION:+==$TARE_VERSION}"
