#!/bin/sh
# Compares the run in TARE_OUT with a baseline. The exit code of tare is the output `compared`: 0, 3 for a regression, 4 where it cannot
# be decided; nothing without a baseline.
# TARE_BASELINE: directory of a kept run, or a second checkout, in which the same study is run first.
# TARE_FAIL_ON, TARE_OF: arguments of `tare compare`. TARE_STUDY, TARE_ARGUMENTS, TARE_OUT: as of measure.sh.
set -eu
# shellcheck source=packaging/ci/lib.sh
. "$(dirname "$0")/lib.sh"

if [ -z "${TARE_BASELINE:-}" ]; then
    output compared ""
    exit 0
fi
[ -d "$TARE_BASELINE" ] || {
    echo "error: the baseline $TARE_BASELINE is no directory: keep one of a run, or check a second version out there" >&2
    exit 1
}
base=$TARE_BASELINE
if ! [ -e "$base/journal.jsonl" ]; then
    base=$(cd "$TARE_OUT" && pwd)/base
    (cd "$TARE_BASELINE" && run_study "$base") || echo "the run of the baseline ended with $?" >&2
fi
compared=0
tare compare --base "$base" --new "$TARE_OUT/run" --of "$TARE_OF" --fail-on "$TARE_FAIL_ON" \
    --junit "$TARE_OUT/compare.xml" --markdown >"$TARE_OUT/compare.md" || compared=$?
case $compared in
0 | 3 | 4) output compared "$compared" ;;
*) exit "$compared" ;;
esac
