#!/bin/sh
# Installs the built tare with its manual pages and completions below a prefix. Usage: install.sh PREFIX
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

prefix=$1
stage=target/stage
tare=target/bin/tare

rm -rf "$stage"
mkdir -p "$stage/bin" "$stage/share/man/man1" "$stage/share/bash-completion/completions" \
    "$stage/share/zsh/site-functions" "$stage/share/fish/vendor_completions.d"
install -m 755 "$tare" "$stage/bin/tare"
"$tare" manual "$stage/share/man/man1"
"$tare" completions bash >"$stage/share/bash-completion/completions/tare"
"$tare" completions zsh >"$stage/share/zsh/site-functions/_tare"
"$tare" completions fish >"$stage/share/fish/vendor_completions.d/tare.fish"

if mkdir -p "$prefix" 2>/dev/null && [ -w "$prefix" ]; then
    cp -R "$stage/." "$prefix/"
else
    as_root "Only root may write $prefix" "mkdir -p \"$prefix\" && cp -R $stage/. \"$prefix/\""
fi
say "Installed below $prefix. Where AppArmor restricts user namespaces, see packaging/README.md"
