"""Text patches after the renaming: `hand.py TREE`. Prints rules that fit nothing."""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
SRC = "src/toolmark"
CACHE: dict[Path, str] = {}
UNUSED: list[str] = []


def text(path):
    if path not in CACHE:
        CACHE[path] = path.read_text(encoding="utf-8")
    return CACHE[path]


def files(pattern):
    found = []
    for one in pattern.split():
        found += [p for p in ROOT.glob(one) if p.is_file()]
    return sorted(set(found))


def sub(pattern, regex, new, flags=re.MULTILINE):
    """Replace in the files that a glob names; a file name alone is looked for everywhere in src."""
    globs = " ".join(
        p if p.startswith(("src/", "tests/", "docs", "benchmarks/", "scripts/", "README", "CONTRIBUTING", "*.md")) else f"src/toolmark/**/{p}"
        for p in pattern.split()
    )
    n = 0
    for path in files(globs):
        old = text(path)
        made, k = re.subn(regex, new, old, flags=flags)
        if made != old:
            CACHE[path] = made
            n += k
    if not n:
        UNUSED.append(f"{pattern}: {regex}")


def lit(pattern, old, new):
    """Replace a literal text."""
    sub(pattern, re.escape(old), new.replace("\\", "\\\\"))


for part in sorted(Path(__file__).parent.glob("hand_*.py")):
    exec(compile(part.read_text(), str(part), "exec"))

for path, made in CACHE.items():
    if path.read_text(encoding="utf-8") != made:
        path.write_text(made, encoding="utf-8")
print(f"{len(UNUSED)} rules fit nothing")
for each in UNUSED:
    print("  ", each)
