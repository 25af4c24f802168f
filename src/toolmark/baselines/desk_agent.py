"""An agent for office tasks: it reads the picture and the sources with tools, then writes.

It has no vision and no model: it uses the offered tools for text recognition and code reading.
It sees only a Request and stores no state: it replays its earlier steps from the results in the
messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from toolmark.baselines import desk_answer, desk_facts, desk_text_files, desk_times
from toolmark.baselines import desk_rows as rows
from toolmark.baselines.desk_facts import Facts, Table
from toolmark.baselines.desk_rounds import CallRounds, run_side_by_side
from toolmark.baselines.desk_tools import Toolkit
from toolmark.core import json_codec
from toolmark.core.model import Model
from toolmark.core.records import Call, Message, Reply, Request

CANNOT_TEXT = "I cannot do this with what is on offer."

_PICTURE_NAME = re.compile(r"(?<![\w.-])[\w.-]+\.(?:png|jpe?g|webp|gif)\b", re.IGNORECASE)
_NON_BLANK_RUN = re.compile(r"\S+")
_TEXT_SUFFIXES = (".txt", ".md", ".csv", ".json", ".ini", ".cfg", ".toml", ".yaml", ".yml")
_FILE_NAME = re.compile(r"(?<![\w/.-])[\w/.-]*[\w-]\.[a-z]{2,5}\b")
_MAX_FILES = 24
_ACTIONS = (
    rows.create_table,
    rows.change_rows,
    rows.append_sheet_row,
    desk_text_files.write_form_file,
    desk_text_files.replace_values,
    desk_times.convert_times,
)


class DeskAgent(Model):
    """Reads the picture and the sources it names, writes what its rules understand, and reports."""

    name = "baseline/desk"
    accepts_audio = False

    async def __call__(self, request: Request, /) -> Reply:
        """Make the next calls, or report what was found and done."""
        question = next((m.text for m in request.messages if m.role == "user"), "")
        if not request.tools or not question:
            return Reply(text=CANNOT_TEXT)
        steps = solve_question(question, Toolkit(request.tools))
        try:
            calls = next(steps)
            for results in results_by_round(request.messages):
                calls = steps.send(results)
        except StopIteration as end:
            return Reply(text=end.value[0])
        round_index = sum(bool(message.calls) for message in request.messages)
        numbered = [replace(call, id=f"call_{round_index}_{n}") for n, call in enumerate(calls)]
        return Reply(calls=tuple(numbered))


def results_by_round(messages: Sequence[Message]) -> list[list[str]]:
    """Return the results of each reply with calls, in the order of the calls."""
    rounds: list[list[str]] = []
    for index, message in enumerate(messages):
        if not message.calls:
            continue
        found: dict[str, str] = {}
        for later in messages[index + 1 :]:
            if later.role != "tool":
                break
            found[later.call_id] = later.text
        rounds.append([found.get(call.id, "") for call in message.calls])
    return rounds


def solve_question(question: str, toolkit: Toolkit) -> CallRounds:
    """Inspect, read, write; the return value has the text of the answer."""
    task_text, fields = desk_answer.split_answer_form(question)
    facts = Facts(task_text)
    yield from inspect_picture(toolkit, facts)
    yield from read_sources(toolkit, facts)
    rows_done = yield from run_side_by_side([act(toolkit, facts) for act in _ACTIONS])
    if not fields:
        return [desk_answer.full_report(facts, rows_done)]
    return [desk_answer.fill_answer_form(fields, facts, rows_done) or CANNOT_TEXT]


# --- looking ------------------------------------------------------------------------------


def inspect_picture(toolkit: Toolkit, facts: Facts) -> CallRounds:
    """Read the picture and list the files and tables, in one round of calls."""
    picture = _picture_path(facts.question)
    root = str(PurePosixPath(picture).parent.parent)
    scans = toolkit.ranked_calls("decode QR barcode", path=picture) if picture else []
    call_by_purpose = {
        "text": toolkit.best_call("perform OCR", path=picture) if picture else None,
        "code": scans[0] if scans else None,
        "tree": toolkit.best_call("directory tree", path=root),
        "tables": toolkit.best_call("list database tables"),
        "graph": toolkit.best_call("read graph"),
    }
    calls = {name: call for name, call in call_by_purpose.items() if call}
    result_by_purpose = dict(
        zip(calls, (yield list(calls.values())) if calls else [], strict=False)
    )
    facts.picture_text = result_by_purpose.get("text", "")
    facts.codes = list(
        desk_facts.strings_under_key(
            desk_facts.parse_json(result_by_purpose.get("code", "")), "content"
        )
    )
    if not facts.codes and len(facts.picture_text.split()) < 4 and len(scans) > 1:
        result_by_purpose["code"] = (yield scans[1:2])[0]
        facts.codes = list(
            desk_facts.strings_under_key(
                desk_facts.parse_json(result_by_purpose["code"]), "content"
            )
        )
    facts.paths = list(
        desk_facts.file_paths(desk_facts.parse_json(result_by_purpose.get("tree", "")), root)
    )
    if not facts.paths:
        mentioned = _FILE_NAME.findall(facts.question)
        facts.paths = [f"{root}/{name}" for name in dict.fromkeys(mentioned) if name not in picture]
    names = [
        next(iter(row.values()))
        for row in json_codec.parse_rows(result_by_purpose.get("tables", ""))
        if row
    ]
    facts.tables = [Table(str(name), "rows", "", []) for name in names]
    return []


def _picture_path(question: str) -> str:
    """Return the picture's path, the longest of its mentions."""
    return max(_picture_mentions(question), key=len, default="")


