#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs the experiments of this artifact again and compares all numbers. The exit code is 0 only if all are the same.
#
#   ./repeat.sh                  all cells
#   ./repeat.sh --cells 10       ten of them, from all over the experiments
#   ./repeat.sh --help           all options
#
# MARKLAB is the lab that runs them: the folder of its source, or a command; the default is `marklab`.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
lab=${MARKLAB:-marklab}
if [ -f "$lab/orchestrator.py" ]; then
    exec python3 "$lab/orchestrator.py" repeat "$here" "$@"
fi
if ! command -v "$lab" >/dev/null; then
    echo "error: there is no lab: \`$lab\` is neither a command nor a folder with the lab's source" >&2
    echo "  try: MARKLAB=FOLDER $0; README.md says how to get the lab" >&2
    exit 2
fi
exec "$lab" repeat "$here" "$@"
