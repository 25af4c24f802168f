"""A baseline that works at a desk: it looks at the picture through tools, reads, then writes.

It has no eyes and no model: text recognition and code readers among the tools tell it what the
picture holds. It sees a Request and nothing else, and keeps nothing: what it did so far is played
again from the results in the messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from toolmark import codec
from toolmark.models.baselines import desk_answer, desk_facts, desk_text, desk_time
from toolmark.models.baselines import desk_rows as rows
from toolmark.models.baselines.desk_facts import Facts, Table
from toolmark.models.baselines.desk_kit import Kit
from toolmark.models.baselines.desk_work import Work, together
from toolmark.types import Call, Message, Reply, Request

NOTHING = "I cannot do this with what is on offer."

_PICTURE = re.compile(r"(?<![\w.-])[\w.-]+\.(?:png|jpe?g|webp|gif)\b", re.IGNORECASE)
_RUN = re.compile(r"\S+")
_TEXTS = (".txt", ".md", ".csv", ".json", ".ini", ".cfg", ".toml", ".yaml", ".yml")
_MENTIONED = re.compile(r"(?<![\w/.-])[\w/.-]*[\w-]\.[a-z]{2,5}\b")
_FILES = 24  # read at most
_ACTS = (rows.create, rows.change, rows.append, desk_text.form, desk_text.put, desk_time.convert)


class Desk:
    """Looks, reads all that is spoken of, writes what its rules understand, and tells of it."""

    name = "baseline/desk"
    hears = False

    async def __call__(self, request: Request, /) -> Reply:
        """Make the next calls, or tell what was found and done."""
        question = next((m.text for m in request.messages if m.role == "user"), "")
        if not request.tools or not question:
            return Reply(text=NOTHING)
        played = work(question, Kit(request.tools))
        try:
            calls = next(played)
            for results in heard(request.messages):
                calls = played.send(results)
        except StopIteration as end:
            return Reply(text=end.value[0])
        at = sum(bool(message.calls) for message in request.messages)
        named = [replace(call, id=f"call_{at}_{n}") for n, call in enumerate(calls)]
        return Reply(calls=tuple(named))


def heard(messages: Sequence[Message]) -> list[list[str]]:
    """Return the results of each reply with calls, in the order of the calls."""
    heard: list[list[str]] = []
    for at, message in enumerate(messages):
        if not message.calls:
            continue
        found: dict[str, str] = {}
        for after in messages[at + 1 :]:
            if after.role != "tool":
                break
            found[after.call_id] = after.text
        heard.append([found.get(call.id, "") for call in message.calls])
    return heard


def work(question: str, kit: Kit) -> Work:
    """Look, read, write; what there is to say is the end."""
    asked, fields = desk_answer.split(question)
    facts = Facts(asked)
    yield from look(kit, facts)
    yield from read(kit, facts)
    told = yield from together([act(kit, facts) for act in _ACTS])
    if not fields:
        return [desk_answer.whole(facts, told)]
    return [desk_answer.filled(fields, facts, told) or NOTHING]


# --- looking ------------------------------------------------------------------------------


def look(kit: Kit, facts: Facts) -> Work:
    """Have the picture read, and see which files and tables there are, all at once."""
    shown = _picture(facts.question)
    root = str(PurePosixPath(shown).parent.parent)
    scans = kit.calls("decode QR barcode", path=shown) if shown else []
    asked = {
        "text": kit.call("perform OCR", path=shown) if shown else None,
        "code": scans[0] if scans else None,
        "tree": kit.call("directory tree", path=root),
        "tables": kit.call("list database tables"),
        "graph": kit.call("read graph"),
    }
    calls = {name: call for name, call in asked.items() if call}
    heard = dict(zip(calls, (yield list(calls.values())) if calls else [], strict=False))
    facts.seen = heard.get("text", "")
    facts.codes = list(desk_facts.strings(desk_facts.loaded(heard.get("code", "")), "content"))
    if not facts.codes and len(facts.seen.split()) < 4 and len(scans) > 1:
        heard["code"] = (yield scans[1:2])[0]
        facts.codes = list(desk_facts.strings(desk_facts.loaded(heard["code"]), "content"))
    facts.paths = list(desk_facts.paths(desk_facts.loaded(heard.get("tree", "")), root))
    if not facts.paths:
        named = _MENTIONED.findall(facts.question)
        facts.paths = [f"{root}/{name}" for name in dict.fromkeys(named) if name not in shown]
    names = [next(iter(row.values())) for row in codec.rows(heard.get("tables", "")) if row]
    facts.tables = [Table(str(name), "rows", "", []) for name in names]
    return []


def _picture(question: str) -> str:
    """Return the picture's path, the longest way of naming it."""
    return max(_named(question), key=len, default="")


