#!/bin/sh
# Builds programs of networks' real systems, and of a workload's, that no distribution has, or not in these versions, into
# target/tools/bin: by Go's own tools, from Go's module proxy, each at one version. What is there in that version already is left alone.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

bin=$PWD/target/tools/bin
oldest=1.23.1

new_enough() {
    found=$(go env GOVERSION 2>/dev/null | sed 's/^go//')
    [ -n "$found" ] && [ "$(printf '%s\n' "$oldest" "$found" | sort -V | head -n 1)" = "$oldest" ]
}

# Whether a program is there in this version: built NAME VERSION.
built() { [ -x "$bin/$1" ] && [ "$(cat "$bin/.$1.version" 2>/dev/null)" = "$2" ]; }

# keep NAME VERSION COMMAND..: runs a command that makes the program in the directory $made, and keeps it where that worked.
keep() {
    name=$1 version=$2
    shift 2
    if "$@"; then
        install -m 755 "$made"/* "$bin/$name"
        printf '%s\n' "$version" >"$bin/.$name.version"
    else
        say "$name could not be built: what needs it is skipped"
    fi
    rm -rf "$made"
}

# build NAME CGO MODULE VERSION: CGO is 1 where a part of it is in C.
build() {
    ! built "$1" "$4" || return 0
    say "Building $1 ($3@$4): some minutes"
    made=$(mktemp -d)
    keep "$1" "$4" env GOBIN="$made" CGO_ENABLED="$2" go install -trimpath "$3@$4"
}

# build_pinned NAME PACKAGE VERSION: the same for a program, in part in C, whose own versions of what it is made of are not
# to be had any more; the module scripts/NAME has others.
build_pinned() {
    ! built "$1" "$3" || return 0
    say "Building $1 ($2, $3): some minutes"
    made=$(mktemp -d)
    keep "$1" "$3" env CGO_ENABLED=1 go build -C "$(dirname "$0")/$1" -trimpath -ldflags "-X main.version=$3" -o "$made/$1" "$2"
}

mkdir -p "$bin"
if ! new_enough; then
    say "There is no Go $oldest or newer: flanneld, wireguard-go, fortio and weaver are not built, and what needs them is skipped"
    exit 0
fi
# Its UDP backend is in C.
build flanneld 1 github.com/flannel-io/flannel v0.25.7
build wireguard-go 0 golang.zx2c4.com/wireguard v0.0.0-20260522210424-ecfc5a8d5446
build fortio 0 fortio.org/fortio v1.66.5
build_pinned weaver github.com/weaveworks/weave/prog/weaver 2.6.5
