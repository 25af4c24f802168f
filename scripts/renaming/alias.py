"""Drop import aliases of modules of ours: `from a import b as c` -> `from a import b`; `alias.py TREE`."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(sys.argv[1])
KEEP = {"Record", "GRADING_RULES", "GradingRule", "looks_like_calls", "DecodedCalls", "UnreadableCalls",
        "measure_probabilities", "Defused"}
ALT = {
    ("sandbox", "boxes"): "mcp_sandbox", ("cassette", "tapes"): "cassette_files",
    ("recogniser", "hearing"): "recogniser_protocol", ("piqa", "layout"): "piqa_files",
    ("desk_rows", "rows"): "desk_tables", ("command_options", "o"): "options",
    ("records", "t"): "records", ("suite_registry", "known"): "registry",
}
left = []
for path in sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]):
    src = path.read_bytes()
    tree = ast.parse(src)
    offs = [0]
    for line in src.split(b"\n"):
        offs.append(offs[-1] + len(line) + 1)
    edits = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith(("toolmark", "tests")):
            continue
        for a in node.names:
            if not a.asname or a.asname == a.name or a.asname in KEEP:
                continue
            new = ALT.get((a.name, a.asname), a.name)
            scope = tree
            if node not in tree.body:
                inside = [f for f in ast.walk(tree) if isinstance(f, (ast.FunctionDef, ast.AsyncFunctionDef)) and node in f.body]
                if not inside:
                    left.append(f"{path.relative_to(ROOT)}:{node.lineno}: local import {a.name} as {a.asname}")
                    continue
                scope = inside[0]
            bound = {x.arg for x in ast.walk(tree) if isinstance(x, ast.arg)}
            bound |= {x.id for x in ast.walk(tree) if isinstance(x, ast.Name) and isinstance(x.ctx, (ast.Store, ast.Del))}
            bound |= {x.name for x in ast.walk(tree) if isinstance(x, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.MatchAs, ast.MatchStar)) and x.name}
            bound |= {(y.asname or y.name).split(".")[0] for x in ast.walk(tree) if isinstance(x, (ast.Import, ast.ImportFrom)) for y in x.names if y is not a}
            if new in bound or a.asname in bound:
                left.append(f"{path.relative_to(ROOT)}:{node.lineno}: {a.name} as {a.asname}: name in use")
                continue
            s, e = offs[a.lineno - 1] + a.col_offset, offs[a.end_lineno - 1] + a.end_col_offset
            edits.append((s, e, a.name.encode() if new == a.name else f"{a.name} as {new}".encode()))
            for x in ast.walk(scope):
                if isinstance(x, ast.Name) and x.id == a.asname:
                    o = offs[x.lineno - 1] + x.col_offset
                    if src[o:o + len(a.asname)] == a.asname.encode():
                        edits.append((o, o + len(a.asname), new.encode()))
                    else:
                        left.append(f"{path.relative_to(ROOT)}:{x.lineno}: {a.asname} misplaced")
    if edits:
        out = src
        for s, e, new in sorted(set(edits), reverse=True):
            out = out[:s] + new + out[e:]
        path.write_bytes(out)
print(f"{len(left)} aliases left")
for each in left:
    print("  ", each)
