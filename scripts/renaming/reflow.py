"""Wrap over-long comments and docstrings, open `# fmt: skip` lines that grew: `reflow.py TREE`."""

from __future__ import annotations

import ast
import io
import re
import sys
import textwrap
import tokenize
from pathlib import Path

ROOT = Path(sys.argv[1])
LONGEST = 100


def paragraph(lines, i, lo, hi, indent):
    """The lines around i that are one paragraph of a docstring."""
    starts = re.compile(r"\s*(- |\* |\d+\. |>>> |Args:|Returns:|Raises:|Yields:|\w+: |`|\|)")
    a = i
    while a > lo and lines[a - 1].strip() and len(lines[a - 1]) - len(lines[a - 1].lstrip()) == len(lines[a]) - len(lines[a].lstrip()) and not re.match(r"\s*(- |\* |\d+\. )", lines[a]):
        a -= 1
    b = i
    while b + 1 < hi and lines[b + 1].strip() and not re.match(r"\s*(- |\* |\d+\. )", lines[b + 1]) and len(lines[b + 1]) - len(lines[b + 1].lstrip()) >= len(lines[a]) - len(lines[a].lstrip()):
        b += 1
    return a, b


def wrap(lines, a, b):
    first = lines[a]
    ind = first[: len(first) - len(first.lstrip())]
    body = " ".join(line.strip() for line in lines[a : b + 1])
    rest = ind
    if re.match(r"(- |\* )", body):
        rest = lines[a + 1][: len(lines[a + 1]) - len(lines[a + 1].lstrip())] if b > a else ind + "  "
    return textwrap.wrap(body, LONGEST, initial_indent=ind, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)


def docstrings(tree):
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and node.body:
            e = node.body[0]
            if isinstance(e, ast.Expr) and isinstance(e.value, ast.Constant) and isinstance(e.value.value, str):
                yield e.value


left = []
for path in sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("benchmarks/**/*.py"), *ROOT.glob("scripts/*.py")]):
    src = path.read_text(encoding="utf-8")
    if max(map(len, src.split("\n"))) <= LONGEST:
        continue
    for _ in range(60):
        lines = src.split("\n")
        long = [i for i, line in enumerate(lines) if len(line) > LONGEST and "# noqa" not in line]
        if not long:
            break
        tree = ast.parse(src)
        done = False
        for doc in docstrings(tree):
            lo, hi = doc.lineno - 1, doc.end_lineno - 1
            for i in long:
                if lo <= i <= hi:
                    if lo == hi or i == lo:
                        continue  # the summary line: by hand
                    end = hi if lines[hi].strip() == '"""' else hi + 1
                    a, b = paragraph(lines, i, lo + 1, end, 0)
                    new = wrap(lines, a, b)
                    if new != lines[a : b + 1] and max(map(len, new)) <= LONGEST:
                        lines[a : b + 1] = new
                        done = True
                        break
            if done:
                break
        if not done:
            for i in long:
                m = re.match(r"(\s*)# ", lines[i])
                if m:
                    a = b = i
                    while a and re.match(re.escape(m[1]) + r"# \S", lines[a - 1]):
                        a -= 1
                    while b + 1 < len(lines) and re.match(re.escape(m[1]) + r"# \S", lines[b + 1]):
                        b += 1
                    body = " ".join(line.strip()[2:] for line in lines[a : b + 1])
                    lines[a : b + 1] = textwrap.wrap(body, LONGEST, initial_indent=m[1] + "# ", subsequent_indent=m[1] + "# ", break_on_hyphens=False)
                    done = True
                    break
        if not done:
            # a statement with fmt: skip
            for node in ast.walk(tree):
                if isinstance(node, ast.stmt) and not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and "# fmt: skip" in lines[node.end_lineno - 1]:
                    if any(node.lineno - 1 <= i <= node.end_lineno - 1 for i in long):
                        k = node.end_lineno - 1
                        lines[k] = lines[k].replace("  # fmt: skip", "").rstrip()
                        done = True
                        break
        if not done:
            for i in long:
                m = re.match(r"""(\s*)(\w{0,10}=|return |\w+ = |\w+\()?((?:f|r|b|rb|)")((?:[^"\\]|\\.)*)"([,)\]}]*)$""", lines[i])
                if not m or not m[3].startswith(('f"', '"')) or m[2]:
                    continue
                ind, opening, body, tail = m[1], m[3], m[4], m[5]
                cut = None
                depth = 0
                for k, ch in enumerate(body):
                    if opening == 'f"':
                        depth += (ch == "{") - (ch == "}")
                    if ch == " " and not depth and len(ind) + len(opening) + k + 2 <= LONGEST:
                        cut = k + 1
                if cut:
                    def piece(text):
                        return ('"' if opening == '"' or "{" not in text else opening) + text + '"'
                    one, two = body[:cut], body[cut:]
                    if opening == 'f"' and ("{{" in body or "}}" in body):
                        continue
                    lines[i : i + 1] = [ind + piece(one), ind + piece(two) + tail]
                    done = True
                    break
        if not done:
            break
        src = "\n".join(lines)
    path.write_text(src, encoding="utf-8")
