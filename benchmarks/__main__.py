"""Run every benchmark, one after another: `make bench`. Each exits 1 when a bar is missed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NAMES = sorted(
    path.stem
    for path in HERE.glob("*.py")
    if path.stem not in ("__init__", "__main__", "server", "wire_answers")
)

missed = []
for name in NAMES:
    print(f"== {name}", flush=True)
    if subprocess.run([sys.executable, HERE / f"{name}.py"]).returncode:
        missed.append(name)
print(f"bars missed in: {', '.join(missed) or 'none'}")
sys.exit(bool(missed))
