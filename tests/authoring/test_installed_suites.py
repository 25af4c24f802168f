"""Suites of other packages: found by name, imported only when named, judged again as recorded."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.authoring.installed_packages import install_package

import toolmark as tm
from toolmark.core.errors import UsageError
from toolmark.runs.run_store import Run
from toolmark.suites import suite_registry

ROWS = "".join(
    json.dumps({"id": f"o{n}", "question": f"Say {n}.", "expected": str(n), "solution": str(n)})
    + "\n"
    for n in range(3)
)
SUITE = """
from pathlib import Path

import toolmark as tm
from shop_suite.rules import judge

ROWS = str(Path(__file__).with_name("rows.jsonl"))
NOT_A_SUITE = 5


@tm.suite
def shop_orders() -> tm.Suite:
    \"\"\"Orders of a shop.\"\"\"
    return tm.Suite(tasks=tm.read_tasks(ROWS), scorer=judge)


def other_suite() -> tm.Suite:
    return shop_orders()
"""
RULES = "def judge(episode):\n    return episode.answer == episode.task.data['expected']\n"
MARK = "from pathlib import Path\nPath(__file__).with_name('seen').touch()\n"
FILES = {
    "shop_suite/__init__.py": MARK,
    "shop_suite/suite.py": SUITE,
    "shop_suite/rules.py": RULES,
    "shop_suite/rows.jsonl": ROWS,
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of an installed package with one suite."""
    monkeypatch.chdir(tmp_path)
    yield install_package(
        monkeypatch,
        tmp_path,
        "shop-suite",
        version="2.5",
        files=FILES,
        entry_points={"suites": {"shop_orders": "shop_suite.suite:shop_orders"}},
    )
    forget()


def forget(package: str = "shop_suite") -> None:
    """Let the next import of a package run it again."""
    for name in [each for each in sys.modules if each.partition(".")[0] == package]:
        del sys.modules[name]


def was_imported(site: Path) -> bool:
    return (site / "shop_suite" / "seen").exists()


def make_run() -> Run:
    run = tm.run(tm.load("shop_orders"), "control/oracle")
    forget()
    return tm.open_run(run.path)


def rewrite_plan(run: Run, **changed: object) -> None:
    """Change what the run folder says of the suite."""
    path = run.path / "run.json"
    info = json.loads(path.read_text())
    info["plan"].update(changed)
    path.write_text(json.dumps(info))


def test_a_suite_is_found_by_its_name_and_recorded_with_its_package(site: Path) -> None:
    assert [each.source for each in suite_registry.installed_suites()] == ["shop-suite 2.5"]
    assert not was_imported(site)
    run = tm.run(tm.load("shop_orders"), "control/oracle")
    assert run.summary()["score"]["value"] == 1
    plan = run.info.plan
    assert (plan.suite, plan.spec) == ("shop_orders", "shop_suite.suite:shop_orders")
    recorded = plan.modules.keys() | run.scorer().files.keys()
    assert recorded >= {"shop_suite.suite", "shop_suite.rules"}
    assert run.info.versions["shop-suite"] == "2.5"


def test_an_unknown_name_is_answered_with_installed_names(site: Path) -> None:
    with pytest.raises(UsageError) as caught:
        tm.load("shop_order")
    assert "did you mean: shop_orders" in str(caught.value)
    assert not was_imported(site)


def test_a_run_is_scored_again_while_the_package_is_as_recorded(site: Path) -> None:
    run = make_run()
    assert tm.rescore(run.path).summary()["score"]["value"] == 1


@pytest.mark.parametrize("file", ["suite.py", "rules.py"])
def test_an_edited_package_is_not_imported_unless_the_user_names_the_suite(
    file: str, site: Path
) -> None:
    run = make_run()
    (site / "shop_suite" / "seen").unlink()
    path = site / "shop_suite" / file
    path.write_text(path.read_text().replace("==", "!=") + "# another version\n")
    with pytest.raises(UsageError) as caught:
        tm.rescore(run.path)
    assert f"score {run.path} --suite shop_suite.suite:shop_orders" in str(caught.value)
    assert not was_imported(site)
    scored = tm.rescore(run.path, suite_registry.load_scorer("shop_orders"))
    assert scored.summary()["score"]["value"] == (0 if file == "rules.py" else 1)