def _picture_mentions(question: str) -> Iterator[str]:
    """Yield the pictures that are named, each with the folders before it."""
    for run in _NON_BLANK_RUN.findall(question):
        root = run.find("/")
        for found in _PICTURE_NAME.finditer(run):
            start = found.start()
            yield run[
                root if 0 <= root < start - 1 and run[start - 1] == "/" else start : found.end()
            ]


# --- reading ------------------------------------------------------------------------------


def read_sources(toolkit: Toolkit, facts: Facts) -> CallRounds:
    """Read the tables, and the files that the question, the picture or other files mention."""
    paths_read: set[str] = set()
    while True:
        steps: list[CallRounds] = []
        if not paths_read:
            steps += [_read_table(toolkit, facts, at) for at in range(len(facts.tables))]
        paths = [path for path in _mentioned_paths(facts) if path not in paths_read][
            : _MAX_FILES - len(paths_read)
        ]
        steps += [_read_file(toolkit, facts, path) for path in paths]
        if not steps:
            return []
        paths_read.update(paths or [""])
        yield from run_side_by_side(steps)


def _read_table(toolkit: Toolkit, facts: Facts, index: int) -> CallRounds:
    table = facts.tables[index]
    call = toolkit.best_call(
        "read query select", query=f"SELECT * FROM {rows.quote_identifier(table.name)}"
    )
    if call:
        (text,) = yield [call]
        facts.tables[index] = table._replace(rows=json_codec.parse_rows(text))
    return []


def _read_file(toolkit: Toolkit, facts: Facts, path: str) -> CallRounds:
    if path.endswith(".xlsx"):
        return (yield from _read_workbook(toolkit, facts, path))
    call = toolkit.best_call("read text file", path=path)
    if call:
        (text,) = yield [call]
        facts.add_file(path, text)
    return []


def _read_workbook(toolkit: Toolkit, facts: Facts, path: str) -> CallRounds:
    call = toolkit.best_call("describe workbook", path=path)
    if call is None:
        return []
    (text,) = yield [call]
    content = desk_facts.parse_json(text)
    sheets = content.get("sheets") if isinstance(content, dict) else None
    names = list(desk_facts.strings_under_key(sheets, "name"))
    found = [(name, toolkit.best_call("read range", path=path, sheet=name)) for name in names]
    calls: list[Call] = [call for _, call in found if call]
    if not calls:
        return []
    for name, result in zip(names, (yield calls), strict=False):
        cells = desk_facts.parse_json(result)
        rows = desk_facts.records_from_grid(
            cells.get("values") if isinstance(cells, dict) else None
        )
        facts.tables.append(Table(name, "sheet", path, rows))
    return []


def _mentioned_paths(facts: Facts) -> list[str]:
    """Return the paths that the known text names, or that are in a folder that it names."""
    known_text = " ".join((facts.question, facts.picture_text, *facts.texts.values()))
    lowered = known_text.casefold()
    words = desk_facts.flatten_words(f"{facts.question} {facts.picture_text}")
    found = []
    for path in facts.paths:
        pure_path = PurePosixPath(path)
        if not path.endswith((*_TEXT_SUFFIXES, ".xlsx")):
            continue
        if (
            pure_path.name.casefold() in lowered
            or desk_facts.contains_value(pure_path.stem, words)
            or f"folder `{pure_path.parent.name}`" in facts.question
            or f"the folder {pure_path.parent.name}" in facts.question
        ):
            found.append(path)
    return found
