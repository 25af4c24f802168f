"""`toolmark audit` on the command line: page, tables, JSON, and folders that are none."""

from __future__ import annotations

import json
from pathlib import Path

from tests.servers.planning_endpoint import Command


def _publish(folder: Path) -> Path:
    path = folder / "result/model-<b>a/live/BFCL_v4_live_relevance_result.json"
    path.parent.mkdir(parents=True)
    rows = [{"id": f"live_relevance_{i}-{i}-0", "result": "no call"} for i in range(16)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_an_audit_writes_a_page_and_prints_json(toolmark: Command, tmp_path: Path) -> None:
    """The page has no markup of a name, and JSON is all that stdout has."""
    page = tmp_path / "page.html"
    done = toolmark("audit", str(_publish(tmp_path / "published")), "-o", str(page), "--json")
    assert done.code == 0
    found = json.loads(done.out)
    assert found["models"][0]["total"]["reproduced"]["value"] == 0
    assert found["differences"] == []
    text = page.read_text()
    assert "model-&lt;b&gt;a" in text
    assert "<b>a" not in text
    assert "Content-Security-Policy" in text


def test_a_folder_without_results_is_a_usage_error(toolmark: Command, tmp_path: Path) -> None:
    """Nothing is written."""
    for folder in (tmp_path, tmp_path / "absent"):
        done = toolmark("audit", str(folder), "-o", str(tmp_path / "page.html"))
        assert done.code == 2
        assert str(folder) in done.err
    assert not (tmp_path / "page.html").exists()
