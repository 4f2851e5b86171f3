#!/bin/sh
# Checks what must hold before a lane of tests compiles anything: free space and the crates of Cargo.lock. What is missing, what is
# not tested for it and the remedy are one line. `cargo xtask preflight` checks what tests need beyond that.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# Least free space on the disks of the build and of temporary files, in MiB.
needed=3072

cannot_run() { die "tests cannot run: $1, so nothing is tested; $2"; }

# The directory, or its nearest ancestor that is there.
existing() {
    directory=$1
    while [ ! -d "$directory" ]; do directory=$(dirname "$directory"); done
    printf '%s\n' "$directory"
}

# Free space of an ordinary user on a directory's disk, in MiB.
free_mib() { df -P -k "$1" | sed -n '2s/^.* \([0-9][0-9]*\)  *[0-9]*% .*$/\1/p' | { read -r kib && echo $((kib / 1024)); }; }

for directory in "${CARGO_TARGET_DIR:-target}" "${TMPDIR:-/tmp}"; do
    free=$(free_mib "$(existing "$directory")")
    [ "$free" -ge "$needed" ] || cannot_run "only $free MiB are free on the disk of $directory, and $needed MiB are needed" \
        "free some, or set CARGO_TARGET_DIR or TMPDIR to another disk"
done

cargo fetch --quiet --locked --offline 2>/dev/null && exit 0
said=$(cargo fetch --quiet --locked 2>&1) || cannot_run \
    "crates of Cargo.lock are not on this disk and cannot be fetched ($(printf '%s\n' "$said" | tail -n 1 | sed 's/^ *//'))" \
    "run where there is a network: cargo fetch --locked"
