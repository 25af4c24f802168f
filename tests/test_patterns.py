"""Whatever a model, an endpoint, a server or a file says is read in time that grows as the text.

Two registers stand here. Every file that uses regular expressions is in one of them: `FOREIGN` for
those that read what others say, whose patterns are tried with texts made against them, and `OWN`,
with the reason. A file in neither fails, and so does a pattern made as the program runs that is not
in `MADE`. `READERS` are the functions that read foreign text, patterns or not.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests import patterns

from toolmark import brackets, codec, private
from toolmark.agents import executor
from toolmark.dialects import staged
from toolmark.dialects.parse import java, javascript, python, sketch, xml
from toolmark.dialects.parse import json as json_calls
from toolmark.dialects.parse import reply as calls_in_reply
from toolmark.dialects.parse.reply import Form
from toolmark.models import decode
from toolmark.models.mask import Mask
from toolmark.report import episode, tables
from toolmark.runs import card
from toolmark.score import answer, kinds, literal, similarity, values
from toolmark.score import java as java_values
from toolmark.score import javascript as javascript_values
from toolmark.suites.bfcl import execution
from toolmark.suites.funcbench import answer as integer
from toolmark.suites.m3 import judge, outcome
from toolmark.suites.m3.local import reply as claims
from toolmark.suites.mfcl import phrases, words
from toolmark.suites.mfcl.vision import answer as seen
from toolmark.suites.multinet import parse as choices
from toolmark.types import Reply, Result, Text, Tool
from toolmark.worlds import page

OWN = {
    "draw/": "words of tasks that the package makes",
    "media.py": "digests",
    "perturb/": "texts and recordings of tasks, chosen by whoever runs it",
    "review/truth.py": "what a reviewer types",
    "runs/folders.py": "names of folders, made here",
    "runs/terms.py": "names of metrics",
    "runs/dataset.py": "names of files, made here",
    "suites/__init__.py": "docstrings of the package",
    "suites/bfcl/export.py": "names of tasks, one at a time",
    "suites/bfcl/formats.py": "names of prompt formats",
    "suites/bfcl/interchange.py": "names of files",
    "suites/bfcl/modes.py": "text that the package damages",
    "suites/bfcl/sheets.py": "names of models",
    "suites/m3/author.py": "one class of characters",
    "suites/m3/condense.py": "names of tools",
    "suites/m3/local/": "what the package makes and reads back, but for replies",
    "suites/mfcl/filenames.py": "names of files",
    "suites/mfcl/speech_marks.py": "conditions on the command line",
    "suites/mfcl/turned.py": "texts of tasks",
    "suites/mfcl/vision/": "tasks that the package makes, but for answers and pages",
    "suites/multinet/": "published data of pinned digests, but for replies",
    "svg.py": "one class of characters",
    "worlds/mcp/config.py": "the user's own configuration",
    "worlds/mcp/doctor.py": "the user's own configuration",
    "worlds/mcp/counts.py": "the release of the kernel",
    "worlds/mcp/sandbox.py": "what bubblewrap says",
    "worlds/providers.py": "regions on the command line",
}
FOREIGN = (
    "agents/", "brackets.py", "canary.py", "codec.py", "dialects/", "models/", "private.py",
    "report/", "runs/card.py", "runs/store.py", "score/", "stats/formulas.py",
    "suites/bfcl/agentic_score.py", "suites/bfcl/decode.py",
    "suites/bfcl/execution.py", "suites/bfcl/fair.py", "suites/funcbench/", "suites/m3/judge.py",
    "suites/m3/outcome.py", "suites/m3/local/reply.py", "suites/m3/local/state/compare.py",
    "suites/mfcl/clarify.py", "suites/mfcl/faithful.py", "suites/mfcl/modes.py",
    "suites/mfcl/phrases.py", "suites/mfcl/words.py", "suites/mfcl/vision/answer.py",
    "suites/mfcl/vision/baselines/", "suites/multinet/parse.py", "worlds/corpus.py",
    "worlds/mcp/content.py", "worlds/mcp/denials.py", "worlds/mcp/pipe.py",
    "worlds/mcp/site.py", "worlds/memory.py", "worlds/page.py", "worlds/public.py",
)  # fmt: skip
SHORT = {
    "models/status.py": "the first 4,000 characters of a complaint",
    "suites/mfcl/phrases.py": "8,000 characters of a sentence",
}
"""Files whose patterns see no more than a few thousand characters: their work is bounded by that,
and only growth beyond the square of the text is refused."""
MADE = {
    ("agents/executor.py", "search"), ("models/doctor.py", "findall"),
    ("score/answer.py", "search"), ("models/baselines/desk_rows.py", "search"),
    ("models/baselines/desk_text.py", "search"),
    ("models/baselines/desk_time.py", "search"), ("suites/funcbench/answer.py", "finditer"),
    ("suites/m3/local/reply.py", "finditer"), ("suites/m3/local/reply.py", "sub"),
    ("suites/mfcl/faithful.py", "search"), ("suites/mfcl/modes.py", "finditer"),
    ("suites/mfcl/vision/baselines/question.py", "search"),
}  # fmt: skip
"""Patterns made as the program runs: a fixed frame around an escaped name, or a list of words."""


def _listed(file: str, register: object) -> int:
    """Return how much of a file's place the longest entry names; 0 for none."""
    found = [entry for entry in register if file.startswith(entry)]  # type: ignore[attr-defined]
    return max(map(len, found), default=0)


