#!/bin/sh
# Runs a study into the directory TARE_OUT, with the page, and the tables as Markdown. The exit code of tare is the output `code`; a
# later step judges it, so that a run that failed in part is shown and kept, too.
# TARE_STUDY, TARE_ARGUMENTS, TARE_OUT: the study, more arguments of `tare run`, the directory.
set -eu
# shellcheck source=packaging/ci/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p "$TARE_OUT"
code=0
run_study "$TARE_OUT/run" || code=$?
output code "$code"
output directory "$TARE_OUT/run"
if [ -e "$TARE_OUT/run/journal.jsonl" ]; then
    mv "$TARE_OUT/run.html" "$TARE_OUT/page.html"
    tare report "$TARE_OUT/run" --markdown >"$TARE_OUT/table.md"
    tare report "$TARE_OUT/run" --openmetrics "$TARE_OUT/tare.prom"
else
    # Nothing was measured: the arguments are wrong, and no later step has anything to do.
    exit "$code"
fi