def _named(question: str) -> Iterator[str]:
    """Go through the pictures that are named, each with the folders before it."""
    for run in _RUN.findall(question):
        root = run.find("/")
        for found in _PICTURE.finditer(run):
            at = found.start()
            yield run[root if 0 <= root < at - 1 and run[at - 1] == "/" else at : found.end()]


# --- reading ------------------------------------------------------------------------------


def read(kit: Kit, facts: Facts) -> Work:
    """Read the tables, and the files that question, picture or other files speak of."""
    done: set[str] = set()
    while True:
        steps: list[Work] = []
        if not done:
            steps += [_table(kit, facts, at) for at in range(len(facts.tables))]
        wanted = [path for path in _wanted(facts) if path not in done][: _FILES - len(done)]
        steps += [_file(kit, facts, path) for path in wanted]
        if not steps:
            return []
        done.update(wanted or [""])
        yield from together(steps)


def _table(kit: Kit, facts: Facts, at: int) -> Work:
    table = facts.tables[at]
    call = kit.call("read query select", query=f"SELECT * FROM {rows.named(table.name)}")
    if call:
        (text,) = yield [call]
        facts.tables[at] = table._replace(rows=codec.rows(text))
    return []


def _file(kit: Kit, facts: Facts, path: str) -> Work:
    if path.endswith(".xlsx"):
        return (yield from _workbook(kit, facts, path))
    call = kit.call("read text file", path=path)
    if call:
        (text,) = yield [call]
        facts.read(path, text)
    return []


def _workbook(kit: Kit, facts: Facts, path: str) -> Work:
    call = kit.call("describe workbook", path=path)
    if call is None:
        return []
    (text,) = yield [call]
    held = desk_facts.loaded(text)
    sheets = held.get("sheets") if isinstance(held, dict) else None
    names = list(desk_facts.strings(sheets, "name"))
    found = [(name, kit.call("read range", path=path, sheet=name)) for name in names]
    calls: list[Call] = [call for _, call in found if call]
    if not calls:
        return []
    for name, told in zip(names, (yield calls), strict=False):
        cells = desk_facts.loaded(told)
        rows = desk_facts.grid(cells.get("values") if isinstance(cells, dict) else None)
        facts.tables.append(Table(name, "sheet", path, rows))
    return []


def _wanted(facts: Facts) -> list[str]:
    """Return the paths that are named, or lie in a folder that is named, in what was read."""
    said = " ".join((facts.question, facts.seen, *facts.texts.values()))
    whole, words = said.casefold(), desk_facts.flat(f"{facts.question} {facts.seen}")
    found = []
    for path in facts.paths:
        place = PurePosixPath(path)
        if not path.endswith((*_TEXTS, ".xlsx")):
            continue
        if (
            place.name.casefold() in whole
            or desk_facts.says(place.stem, words)
            or f"folder `{place.parent.name}`" in facts.question
            or f"the folder {place.parent.name}" in facts.question
        ):
            found.append(path)
    return found
