"""The same code has the same hashes everywhere, and every edit that counts changes them."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.runs import mini

from toolmark.core.errors import DataError, UsageError
from toolmark.core.records import Verdict
from toolmark.runs import code_hashes
from toolmark.suites import suite_registry

SUITE = """
from tests.runs import mini
from shop_rows import rows
import shop_score

SCORER = shop_score.SCORER


def load(*, n: int = 3):
    import dataclasses

    made = mini.load(n=n)
    environment = dataclasses.replace(made.environment, missing_parts=missing)
    return dataclasses.replace(made, name="shop", scorer=SCORER, environment=environment)


def missing(tasks):
    import shop_late

    return {}
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of four files, in a folder where Python looks for modules."""
    (tmp_path / "shop.py").write_text(SUITE)
    (tmp_path / "shop_rows.py").write_text("from shop_more import many\nrows = many\n")
    (tmp_path / "shop_more.py").write_text("many = 3\n")
    (tmp_path / "shop_late.py").write_text("import json\n")
    (tmp_path / "shop_score.py").write_text(
        "import dataclasses\nimport shop_more\nfrom tests.runs import mini\n\n"
        "def score(episode):\n    return mini.score(episode)\n\n"
        "SCORER = dataclasses.replace(mini.SCORER, score=score)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("shop", "shop_rows", "shop_more", "shop_late", "shop_score"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def test_a_module_counts_with_all_that_it_imports_and_nothing_of_libraries(shop: Path) -> None:
    found = code_hashes.spec_hashes("shop:load")
    assert {name for name in found if name.startswith("shop")} == {
        "shop", "shop_rows", "shop_more", "shop_late", "shop_score",
    }  # fmt: skip
    assert "tests.runs.mini" in found
    assert not {name for name in found if name.startswith("toolmark")}
    assert "shop" not in sys.modules  # it was read, not run
    assert code_hashes.spec_hashes(f"{shop / 'shop.py'}:load") == found


def test_any_edit_changes_the_hash_of_its_file_alone(shop: Path) -> None:
    before = code_hashes.spec_hashes("shop:load")
    (shop / "shop_more.py").write_text("many = 4\n")
    after = code_hashes.spec_hashes("shop:load")
    assert {name for name in after if after[name] != before[name]} == {"shop_more"}


def test_what_only_the_scorer_imports_is_no_part_of_what_is_asked(shop: Path) -> None:
    suite = suite_registry.load_suite("shop:load")
    assert suite.provenance.spec == "shop:load"
    asked = code_hashes.suite_hashes(suite)
    assert {name for name in asked if name.startswith("shop")} == {
        "shop", "shop_rows", "shop_more", "shop_late",
    }  # fmt: skip
    judged = code_hashes.scorer_id(suite.scorer)
    assert {name for name in judged.files if name.startswith("shop")} == {
        "shop_score", "shop_more",
    }  # fmt: skip
    assert "shop_more" in code_hashes.modules_shared_with_scorer(suite)


def test_a_scorer_is_known_by_its_modules_and_by_what_it_reads(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("1")
    scorer = dataclasses.replace(mini.SCORER, files=(table,))
    plain, first = code_hashes.scorer_id(mini.SCORER), code_hashes.scorer_id(scorer)
    table.write_text("2")
    assert len({plain.sha256, first.sha256, code_hashes.scorer_id(scorer).sha256}) == 3
    table.unlink()
    with pytest.raises(DataError, match=r"table.csv: cannot read"):
        code_hashes.scorer_id(scorer)


@pytest.mark.parametrize("name", ["bfcl", "funcbench"])
def test_every_suite_of_ours_has_a_scorer_hash_and_asks_with_no_code_of_the_user(name: str) -> None:
    judged = code_hashes.scorer_id(suite_registry.load_scorer(name))
    assert judged.sha256
    assert all(module.startswith("toolmark.") for module in judged.files)
    assert any(module.startswith("toolmark.scoring.") for module in judged.files)
    assert "toolmark.suites.suite_registry" not in judged.files


def test_a_scorer_is_known_by_the_data_files_that_its_modules_read(shop: Path) -> None:
    (shop / "shop_more.py").write_text(
        "from toolmark.core.data_files import read_table\n"
        "many = read_table(__file__, 'many.toml', dict[str, int])\n"
    )
    (shop / "data").mkdir()
    (shop / "data" / "many.toml").write_text("many = 3\n")
    before = code_hashes.spec_hashes("shop_score:score")
    (shop / "data" / "many.toml").write_text("many = 4\n")
    after = code_hashes.spec_hashes("shop_score:score")
    assert {name for name in after if after[name] != before[name]} == {"shop_more:many.toml"}
    (shop / "data" / "many.toml").unlink()
    with pytest.raises(DataError, match=r"many\.toml: cannot read"):
        code_hashes.spec_hashes("shop_score:score")


def test_code_that_stands_in_no_file_equals_nothing() -> None:
    def score(episode: Any) -> dict[str, Verdict]:
        return {}

    score.__module__ = "a_notebook"
    scorer = dataclasses.replace(mini.SCORER, score=score)
    assert not code_hashes.scorer_id(scorer).sha256


def test_another_process_finds_the_same_hashes(shop: Path) -> None:
    root = Path(__file__).parents[2]
    code = (
        "import sys; from toolmark.runs import code_hashes; "
        "print(code_hashes.combine_hashes(code_hashes.spec_hashes('shop:load')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True, cwd=shop,
        env={"PYTHONPATH": f"{root / 'src'}:{root}", "PATH": ""},
    )  # fmt: skip
    assert done.stdout.strip() == code_hashes.combine_hashes(code_hashes.spec_hashes("shop:load"))


def test_what_cannot_be_found_is_named() -> None:
    with pytest.raises(UsageError, match="no_such_shop"):
        code_hashes.spec_hashes("no_such_shop:load")
    with pytest.raises(UsageError, match=r"none/shop.py: no such file"):
        code_hashes.spec_hashes("none/shop.py:load")
    assert code_hashes.model_hashes("openai/gpt-5") == {}
