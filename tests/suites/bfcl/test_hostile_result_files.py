"""A stranger's result file is data: whatever it holds, nothing is run, written or waited for."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.parity import synthetic

from toolmark.core.errors import UsageError
from toolmark.core.records import Reply, Task
from toolmark.formats.parse import reply_parser
from toolmark.formats.parse.reply_text import MAX_CHARS
from toolmark.formats.prompt_format import PromptVariant
from toolmark.official_bfcl import (
    fair_rule,
    format_failure_modes,
    handler_replies,
    official_data,
    official_models,
)
from toolmark.runs.run_scoring import is_unscored
from toolmark.runs.run_store import Run
from toolmark.studio.bfcl_interchange import official_handlers, result_files
from toolmark.suites import suite_registry
from toolmark.suites.bfcl import bfcl_suite

LIMIT_S = 280  # of what hangs; below the limit of a test, so that the child is ended too
EACH = 15  # of 200 entries; all where a category has few, or where every text is to be met
MANY = 3  # of 200 where a category has 5,200

FEW = ("live_parallel", "live_parallel_multiple", "live_relevance")
NESTED = ("multi_turn_", "memory_", "web_search_")
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "lol">'
    + "".join(
        f'<!ENTITY {new} "{("&" + old + ";") * 10}">'
        for old, new in zip("abcdefghi", "bcdefghij", strict=True)
    )
    + ']><functions><function name="&j;"><param name="x">&j;</param></function></functions>'
)
ENTITY = (
    '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    '<functions><function name="f"><params><param name="a" value="&x;" type="string"/></params>'
    "</function></functions>"
)


def texts(canary: str) -> list[str]:
    """Return texts that would do harm where they are run, expanded or believed."""
    touch = f"__import__('os').system('touch {canary}')"
    return [
        touch,
        f"[{touch}]",
        f"[f(x={touch})]",
        f"[f(x=[1, {{'k': {touch}}}])]",
        f"[f(x=open('{canary}', 'w'))]",
        f"[open(file='{canary}', mode='w')]",
        f"[f(x=open('{canary}', 'w').write('x') + 'y')]",
        f"[f(x=1 + {touch})]",
        f"[f(x=-{touch})]",
        f"[f(x=f'{{{touch}}}')]",
        f"[f(x=().__class__.__base__.__subclasses__()[0]({touch!r}))]",
        f"[f.__init__.__globals__['os'].system(command='touch {canary}')]",
        f"[f(x=(lambda: {touch})())]",
        f"[f(x=[y for y in [{touch}]])]",
        "[f(x=9**9**9)]",
        "[f(x=9**9**9**9, y=(10**10)**(10**10))]",
        "[f(x='a' * 10**12)]",
        "[f(x=[0] * 10**12)]",
        "[f(x=1 << 10**12)]",
        "[f(x=2**100000 % 7)]",
        f"[f(x={'9' * 100_000})]",
        f"[f(x={'(' * 5_000}1{')' * 5_000})]",
        f"[f(x={'[' * 9_000}{']' * 9_000})]",
        f"[f(x={'-' * 20_000}1)]",
        f"[f(x={'1+' * 20_000}1)]",
        "[f(x='\x00\ud800')]",
        *damaged(),
        *reaching(canary),
        *endless(),
    ]


RUNS = (" ", "\t", "\n", "`", "` ", "[", "(", "{", "<", "'", '"', "\\", "!%", "]", "}", ">")


def endless() -> list[str]:
    """Return runs of one or two characters, as long as a reply that is read can be."""
    heads = ("", "python", "f(a=", "new HashMap<\n")
    runs = [(run * MAX_CHARS)[: MAX_CHARS - 20] for run in RUNS]
    return [f"{heads[at % len(heads)]}{run}!" for at, run in enumerate(runs)]


def damaged() -> list[str]:
    """Return texts that would exhaust a reader which follows them."""
    return [
        LAUGHS,
        f"<TOOLCALL>{LAUGHS}</TOOLCALL>",
        ENTITY,
        "<functions>" + "<function name='f'>" * 9_000,
        f'[{{"function": "f", "parameters": {{"x": {"9" * 100_000}}}}}]',
        f'[{{"function": "f", "parameters": {"[" * 9_000}',
        '[{"function": "f", "parameters": {"x": 1e999999, "y": NaN}}]',
        "[{" * 9_000,
        "<TOOLCALL>" * 9_000,
        json.dumps({"answer": "(a+)+$" * 1_000, "context": "x"}),
        "a" * 100_000,
        "((((a+)+)+)+)!" * 2_000,
        "new HashMap<>() {{ put(" * 3_000,
        "{" * 9_000,
    ]


def reaching(canary: str) -> list[str]:
    """Return calls that reach for files, machines and what is not a tool."""
    touch = f"__import__('os').system('touch {canary}')"
    return [
        f"[cd(folder='../../../../..'), touch(file_name='{canary}')]",
        f"[touch(file_name='../{canary}')]",
        f"[echo(content='x', file_name='{canary}')]",
        f"[echo(content='x', file_name='../../{canary}'), cat(file_name='/etc/passwd')]",
        f"[mv(source='/etc/passwd', destination='{canary}'), cp(source='..', destination='...')]",
        "[find(path='/', name='passwd'), rm(file_name='/'), mkdir(dir_name='/x')]",
        "[absolute_value(number=9**9**9), power(base=9.0, exponent=1e308), round_number(number=1)]",
        "[power(base=99999, exponent=99999999)]",
        "[logarithm(value=1e308, base=2, precision=1000000000)]",
        "[_load_scenario(scenario={}), __init__(), __class__(), __getattribute__(name='root')]",
        f"[core_memory_add(key='{canary}', value='../../x'), archival_memory_clear()]",
        f"[_flush_memory_to_local_file(), _prepare_snapshot(initial_config={{'x': '{canary}'}})]",
        f"[fetch_url_content(url='file://{canary}', mode='raw')]",
        "[search_engine_query(keywords='x', max_results=10**9)]",
        f'new ArrayList<String>() {{{{ add(Runtime.getRuntime().exec("touch {canary}")); }}}}',
        f"require('child_process').execSync('touch {canary}')",
        f"Error during inference: {touch}",
    ]


def calls(text: str, canary: str) -> list[dict[str, Any]]:
    """Return structured calls that carry a text as name, as argument and as whole arguments."""
    return [
        {"f": text},
        {text: "{}"},
        {"f": json.dumps({"x": text, text[:50]: canary})},
        {"touch": json.dumps({"file_name": text})},
        {"power": json.dumps({"base": 99999, "exponent": 99999999})},
        {"__init__": json.dumps({"self": text})},
    ]


def hostile(form: str, task: Task, said: list[str], canary: str) -> Any:
    """Return a hostile result for an entry, another one for each."""
    text = said[synthetic.draw(task.id, len(said))]
    long = len(text) > MAX_CHARS // 2
    given = [{"f": json.dumps({"x": text})}] if long else calls(text, canary)
    steps: list[Any] = [text] if form == "prompt" or task.tool_format else [given, text]
    if not task.category.startswith(NESTED):
        return steps[synthetic.draw(task.id, 2) % len(steps)]
    return [steps if turn == 0 or not long else [] for turn in range(len(task.turns))]


def rows(form: str, canary: str) -> Iterator[tuple[str, dict[str, Any]]]:
    said = texts(canary)
    suite = suite_registry.load_suite("bfcl", category=bfcl_suite.CATEGORIES)
    for task in suite:
        few = task.category in FEW or task.category == "multi_turn_base"
        share = MANY if task.category == "format_sensitivity" else EACH
        saved = few or synthetic.draw(task.id + "?", 200) < share
        if form == "native" and task.tool_format:
            continue
        if saved and task.kind == "scored":
            yield task.category, {"id": task.id, "result": hostile(form, task, said, canary)}


def seen(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


IMPORT = """
import resource, sys
from pathlib import Path
from toolmark.cli import bfcl_import_export
from toolmark.official_bfcl import official_data, official_models
from toolmark.studio.bfcl_interchange import result_files
from toolmark.studio.bfcl_interchange import official_handlers
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
source = result_files.find_models(Path(sys.argv[1]))[0]
run = bfcl_import_export.create_scored_run(source, Path(sys.argv[2]), lenient=True).run
from toolmark import api
api.rescore(run)
bfcl_import_export.export_runs("bfcl", [run.path], Path(sys.argv[3]))
"""


@pytest.mark.long
@pytest.mark.parametrize("form", ["native", "prompt"])
def test_a_hostile_result_file_is_scored_without_running_hanging_or_writing(
    form: str, tmp_path: Path
) -> None:
    work, runs, out = tmp_path / "work", tmp_path / "runs", tmp_path / "out"
    work.mkdir()
    canary = work / "canary"
    model = "gpt-4.1-2025-04-14" + ("-FC" if form == "native" else "")
    synthetic.write(tmp_path, model, rows(form, str(canary)))
    before = seen(tmp_path / "result")
    done = subprocess.run(
        [sys.executable, "-c", IMPORT, str(tmp_path / "result"), str(runs), str(out)],
        cwd=work,
        env=os.environ,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert not any(work.iterdir()), "something was written where the command ran"
    assert not list(tmp_path.rglob("canary")) and seen(tmp_path / "result") == before
    (path,) = runs.glob("*/")
    assert {child.name for child in runs.parent.iterdir()} == {"work", "runs", "out", "result"}
    faults = [s.failure for s in Run(path).scores() if is_unscored(s)]
    assert not faults, faults[:3]


def test_every_category_meets_hostile_rows(tmp_path: Path) -> None:
    met = {name for form in ("native", "prompt") for name, _ in rows(form, "canary")}
    assert met == set(result_files.result_categories())


def test_every_hostile_text_is_met_by_single_and_by_multi_turn() -> None:
    said = texts("canary")
    drawn = {nested: set[int]() for nested in (True, False)}
    for category, row in rows("prompt", "canary"):
        place = synthetic.draw(row["id"], len(said))
        drawn[category.startswith(NESTED)].add(place)
    assert drawn[True] == drawn[False] == set(range(len(said)))


def test_no_handlers_way_runs_what_a_text_says(tmp_path: Path) -> None:
    """Some official decoders evaluate texts; each way reads the same ones, and nothing happens."""
    canary = tmp_path / "canary"
    ways = {}
    for name, known in official_models.read_models(official_data.fetch_wheel()).items():
        with suppress(UsageError):
            ways[known.handler, known.is_native] = official_handlers.handler_format(name, known)
    assert len(ways) > 30
    hostile = [text[: 2**16] for text in texts(str(canary))]  # many ways, many texts
    deep = ["[" * 100_000, "<tool_call>\n" * 100_000, "-" * 100_000 + "1", "{'a':" * 5_000, ";" * 9]
    tagged = [f"<tool_call>\n{text}\n</tool_call>" for text in hostile]
    items = [f"[{{'name': 'f', 'parameters': {text}}}]" for text in hostile]
    for way in ways.values():
        for text in (*hostile, *deep, *tagged, *items):
            for executed in (False, True):
                with suppress(handler_replies.MalformedResult):
                    way.read_reply(text, executed)
    assert not canary.exists()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("run", RUNS)
def test_what_begins_like_a_call_is_recognised_in_linear_time(run: str) -> None:
    text = (run * MAX_CHARS)[: MAX_CHARS - 20]
    for head in ("", "python", "[", "f"):
        begins = run == "(" and head.isalpha()
        assert bool(fair_rule._BEGINS_LIKE_CALL.match(f"{head}{text}!")) == begins


@given(
    st.lists(st.sampled_from(["python", "json", "`", " ", "\n", "[", "(", "f", ".", "1"])).map(
        "".join
    )
)
@example("```python\n[[ f(")
@example("` [python(")
def test_a_call_begins_where_a_plain_pattern_finds_its_beginning(text: str) -> None:
    plain = re.compile(r"\A[`\s]*(?:python|json)?[`\s\[]*[A-Za-z_][\w.]*\(")
    assert bool(fair_rule._BEGINS_LIKE_CALL.match(text)) == bool(plain.match(text))


@pytest.mark.parametrize("calls", get_args(reply_parser.CallForm))
def test_an_entity_beyond_reading_hides_no_mode(calls: reply_parser.CallForm) -> None:
    """Such a text must get its verdict: a fault while scoring would take the episode out."""
    task = next(iter(suite_registry.load_suite("bfcl", category="simple_python")))
    said = Reply(text=f"<TOOLCALL>&#{'9' * 5_000};</TOOLCALL><{task.tools[0].name}>")
    natives = [
        label.suite_cause
        for label in format_failure_modes.find_failure_modes(
            task, PromptVariant(call_form=calls), said
        )
    ]
    assert "format:invented_tag" in natives
