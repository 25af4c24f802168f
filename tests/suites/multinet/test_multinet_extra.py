"""The extra `multinet` is all that the suites need: nothing else may be imported to draw a row."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from toolmark.core import worker_processes
from toolmark.core.errors import UsageError
from toolmark.suites.multinet.synthetic.odinw import CLASSES_BY_SUBSET

HOME = Path(__file__).parents[3]
CHILD = """
import json, sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

BLOCKED = set(json.loads(sys.stdin.read()))
sys.meta_path.insert(0, Without())
from toolmark.suites.multinet import multinet_families, task_making
from toolmark.suites.multinet.synthetic.odinw import CLASSES_BY_SUBSET, rows
import toolmark as tm

drawn = {name: rows(n=1, split="test", seed=1, subset=(name,)) for name in CLASSES_BY_SUBSET}
for name, held in drawn.items():
    (frame,) = held
    assert held.pictures(frame.id)[0].data.startswith(b"\\x89PNG"), name
for family in multinet_families.FAMILIES:
    if family != "bfcl":  # its data are a package's
        parameters = {"data": "synthetic", "seed": 1, "items": 5, "form": "both"}
        suite = tm.load(multinet_families.suite_name(family), **parameters)
        tasks = list(suite.maker.make(suite))
        assert len(tasks) == 10, family
        assert not any(map(suite.maker.failure or (lambda task: ""), tasks)), family
print("drawn", len(drawn))
"""


def plain(requirement: str) -> str:
    return re.split(r"[ ;\[(<>=!~]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def others() -> set[str]:
    """What is installed here and could be imported, but is neither of the base nor of the extra."""
    about = tomllib.loads((HOME / "pyproject.toml").read_text())["project"]
    wanted = [*about["dependencies"], *about["optional-dependencies"]["multinet"]]
    found, left = set[str](), [plain(each) for each in wanted]
    while left:
        name = left.pop()
        if name not in found:
            found.add(name)
            try:
                needs = metadata.requires(name) or []
            except metadata.PackageNotFoundError:  # of another system
                continue
            left += [plain(each) for each in needs if "extra ==" not in each]
    found.add("toolmark")
    return {
        module
        for module, owners in metadata.packages_distributions().items()
        if not {plain(owner) for owner in owners} & found
    }


def test_every_picture_can_be_drawn_with_the_extra_alone(tmp_path: Path) -> None:
    blocked = others()
    assert {"cv2", "pytest", "hypothesis"} <= blocked and not {"PIL", "numpy"} & blocked
    done = subprocess.run(
        [sys.executable, "-c", CHILD], input=json.dumps(sorted(blocked)), cwd=tmp_path,
        capture_output=True, text=True, env={"TOOLMARK_HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == ["drawn", f"{len(CLASSES_BY_SUBSET)}"]


def test_a_process_that_lacks_an_extra_says_which(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=r"No module named 'nowhere'; next: .*\[multinet\]"):
        list(worker_processes.map_in_processes(lacking, [1, 2], 2))
    assert "Traceback" not in capfd.readouterr().err


def lacking(item: int) -> None:
    """Ask a module of the extra for one that is not there."""
    from toolmark.suites.multinet import loaded_rows

    exec(compile("import nowhere", loaded_rows.__file__, "exec"), vars(loaded_rows))  # noqa: S102
