#!/bin/sh
# A gate on the speed of a command: measures the commit that is checked out, stores the result in a history that
# the CI keeps between runs, and fails where the newest change is slower and nobody has accepted it.
#
# usage: performance-gate.sh NAME COMMAND [ARGUMENT…]
# Variables: WARPSMITH (the program), WARPSMITH_HISTORY (the file), WARPSMITH_PAGE (an HTML page to write).
# Exit codes: 0 same or faster, 1 slower, 4 undecided; 2 the command failed.
set -eu
if [ "$#" -lt 2 ]; then
    echo "usage: $0 NAME COMMAND [ARGUMENT…]" >&2
    exit 2
fi
name=$1
shift
warpsmith=${WARPSMITH:-warpsmith}
history=${WARPSMITH_HISTORY:-warpsmith-history.sqlite}
result=$(mktemp)
trap 'rm -f "$result"' EXIT
"$warpsmith" run --name "$name" --save "$result" -- "$@"
"$warpsmith" history --file "$history" add "$result"
if [ -n "${WARPSMITH_PAGE:-}" ]; then
    "$warpsmith" history --file "$history" show --html "$WARPSMITH_PAGE" > /dev/null
fi
"$warpsmith" history --file "$history" check --name "$name"
