#!/bin/sh
# Writes what is made from the program itself: the JSON schemas, and the tables of networks and workloads in README.md.
set -eu

tare=target/bin/tare

# Replaces what stands between two markers of README.md. Usage: section NAME FILE
section() {
    awk -v name="$1" -v file="$2" '
        $0 == "<!-- " name ": end -->" { within = 0 }
        !within { print }
        $0 == "<!-- " name ": begin -->" { while ((getline line < file) > 0) print line; within = 1 }
    ' README.md >README.md.new
    mv README.md.new README.md
}

rm -rf docs/schema
"$tare" schema docs/schema
table=$(mktemp)
trap 'rm -f "$table"' EXIT
for what in networks workloads; do
    "$tare" list "$what" --markdown >"$table"
    section "$what" "$table"
done