def test_an_edited_package_begins_a_new_run(site: Path) -> None:
    first = make_run()
    path = site / "shop_suite" / "suite.py"
    path.write_text(path.read_text() + "# another version\n")
    assert make_run().path != first.path


def test_a_run_folder_reaches_only_what_is_registered(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = make_run()
    (site / "shop_suite" / "seen").unlink()
    for spec in ("shop_suite.suite:other_suite", "shop_suite.suite:tm.load", "shop_suite:suite"):
        rewrite_plan(run, spec=spec)
        with pytest.raises(UsageError) as caught:
            tm.rescore(run.path)
        assert "nothing was imported" in str(caught.value)
        assert not was_imported(site)


def test_a_run_folder_does_not_choose_a_suite_by_the_name_of_an_entry_point(site: Path) -> None:
    run = make_run()
    (site / "shop_suite" / "seen").unlink()
    rewrite_plan(run, spec="", suite="shop_orders")
    with pytest.raises(UsageError):
        tm.rescore(run.path)
    assert not was_imported(site)


def test_showing_a_run_imports_nothing(site: Path) -> None:
    run = make_run()
    (site / "shop_suite" / "seen").unlink()
    tm.write_report(tm.open_run(run.path))
    tm.compare(tm.open_run(run.path), tm.open_run(run.path))
    assert not was_imported(site)


def test_a_built_in_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_package(
        monkeypatch,
        tmp_path,
        "pretender",
        files={"pretender.py": "raise SystemError('imported')\n"},
        entry_points={"suites": {"funcbench": "pretender:suite"}},
    )
    assert tm.load("funcbench", graphs=1).provenance.spec == ""
    assert suite_registry.installed_suites() == []


def test_a_name_of_two_packages_is_an_error_that_names_both(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = {"suites": {"shop_orders": "second_shop:suite"}}
    install_package(
        monkeypatch, tmp_path, "second-shop", files={"second_shop.py": ""}, entry_points=points
    )
    with pytest.raises(UsageError) as caught:
        tm.load("shop_orders")
    assert "second-shop 1.0 and shop-suite 2.5" in str(caught.value)
    assert not was_imported(site)


BROKEN = {
    "missing_module": ("no_such_module_of_theirs:suite", "No module named"),
    "missing_name": ("shop_suite.suite:nothing", "has no nothing"),
    "number": ("shop_suite.suite:NOT_A_SUITE", "not a function"),
    "no_attribute": ("shop_suite.suite", "expected module:attribute"),
    "raises": ("shop_faults:suite", "ZeroDivisionError"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_suite_is_one_line_with_package_name_and_reason(
    name: str, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value, reason = BROKEN[name]
    install_package(
        monkeypatch,
        tmp_path,
        "faults",
        version="0.3",
        files={"shop_faults.py": "1 / 0\n"},
        entry_points={"suites": {name: value}},
    )
    with pytest.raises(UsageError) as caught:
        tm.load(name)
    line = str(caught.value)
    assert line.startswith(f"package faults 0.3: suite {name!r}: ") and reason in line
    assert "\n" not in line
    assert tm.run(tm.load("shop_orders"), "control/oracle").summary()["score"]["value"] == 1


DAMAGED = {
    "no section": b"x = y:z\n[toolmark.suites\n\0[[]]\n",
    "no values": b"[toolmark.suites]\nno value\n= x\n[x]\na = b\n",
    "no text": b"[toolmark.suites]\n\xff\xfe = a:b\n",
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_metadata_hides_no_other_package(
    kind: str, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = install_package(monkeypatch, tmp_path, "damaged", files={}, entry_points={})
    (path,) = other.glob("*.dist-info/entry_points.txt")
    path.write_bytes(DAMAGED[kind])
    path.with_name("METADATA").unlink()
    assert len(tm.load("shop_orders")) == 3


def test_the_hashes_of_other_installed_packages_do_not_count(site: Path) -> None:
    run = make_run()
    assert {*run.info.plan.modules} <= {"shop_suite", "shop_suite.suite", "shop_suite.rules"}
    assert msgspec.to_builtins(run.info.plan)["modules"]
