#!/bin/sh
# Follows every link of every Markdown file to a file or a heading of this repository; addresses elsewhere are not asked
# for, so that a check needs no network.
set -eu
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"

# The links of a Markdown file, one a line, without what stands in code.
links() {
    awk '
        /^ *```/ { code = !code; next }
        code { next }
        {
            gsub(/`[^`]*`/, "")
            while (match($0, /\]\([^)]+\)/)) {
                print substr($0, RSTART + 2, RLENGTH - 3)
                $0 = substr($0, RSTART + RLENGTH)
            }
        }' "$1"
}

# The anchors of a Markdown file, as GitHub and mdBook make them of headings.
anchors() {
    awk '
        /^ *```/ { code = !code; next }
        !code && /^#+ / {
            sub(/^#+ /, "")
            text = tolower($0)
            gsub(/[^a-z0-9 _-]/, "", text)
            gsub(/ /, "-", text)
            print text
        }' "$1"
}

broken=0
for file in $(git ls-files --cached --others --exclude-standard '*.md'); do
    for link in $(links "$file"); do
        case $link in
        http://* | https://* | mailto:*) continue ;;
        esac
        path=${link%%#*}
        target=${path:+$(dirname "$file")/$path}
        target=${target:-$file}
        anchor=
        case $link in
        *#*) anchor=${link#*#} ;;
        esac
        if [ ! -e "$target" ]; then
            say "$file: $link: there is no $target"
            broken=1
        elif [ -n "$anchor" ] && ! anchors "$target" | grep -qxF -- "$anchor"; then
            say "$file: $link: $target has no heading for #$anchor"
            broken=1
        fi
    done
done
exit "$broken"
