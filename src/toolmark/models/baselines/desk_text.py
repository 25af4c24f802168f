"""Text files: those written after a form, and those in which one value takes another's place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from toolmark.models.baselines.desk_facts import Facts, Link
from toolmark.models.baselines.desk_kit import Kit
from toolmark.models.baselines.desk_work import Work, persist
from toolmark.models.baselines.spans import stems

_FILE = re.compile(r"\bfile `?([\w/.-]*NAME[\w.-]*)`?(?: \(([^)]*)\))?")
_FORM = re.compile(r"of the form[:\s]*\n([^\n]+?)(?=\n|$)")
_UNITS = {"kg", "g", "km", "m", "cm", "mm", "l", "ml", "h", "min", "s"}
_CODE = re.compile(r"\b[A-Z]{1,4}-\d{2,6}\b")
_THE_ONE = re.compile(r"\bthe one (?:that|which|with|for) [^.:;,]+")
_TO_BE = re.compile(
    r"`([^`\s]+\.\w+)`\W+`?(\w+)`? (?:(?:is to|to|should|must) be) `?([\w.]+?)`?[.,;\s]"
)


def form(kit: Kit, facts: Facts) -> Work:
    """Write the file that is named after something known, its line after the form given."""
    named, shape = _FILE.search(facts.question), _FORM.search(facts.question)
    if not named or not shape:
        return []
    links = facts.links()
    who = facts.look(named[2] or "name", links)
    fields = [_field(part.strip(), facts, links) for part in shape[1].split("|")]
    if who is None or None in fields:
        return []
    line = " | ".join(filter(None, fields))
    path = place(facts, str(who))
    call = kit.call("write file", path=path, content=f"{line}\n")
    if call:
        yield from persist(kit, [call], path)
    return [{"file": path, "line": line}]


def place(facts: Facts, name: str) -> str:
    """Return the path of the file that is to bear a name; "" where none is asked for."""
    asked, root = _FILE.search(facts.question), _root(facts)
    if not asked or not root:
        return ""
    return f"{root}/{asked[1].replace('NAME', cased(name, asked[2]))}"


def cased(name: str, said: str) -> str:
    """Return a name in lower case where that is said."""
    return name.lower() if re.search(r"lower case|small letters", said) else name


def _field(part: str, facts: Facts, links: Sequence[Link]) -> str | None:
    found = facts.look(part, links)
    unit = part.split()[-1] if part.split() else ""
    if found is None:
        return None
    return f"{found} {unit}" if unit in _UNITS else str(found)


def _root(facts: Facts) -> str:
    """Return the folder that all known files are below."""
    if not facts.paths:
        return ""
    parts = [PurePosixPath(path).parent.parts for path in facts.paths]
    same = 0
    while all(len(one) > same and one[same] == parts[0][same] for one in parts):
        same += 1
    return str(PurePosixPath(*parts[0][:same])) if same else ""


# --- values that take another's place -------------------------------------------------------


def put(kit: Kit, facts: Facts) -> Work:
    """Carry out what the chosen note says is to be, then commit it where that is asked."""
    code = chosen(facts)
    edits = list(_edits(facts, code)) if code else []
    if not edits:
        return []
    calls = [
        kit.call("edit file", path=path, edits=[{"oldText": key + old, "newText": key + new}])
        for path, key, old, new in edits
    ]
    yield [call for call in calls if call]
    yield from commit(kit, facts, [path for path, *_ in edits], code)
    return [{"file": path, "value before": old, "value now": new} for path, _, old, new in edits]


def chosen(facts: Facts) -> str:
    """Return the code in the picture whose line is most like "the one that ..." of the question."""
    said = _THE_ONE.search(facts.question)
    asked = stems(said[0] if said else facts.question)
    lines = [line for line in facts.seen.splitlines() if _CODE.search(line)]
    best = max(lines, key=lambda line: len(stems(_CODE.sub("", line)) & asked), default="")
    found = _CODE.search(best)
    return found[0] if found else ""


def _edits(facts: Facts, code: str) -> Iterator[tuple[str, str, str, str]]:
    """Go through path, key, old and new value of all that the code's own text says is to be."""
    told = [text for path, text in facts.texts.items() if PurePosixPath(path).stem == code]
    for name, key, wanted in (found for text in told for found in _TO_BE.findall(f"{text}\n")):
        path = facts.find(name)
        held = re.search(
            rf"^({re.escape(key)}\s*[=:]\s*)(\S+)$", facts.texts.get(path, ""), re.MULTILINE
        )
        if held:
            yield path, held[1], held[2], wanted


def commit(kit: Kit, facts: Facts, paths: Sequence[str], code: str) -> Work:
    """Record changed files of a repository under the message that the question describes."""
    named = re.search(r"[Rr]epository `?([\w-]+)`?", facts.question)
    if not named or "commit" not in facts.question:
        return []
    home = next((p.partition(f"/{named[1]}/")[0] for p in paths if f"/{named[1]}/" in p), None)
    if home is None:
        return []
    home = f"{home}/{named[1]}"
    inside = [str(PurePosixPath(path).relative_to(home)) for path in paths]
    add = kit.call("git add", repo_path=home, files=list(dict.fromkeys(inside)))
    done = kit.call("git commit", repo_path=home, message=_message(facts.question, code))
    if add and done:
        yield [add]
        yield [done]
    return []


def _message(question: str, code: str) -> str:
    """Return the words for the message, with the code where its number is asked for."""
    words = re.search(r"message `([^`]+)`(?: and [^.,]*\b(number)\b)?", question)
    if not words:
        return code
    return f"{words[1]} {code}" if words[2] else words[1]
