"""Count what the same four tasks take to write in toolmark, Inspect and pydantic-evals.

`python benchmarks/authoring/count_lines.py` prints the table of `authoring-compared.md`.
Lines are those that are not blank, imports, docstrings and comments included. Imported names are
those that the import statements bind.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
TASKS = {
    "rows": (EXAMPLES / "support.py", "rows"),
    "calendar with three tools": (EXAMPLES / "calendar_suite.py", "calendar"),
    "simulated user": (EXAMPLES / "simulated_user.py", "simulated_user"),
    "metric and table, over the calendar": (EXAMPLES / "metric_and_table.py", "metric_and_table"),
}
HEAD = """\
| task | toolmark | Inspect | pydantic-evals |
|---|---|---|---|"""


class Size(NamedTuple):
    """How long a file is: lines that are not blank, and names that it imports."""

    n_lines: int
    n_names: int


def measure_file(path: Path) -> Size:
    """Return the size of a file."""
    text = path.read_text()
    imports = (
        node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)
    )
    lines = [line for line in text.splitlines() if line.strip()]
    return Size(len(lines), sum(len(node.names) for node in imports))


def format_table() -> str:
    """Return the sizes of all files as a table of Markdown."""
    rows = [HEAD]
    for task, (ours, name) in TASKS.items():
        paths = [ours, HERE / f"inspect_{name}.py", HERE / f"pydantic_{name}.py"]
        sizes = [measure_file(path) for path in paths]
        cells = [f"{size.n_lines} lines, {size.n_names} imported" for size in sizes]
        rows.append(f"| {task} | {' | '.join(cells)} |")
    return "\n".join(rows)


if __name__ == "__main__":
    print(format_table())