def _is_foreign(file: str) -> bool:
    return _listed(file, FOREIGN) > _listed(file, OWN)


FILES = patterns.files()
READ = [path for path in FILES if _is_foreign(str(path.relative_to(patterns.ROOT)))]


def test_every_file_with_patterns_is_in_a_register() -> None:
    names = [str(path.relative_to(patterns.ROOT)) for path in FILES]
    assert [name for name in names if not _listed(name, FOREIGN) + _listed(name, OWN)] == []
    entries = (*FOREIGN, *OWN)
    assert [entry for entry in entries if not any(n.startswith(entry) for n in names)] == [], (
        "an entry of no file"
    )


def test_every_pattern_of_foreign_text_is_tried_or_listed() -> None:
    """One that is compiled within a function is not seen: it belongs to the module."""
    made = {(use.file, use.method) for path in READ for use in patterns.uses(path)
            if use.pattern is None}  # fmt: skip
    assert made == MADE
    inside = {
        f"{path.relative_to(patterns.ROOT)}: {function.name}"
        for path in READ
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile"
    }
    assert inside == {  # of names and keys of the user's, joined; and one of fixed word lists
        "models/baselines/spans.py: phrase",
        "models/encode.py: __init__",
        "models/mask.py: __init__",
        "suites/m3/local/reply.py: _shape",
        "suites/m3/local/reply.py: _spelt",
        "suites/m3/outcome.py: _any",
    }


@pytest.mark.parametrize("path", READ, ids=lambda path: str(path.relative_to(patterns.ROOT)))
def test_patterns_take_linear_time(path: Path) -> None:
    tried = set()
    for use in patterns.uses(path):
        assert use.pattern is not None or (use.file, use.method) in MADE
        if use.pattern is None or (use.pattern.pattern, use.method) in tried:
            continue
        tried.add((use.pattern.pattern, use.method))
        found = patterns.worst(use, short=use.file in SHORT)
        assert found == "", f"{use.file}, line {use.line}: {use.name}.{use.method}: {found}"


# --- functions --------------------------------------------------------------------------

_MASK = Mask("sk-aaaaaaaaaaaaaaaab", ())
_TOOLS = (Tool(name="aa"), Tool(name="b"))


def _arguments(text: str) -> Reply:
    head = '{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":'
    return decode.reply((head + text + "}}}]}}]}").encode("utf-8", "surrogatepass"), {}, 0.0)


def _spoken(text: str) -> None:
    for sentence in phrases.sentences(text):
        phrases.sort(sentence)
        phrases.slots(sentence)


def _kinds(convert: Callable[..., Any], *names: str) -> dict[str, Callable[[str], object]]:
    return {name: partial(_converted, convert, name) for name in names}


def _converted(convert: Callable[..., Any], kind: str, text: str) -> object:
    return convert(text, kind, "String")


def _forms() -> dict[str, Callable[[str], object]]:
    forms: tuple[Form, ...] = ("python", "json", "verbose_xml", "concise_xml")
    return {f"calls as {form}": partial(_called, form) for form in forms}


def _called(form: Form, text: str) -> object:
    return calls_in_reply.read(text, form)


