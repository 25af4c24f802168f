"""Text files: writing new ones in a given form, and replacing values in existing ones."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from toolmark.baselines.desk_facts import Facts, Link
from toolmark.baselines.desk_rounds import CallRounds, call_with_retry
from toolmark.baselines.desk_tools import Toolkit
from toolmark.baselines.text_spans import word_stems

_NEW_FILE = re.compile(r"\bfile `?([\w/.-]*NAME[\w.-]*)`?(?: \(([^)]*)\))?")
_LINE_FORM = re.compile(r"of the form[:\s]*\n([^\n]+?)(?=\n|$)")
_UNITS = {"kg", "g", "km", "m", "cm", "mm", "l", "ml", "h", "min", "s"}
_CODE = re.compile(r"\b[A-Z]{1,4}-\d{2,6}\b")
_CHOICE_PHRASE = re.compile(r"\bthe one (?:that|which|with|for) [^.:;,]+")
_WANTED_SETTING = re.compile(
    r"`([^`\s]+\.\w+)`\W+`?(\w+)`? (?:(?:is to|to|should|must) be) `?([\w.]+?)`?[.,;\s]"
)


def write_form_file(toolkit: Toolkit, facts: Facts) -> CallRounds:
    """Write the file that is named after a known value, with one line in the given form."""
    file_request, shape = _NEW_FILE.search(facts.question), _LINE_FORM.search(facts.question)
    if not file_request or not shape:
        return []
    links = facts.linked_records()
    name_value = facts.best_value(file_request[2] or "name", links)
    fields = [_field_text(part.strip(), facts, links) for part in shape[1].split("|")]
    if name_value is None or None in fields:
        return []
    line = " | ".join(filter(None, fields))
    path = new_file_path(facts, str(name_value))
    call = toolkit.best_call("write file", path=path, content=f"{line}\n")
    if call:
        yield from call_with_retry(toolkit, [call], path)
    return [{"file": path, "line": line}]


def new_file_path(facts: Facts, name: str) -> str:
    """Return the path of the new file for a name, "" where none is requested."""
    file_request, root = _NEW_FILE.search(facts.question), _common_folder(facts)
    if not file_request or not root:
        return ""
    return f"{root}/{file_request[1].replace('NAME', apply_case(name, file_request[2]))}"


def apply_case(name: str, remark: str) -> str:
    """Return a name, in lower case if the remark asks for this."""
    return name.lower() if re.search(r"lower case|small letters", remark) else name


def _field_text(part: str, facts: Facts, links: Sequence[Link]) -> str | None:
    found = facts.best_value(part, links)
    unit = part.split()[-1] if part.split() else ""
    if found is None:
        return None
    return f"{found} {unit}" if unit in _UNITS else str(found)


def _common_folder(facts: Facts) -> str:
    """Return the deepest folder that contains all known files."""
    if not facts.paths:
        return ""
    parts = [PurePosixPath(path).parent.parts for path in facts.paths]
    n_common = 0
    while all(len(one) > n_common and one[n_common] == parts[0][n_common] for one in parts):
        n_common += 1
    return str(PurePosixPath(*parts[0][:n_common])) if n_common else ""


# --- replaced values --------------------------------------------------------------------


def replace_values(toolkit: Toolkit, facts: Facts) -> CallRounds:
    """Make the changes that the chosen note requests, then commit them if that is requested."""
    code = chosen_code(facts)
    edits = list(_wanted_edits(facts, code)) if code else []
    if not edits:
        return []
    calls = [
        toolkit.best_call(
            "edit file", path=path, edits=[{"oldText": key + old_value, "newText": key + new}]
        )
        for path, key, old_value, new in edits
    ]
    yield [call for call in calls if call]
    yield from commit_files(toolkit, facts, [path for path, *_ in edits], code)
    return [
        {"file": path, "value before": old_value, "value now": new}
        for path, _, old_value, new in edits
    ]


def chosen_code(facts: Facts) -> str:
    """Return the code in the picture whose line is most like "the one that ..." of the question."""
    phrase = _CHOICE_PHRASE.search(facts.question)
    phrase_stems = word_stems(phrase[0] if phrase else facts.question)
    lines = [line for line in facts.picture_text.splitlines() if _CODE.search(line)]
    best = max(
        lines, key=lambda line: len(word_stems(_CODE.sub("", line)) & phrase_stems), default=""
    )
    found = _CODE.search(best)
    return found[0] if found else ""


def _wanted_edits(facts: Facts, code: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield path, key, old and new value of each change that the code's own text requests."""
    texts = [text for path, text in facts.texts.items() if PurePosixPath(path).stem == code]
    for name, key, wanted in (
        found for text in texts for found in _WANTED_SETTING.findall(f"{text}\n")
    ):
        path = facts.find_path(name)
        current = re.search(
            rf"^({re.escape(key)}\s*[=:]\s*)(\S+)$", facts.texts.get(path, ""), re.MULTILINE
        )
        if current:
            yield path, current[1], current[2], wanted


def commit_files(toolkit: Toolkit, facts: Facts, paths: Sequence[str], code: str) -> CallRounds:
    """Commit changed files of a repository with the message that the question describes."""
    repository = re.search(r"[Rr]epository `?([\w-]+)`?", facts.question)
    if not repository or "commit" not in facts.question:
        return []
    repository_path = next(
        (p.partition(f"/{repository[1]}/")[0] for p in paths if f"/{repository[1]}/" in p), None
    )
    if repository_path is None:
        return []
    repository_path = f"{repository_path}/{repository[1]}"
    relative_paths = [str(PurePosixPath(path).relative_to(repository_path)) for path in paths]
    add_call = toolkit.best_call(
        "git add", repo_path=repository_path, files=list(dict.fromkeys(relative_paths))
    )
    commit_call = toolkit.best_call(
        "git commit", repo_path=repository_path, message=_commit_message(facts.question, code)
    )
    if add_call and commit_call:
        yield [add_call]
        yield [commit_call]
    return []


def _commit_message(question: str, code: str) -> str:
    """Return the commit message, with the code if the question asks for its number."""
    words = re.search(r"message `([^`]+)`(?: and [^.,]*\b(number)\b)?", question)
    if not words:
        return code
    return f"{words[1]} {code}" if words[2] else words[1]
