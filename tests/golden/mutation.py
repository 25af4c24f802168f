"""Small changes of source code: the mutants that a guard of behaviour must notice."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

PACKAGES = ("scoring", "statistics", "formats", "runs")
_COMPARED: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_CALCULATED: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one file: what stood at a place, and what stands there instead."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    kind: str
    old: str
    new: str

    def applied(self, source: str) -> str:
        """Return the file's text with the change."""
        lines = source.encode().split(b"\n")
        before = b"\n".join([*lines[: self.line - 1], lines[self.line - 1][: self.column]])
        after = b"\n".join([lines[self.end_line - 1][self.end_column :], *lines[self.end_line :]])
        return (before + self.new.encode() + after).decode()


def drawn(root: Path, n: int, seed: int) -> list[Mutant]:
    """Draw n mutants of the packages below `root`, none twice, in a fixed order."""
    every = [(path, node, kind) for path in sources(root) for node, kind in _places(path)]
    Random(seed).shuffle(every)
    made = (_mutant(path, root, node, kind) for path, node, kind in every)
    return list(islice((each for each in made if each is not None), n))


def sources(root: Path) -> list[Path]:
    """Return the files that are mutated."""
    return sorted(path for each in PACKAGES for path in (root / each).rglob("*.py"))


def _places(path: Path) -> Iterator[tuple[Any, str]]:
    """Go through every change that a file allows, those that cannot be compiled too."""
    for node in _live(ast.parse(path.read_text(encoding="utf-8"))):
        for kind, change in _KINDS.items():
            if change(node) is not None:
                yield node, kind


def _mutant(path: Path, root: Path, node: Any, kind: str) -> Mutant | None:
    """Return a change as a mutant, None where it cannot be compiled or changes nothing."""
    changed = _KINDS[kind](node)
    assert changed is not None
    text = ast.unparse(ast.fix_missing_locations(changed))
    target: Any = node.test if isinstance(node, ast.If | ast.While) else node
    made = Mutant(
        str(path.relative_to(root)), target.lineno, target.col_offset, target.end_lineno,
        target.end_col_offset, kind, ast.unparse(target),
        f"({text})" if isinstance(changed, ast.expr) else text,
    )  # fmt: skip
    return made if _different(made, path.read_text(encoding="utf-8")) else None


def _different(mutant: Mutant, source: str) -> bool:
    try:
        changed = ast.parse(mutant.applied(source))
    except SyntaxError:
        return False
    return ast.dump(changed) != ast.dump(ast.parse(source))


def _live(tree: ast.Module) -> Iterator[Any]:
    """Go through expressions and statements that run: no annotation, docstring or decorator."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        for name, field in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases", "type_params"):
                continue
            inner = [x for x in (field if isinstance(field, list) else [field])
                     if isinstance(x, ast.AST)]  # fmt: skip
            waiting.extend(each for each in inner if not _silent(each))
        if isinstance(node, ast.expr | ast.stmt):
            yield node


def _silent(node: ast.AST) -> bool:
    """Tell whether nothing of this runs: texts that stand alone, f-strings' parts, types."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    if isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation):
        return True
    return isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)


Change = Callable[[Any], ast.AST | None]


def _compare(node: Any) -> ast.AST | None:
    if not isinstance(node, ast.Compare):
        return None
    made = copy.copy(node)
    made.ops = [_COMPARED[type(node.ops[0])](), *node.ops[1:]]
    return made


def _boolean(node: Any) -> ast.AST | None:
    if not isinstance(node, ast.BoolOp):
        return None
    made = copy.copy(node)
    made.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    return made


def _arithmetic(node: Any) -> ast.AST | None:
    if not isinstance(node, ast.BinOp) or type(node.op) not in _CALCULATED:
        return None
    made = copy.copy(node)
    made.op = _CALCULATED[type(node.op)]()
    return made


def _constant(node: Any) -> ast.AST | None:
    if not isinstance(node, ast.Constant):
        return None
    match node.value:
        case bool():
            return ast.Constant(not node.value)
        case int():
            return ast.Constant(node.value + 1)
        case float():
            return ast.Constant(node.value * 1.5 if node.value else 1.0)
        case str():
            return ast.Constant(f"{node.value}x")
        case _:
            return None


def _returned(node: Any) -> ast.AST | None:
    plain = isinstance(node, ast.Return) and node.value is not None
    if not plain or (isinstance(node.value, ast.Constant) and node.value.value is None):
        return None
    return ast.Return(ast.Constant(None))


def _condition(node: Any) -> ast.AST | None:
    if not isinstance(node, ast.IfExp):
        return None
    made = copy.copy(node)
    made.test = ast.UnaryOp(ast.Not(), made.test)
    return made


def _branch(node: Any) -> ast.AST | None:
    """Negate the test of a branch; it is the test that is replaced."""
    if not isinstance(node, ast.If | ast.While):
        return None
    return ast.UnaryOp(ast.Not(), node.test)


def _negated(node: Any) -> ast.AST | None:
    if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.Not | ast.USub):
        return None
    return node.operand


def _removed(node: Any) -> ast.AST | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
        return ast.Pass()
    return ast.Pass() if isinstance(node, ast.AugAssign | ast.Raise | ast.Continue) else None


_KINDS: dict[str, Change] = {
    "comparison": _compare,
    "boolean": _boolean,
    "arithmetic": _arithmetic,
    "constant": _constant,
    "return": _returned,
    "condition": _condition,
    "branch": _branch,
    "negation": _negated,
    "removed": _removed,
}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Write rows as a table of Markdown."""
    head = ("n", "place", "kind", "before", "after", "caught by")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for row in rows:
        cells = [str(row["n"]), f"{row['file']}:{row['line']}", row["kind"], _cell(row["old"]),
                 _cell(row["new"]), row["caught_by"] or row["verdict"]]  # fmt: skip
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    short = " ".join(text.split())
    short = short if len(short) <= 60 else f"{short[:60]} ..."
    return f"`{short}`".replace("|", "\\|")