READERS: dict[str, Callable[[str], object]] = {
    "arguments sent as an object": _arguments,
    "a body": lambda text: decode.reply(text.encode("utf-8", "surrogatepass"), {}, 0.0),
    "mask": _MASK,
    "mask, cut": lambda text: _MASK.cut(text, 4000),
    "JSON": codec.loads,
    "rows": codec.rows,
    "escape": codec.escape,
    "restore": codec.restore,
    "thoughts": staged.thoughtless,
    "stages": staged.read,
    "Java by brackets": java.rough,
    "JavaScript by brackets": javascript.rough,
    "JSON calls": json_calls.parse,
    "JSON calls, whole": json_calls.whole,
    "Python calls": python.parse,
    "Python calls, whole": python.whole,
    **_forms(),
    "attempted": calls_in_reply.attempted,
    "sketch": sketch.call,
    "XML": xml.verbose,
    "XML, concise": xml.concise,
    "brackets": lambda text: brackets.split(text, 0, "\"'"),
    **{f"Java {name}": it for name, it in _kinds(
        java_values.convert, "ArrayList", "Array", "HashMap", "long", "float", "any").items()},
    **{f"JavaScript {name}": it for name, it in _kinds(
        javascript_values.convert, "array", "dict", "float", "Bigint", "any").items()},
    **{f"literal {name}": it for name, it in _kinds(
        literal.convert, "ArrayList", "Array", "HashMap", "any").items()},
    "literal": literal.read,
    "a number": kinds.number,
    "answer, official": lambda text: answer.official(text, ["aa", "1"]),
    "answer, fair": lambda text: answer.fair(text, ["aa", "$1"]),
    "answer's field": answer.field,
    "similarity": similarity.plain,
    "values": values.normal,
    "integer": lambda text: integer.read(text, "aa"),
    "questions": _spoken,
    "tokens": words.tokens,
    "final answer": seen.read,
    "answer, tidied": seen.tidy,
    "claims": lambda text: claims.check(text, ["1.5", "aa"], ["b"]),
    "a judge's mark": lambda text: judge.read(Reply(text=text), 10.0),
    "a judge's marks": lambda text: judge.read_steps(Reply(text=text), 3, 10.0),
    "a tool's failure": lambda text: outcome.failed(Result(parts=(Text(text),))),
    "choices": lambda text: choices.calls(text, "paper"),
    "an action": execution.parsed,
    "tools of a plan": lambda text: executor.select(text, _TOOLS),
    "a page": page.bare,
    "shown": tables.visible,
    "embedded": episode.embed,
    "a card": card.plain,
    "keys by look": private.stored,
    "keys in a text": lambda text: list(private.of_text(text)),
}  # fmt: skip
"""Java and JavaScript by grammar are not here: `dialects.parse.grammar` bounds their processor
time, as their grammars recover from errors in more than linear time."""

PUMPS = (
    "(", "[", "{", "<", '"', "'", "\\", '\\"', "a", "a.", "a(", "a=", "1", "1,", " ", "\n", "-",
    "new a<", "new ArrayList<a>() {{ add(", "new int[] {", '{"a":', "'a':", "<function=a>", "```",
    "```json\n", "<tool_call>", "answer: ", "\\boxed{", "f(a=1,", "a ", "//", "/*", "&", "é",
    "\ufdd0", "1e", '<param name="a">', "</", "],", "}", "is that a ", "so that i ", "7.", "777,",
    ". ", "<think>", "</think>", "aa is 1 ", "aa: ", 'new HashMap<a, b>() {{ put("a", ', "|a|",
    "a? ", "[a](b)", "<!--", "<a b=",
)  # fmt: skip


def _texts() -> Iterator[Callable[[int], str]]:
    for pump in PUMPS:
        for before, after in (("", ""), ("[f(a=", ")]")):

            def text(n: int, pump: str = pump, before: str = before, after: str = after) -> str:
                return before + pump * (n // len(pump)) + after

            yield text


@pytest.mark.parametrize("name", READERS)
def test_readers_take_linear_time(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read = READERS[name]
    # of a short text the tree is kept: read anew it would seem to take no time at all
    monkeypatch.setattr(python, "_kept", python._tree)

    def call(text: str) -> None:
        with suppress(Exception):  # refusing a text is as good as reading it, if it is quick
            read(text)

    for text in _texts():
        found = patterns.slow(call, text, few_s=0.02)
        assert found == "", f"{json.dumps(text(60))}: {found}"
