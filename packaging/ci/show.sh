#!/bin/sh
# Shows the tables of TARE_OUT on the page of the pipeline's run, and in a comment on the pull request TARE_COMMENT, if it is given: the
# last comment of this kind is replaced.
set -eu

text=$TARE_OUT/summary.md
if [ -s "$TARE_OUT/compare.md" ]; then
    cat "$TARE_OUT/compare.md"
    printf '\n<details><summary>The run</summary>\n\n'
    cat "$TARE_OUT/table.md"
    printf '\n</details>\n'
else
    cat "$TARE_OUT/table.md"
fi >"$text"
cat "$text" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
if [ -n "${TARE_COMMENT:-}" ]; then
    gh pr comment "$TARE_COMMENT" --edit-last --create-if-none --body-file "$text"
fi
