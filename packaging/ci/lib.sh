# What the steps of a pipeline share. To be sourced.
# shellcheck shell=sh

# output NAME VALUE: an output of the step, for GitHub; elsewhere a line of the log.
output() { printf '%s=%s\n' "$1" "$2" >>"${GITHUB_OUTPUT:-/dev/stdout}"; }

# run_study DIRECTORY: runs the study, and returns tare's exit code. The arguments are words, as on a command line.
run_study() {
    # shellcheck disable=SC2086
    tare run "$TARE_STUDY" ${TARE_ARGUMENTS:-} --out "$1" --html "$1.html"
}
