#!/bin/sh
# Ends with the verdict of the pipeline: 0 if all is well, else the exit code of tare that says what is not.
# TARE_CODE: exit code of `tare run`. TARE_COMPARED: that of `tare compare`, or nothing.
# TARE_FAIL_UNDECIDED, TARE_FAIL_MISSING: `true` if a comparison that cannot be decided, and a network that did not run, are failures.
set -eu

case ${TARE_COMPARED:-0} in
0) ;;
4)
    echo "undecided: more blocks would tell" >&2
    [ "${TARE_FAIL_UNDECIDED:-false}" = true ] && exit 4
    ;;
*)
    echo "a regression: see the table" >&2
    exit "$TARE_COMPARED"
    ;;
esac
case $TARE_CODE in
0) ;;
1)
    echo "a network or workload that was named did not run: see the notes of the table" >&2
    [ "${TARE_FAIL_MISSING:-true}" = true ] && exit 1
    ;;
*) exit "$TARE_CODE" ;;
esac
exit 0
