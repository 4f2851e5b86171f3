#!/bin/sh
# Measures the networks once, and gives the figures to node_exporter's textfile collector: written beside the file and renamed, so that
# the collector never reads half of it.
# Usage: tare-textfile.sh DIRECTORY [ARGUMENT OF tare run ..]
set -eu

directory=$1
shift
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
tare run "$@" --out "$scratch/run" >/dev/null
tare report "$scratch/run" --openmetrics "$directory/tare.prom.new"
mv "$directory/tare.prom.new" "$directory/tare.prom"
