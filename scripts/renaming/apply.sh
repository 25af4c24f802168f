#!/bin/bash
# Apply the whole renaming to a tree: apply.sh TREE. Takes about 6 minutes on a quiet machine.
# What it prints last is what is to be looked at by hand.
set -e
TREE=$(realpath "$1"); HERE=$(dirname "$(realpath "$0")"); WORK=$(mktemp -d)
INDEX=${INDEX:-$WORK/index.pickle}
cd "$TREE"; export PYTHONPATH=$TREE/src:$TREE; unset PYTHONDONTWRITEBYTECODE
[ -e "$INDEX" ] || nice -n 5 python "$HERE/index.py" "$TREE" "$INDEX"
nice -n 5 python "$HERE/rename.py" "$TREE" "$INDEX" "$HERE"/*.table || true
python "$HERE/hand.py" "$TREE"
python "$HERE/alias.py" "$TREE"
python "$HERE/reflow.py" "$TREE"
ruff check -q --fix --select I . || true
ruff format -q .
ruff check . --output-format concise || true
ruff format --check . | tail -3
echo "index: $INDEX; untyped places with an old name: ${INDEX%.pickle}.untyped"
