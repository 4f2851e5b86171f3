# What every script here shares: speaking, giving up, and asking before root's privileges are used. To be sourced.
# shellcheck shell=sh

say() { printf '%s\n' "$*" >&2; }

die() {
    say "error: $*"
    exit 1
}

# A yes on the terminal; without a terminal, no.
confirm() {
    [ -t 0 ] || return 1
    printf '%s [y/N] ' "$1" >&2
    read -r answer || return 1
    case $answer in
    [yY] | [yY][eE][sS]) return 0 ;;
    *) return 1 ;;
    esac
}

is_root() { [ "$(id -u)" -eq 0 ]; }

# as_root WHY COMMAND [ARGUMENT ..]: runs a command with root's privileges. Root needs no sudo and is not asked; anybody else is
# asked on the terminal first, and without one the exact command is printed and nothing is done.
as_root() {
    why=$1
    shift
    if is_root; then
        "$@"
        return
    fi
    command -v sudo >/dev/null 2>&1 || die "$why. There is no sudo; as root, run: $*"
    confirm "$why. May this be run: sudo $*" || die "$why. Run this, then start again: sudo $*"
    sudo "$@"
}
