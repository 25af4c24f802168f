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

import msgspec
import pytest
from tests import pattern_scaling

from toolmark.agents import executor
from toolmark.core import brackets, json_codec, secrets
from toolmark.core.decode_errors import describe_decode_error
from toolmark.core.records import Reply, Result, Text, Tool
from toolmark.environments import html_conversion
from toolmark.formats import executor_json
from toolmark.formats.call_syntaxes import call_syntaxes
from toolmark.formats.parse import (
    bfcl_json_calls,
    bfcl_xml_calls,
    foreign_calls,
    java_calls,
    javascript_calls,
    python_calls,
    reply_parser,
    rough_call_parser,
    syntax_readers,
    thoughts,
)
from toolmark.formats.parse.reply_parser import CallForm
from toolmark.language import word_likeness
from toolmark.models.secret_mask import SecretMask
from toolmark.models.wires import chat_reply
from toolmark.models.wires.tool_names import NO_TOOLS
from toolmark.official_bfcl import executable_calls
from toolmark.reports import episode_block, table_format
from toolmark.runs import data_card
from toolmark.scoring import (
    answer_matching,
    java_collections,
    text_similarity,
    value_conversion,
    value_matching,
)
from toolmark.scoring import comparators as comparators
from toolmark.scoring import java_values as java_values
from toolmark.scoring import javascript_values as javascript_values
from toolmark.suites.funcbench import answer_parser
from toolmark.suites.m3 import call_outcomes, judge_questions
from toolmark.suites.m3.local import answer_checking
from toolmark.suites.mfcl_speech import clarification_phrases
from toolmark.suites.mfcl_vision import final_answer
from toolmark.suites.multinet import answer_parsing

OWN = {
    "authoring/shortcut_checks.py": "words of the user's own questions, one class of characters",
    "authoring/tool_lint.py": "names of tools, one class of characters",
    "studio/suite_package.py": "the name of a package on the command line",
    "generation/drawing/": "words of tasks that the package makes",
    "core/media.py": "digests",
    "language/": "texts of tasks, chosen by whoever runs it",
    "perturb/": "texts and recordings of tasks, chosen by whoever runs it",
    "studio/review_reference_export.py": "what a reviewer types",
    "runs/run_folders.py": "names of folders, made here",
    "runs/sensitive_words.py": "names of metrics",
    "runs/dataset_folder.py": "names of files, made here",
    "runs/suite_parameters.py": "docstrings of a suite's function",
    "studio/bfcl_interchange/result_export.py": "names of tasks, one at a time",
    "official_bfcl/prompt_formats.py": "names of prompt formats",
    "studio/bfcl_interchange/result_files.py": "names of files",
    "official_bfcl/entry_groups.py": "ids of published tasks",
    "statistics/row_filters.py": "names of columns in formulas of suites",
    "official_bfcl/format_failure_modes.py": "text that the package damages",
    "studio/bfcl_interchange/leaderboard_files.py": "names of models",
    "studio/bfcl_audit/published_layouts.py": "names of files",
    "studio/m3_authoring.py": "one class of characters",
    "studio/m3_condensing.py": "names of tools",
    "suites/m3/local/": "what the package makes and reads back, but for replies",
    "generation/portable_file_names.py": "names of files",
    "runs/variations/": "texts and tools of tasks, but for replies",
    "suites/bfcl/twins/": "published data of a pinned digest",
    "suites/mfcl_speech/condition_labels.py": "conditions on the command line",
    "suites/mfcl_speech/reversed_meaning.py": "texts of tasks",
    "suites/mfcl_vision/": "tasks that the package makes, but for answers and pages",
    "suites/multinet/": "published data of pinned digests, but for replies",
    "cli/wrong_command_lines.py": "messages on the command line",
    "core/svg.py": "one class of characters",
    "environments/mcp/host_entries.py": "the user's own configuration",
    "environments/mcp/server_config.py": "the user's own configuration",
    "environments/mcp/server_launch.py": "the user's own configuration",
    "environments/mcp/server_check.py": "the user's own configuration",
    "environments/mcp/process_counts.py": "the release of the kernel",
    "environments/mcp/pid_report.py": "what bubblewrap says",
    "environments/mcp/sandbox.py": "what bubblewrap says",
    "environments/search_providers.py": "regions on the command line",
}
FOREIGN = (
    "agents/", "baselines/", "core/brackets.py", "core/canary.py", "core/decode_errors.py",
    "core/field_templates.py",
    "core/json_codec.py", "formats/", "judging/",
    "models/",
    "core/secrets.py", "reports/", "runs/data_card.py", "runs/run_store.py",
    "runs/sound_checks.py", "runs/variations/own_names.py", "scoring/",
    "official_bfcl/agentic_scoring.py", "official_bfcl/reply_decoding.py",
    "studio/bfcl_audit/published_rows.py",
    "official_bfcl/executable_calls.py", "official_bfcl/fair_rule.py", "suites/funcbench/",
    "suites/m3/judge_questions.py", "suites/m3/call_outcomes.py",
    "suites/m3/local/answer_checking.py", "suites/m3/local/workspace_state/state_comparison.py",
    "suites/mfcl_speech/clarification_rules.py", "suites/mfcl_speech/wording_fidelity.py",
    "suites/mfcl_speech/heard_values.py", "suites/mfcl_speech/clarification_phrases.py",
    "suites/mfcl_speech/speech_failure_modes.py",
    "suites/mfcl_speech/clarification_topics.py", "suites/mfcl_speech/topic_matching.py",
    "suites/mfcl_speech/value_read_back.py",
    "language/word_likeness.py", "language/value_tokens.py", "language/digit_numbers.py",
    "suites/mfcl_vision/final_answer.py",
    "suites/mfcl_vision/search_baselines.py", "suites/multinet/answer_parsing.py",
    "environments/page_corpus.py", "environments/mcp/result_content.py",
    "environments/mcp/sandbox_denials.py", "environments/mcp/stdio_process.py",
    "environments/mcp/mcp_environment.py", "environments/memory_environment.py",
    "environments/html_conversion.py", "environments/public_web.py",
    "studio/traces/",
)  # fmt: skip
SHORT = {
    "models/complaint_outcome.py": "the first 4,000 characters of a complaint",
    "suites/mfcl_speech/clarification_phrases.py": "8,000 characters of a sentence",
}
"""Files whose patterns see no more than a few thousand characters: their work is bounded by that,
and only growth beyond the square of the text is refused."""
MADE = {
    ("agents/executor.py", "search"), ("models/probes/media_probes.py", "findall"),
    ("scoring/answer_matching.py", "search"), ("suites/funcbench/answer_parser.py", "finditer"),
    ("suites/m3/local/answer_checking.py", "finditer"),
    ("suites/m3/local/answer_checking.py", "sub"),
    ("suites/mfcl_speech/wording_fidelity.py", "search"),
    ("suites/mfcl_speech/heard_values.py", "finditer"),
}  # fmt: skip
"""Patterns made as the program runs: a fixed frame around an escaped name, or a list of words."""


def _listed(file: str, register: object) -> int:
    """Return how much of a file's place the longest entry names; 0 for none."""
    found = [entry for entry in register if file.startswith(entry)]  # type: ignore[attr-defined]
    return max(map(len, found), default=0)


def _is_foreign(file: str) -> bool:
    return _listed(file, FOREIGN) > _listed(file, OWN)


FILES = pattern_scaling.files()
READ = [path for path in FILES if _is_foreign(str(path.relative_to(pattern_scaling.ROOT)))]


def test_every_file_with_patterns_is_in_a_register() -> None:
    names = [str(path.relative_to(pattern_scaling.ROOT)) for path in FILES]
    assert [name for name in names if not _listed(name, FOREIGN) + _listed(name, OWN)] == []
    entries = (*FOREIGN, *OWN)
    assert [entry for entry in entries if not any(n.startswith(entry) for n in names)] == [], (
        "an entry of no file"
    )


def test_every_pattern_of_foreign_text_is_tried_or_listed() -> None:
    """One that is compiled within a function is not seen: it belongs to the module."""
    made = {(use.file, use.method) for path in READ for use in pattern_scaling.uses(path)
            if use.pattern is None}  # fmt: skip
    assert made == MADE
    inside = {
        f"{path.relative_to(pattern_scaling.ROOT)}: {function.name}"
        for path in READ
        if "re.compile" in path.read_text()
        for function in ast.walk(ast.parse(path.read_text()))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Attribute) and node.attr == "compile"
        if ast.unparse(node) == "re.compile"
    }
    assert inside == {  # of literals, or names and keys of the user's, joined
        "formats/parse/foreign_calls.py: _marker_pattern",
        "models/wires/tool_names.py: __init__",
        "runs/variations/own_names.py: _name_pattern",
        "models/secret_mask.py: __init__",
        "suites/m3/local/answer_checking.py: _code_pattern",
        "suites/m3/local/answer_checking.py: _name_pattern",
        "suites/m3/call_outcomes.py: _any_pattern",
    }


@pytest.mark.parametrize("path", READ, ids=lambda path: str(path.relative_to(pattern_scaling.ROOT)))
def test_patterns_take_linear_time(path: Path) -> None:
    tried = set()
    for use in pattern_scaling.uses(path):
        assert use.pattern is not None or (use.file, use.method) in MADE
        if use.pattern is None or (use.pattern.pattern, use.method) in tried:
            continue
        tried.add((use.pattern.pattern, use.method))
        found = pattern_scaling.worst(use, short=use.file in SHORT)
        assert found == "", f"{use.file}, line {use.line}: {use.name}.{use.method}: {found}"


# --- functions --------------------------------------------------------------------------

_MASK = SecretMask("sk-aaaaaaaaaaaaaaaab", ())
_TOOLS = (Tool(name="aa"), Tool(name="b"))


def _read_body(text: str) -> Reply:
    body = text.encode("utf-8", "surrogatepass")
    return chat_reply.decode_reply(body, NO_TOOLS, 0.0, "")


def _arguments(text: str) -> Reply:
    head = '{"choices":[{"message":{"tool_calls":[{"function":{"name":"f","arguments":{"a":'
    return chat_reply.decode_reply(
        (head + text + "}}}]}}]}").encode("utf-8", "surrogatepass"), NO_TOOLS, 0.0, ""
    )


def _spoken(text: str) -> None:
    for sentence in clarification_phrases.split_sentences(text):
        clarification_phrases.classify_sentence(sentence)
        clarification_phrases.read_back_slots(sentence)


def _kinds(convert: Callable[..., Any], *names: str) -> dict[str, Callable[[str], object]]:
    return {name: partial(_converted, convert, name) for name in names}


def _converted(convert: Callable[..., Any], kind: str, text: str) -> object:
    return convert(text, kind, "String")


def _comparators() -> dict[str, Callable[[str], object]]:
    expected: dict[str, Any] = {
        "number": 7, "money": "$7", "date": "2024-03-05", "time": "14:30", "text": "a b",
        "bool": True, "name": "A. B. Jones", "place": "Paris, France", "set": ["a", "b", 7],
        "json": {"a": [1]}, "file": "a", "regex": "(a|aa)+b",
    }  # fmt: skip
    return {
        f"compare {kind}: {way}": partial(getattr(each(), way), expected=expected[kind])
        for kind, each in comparators.COMPARATORS.items()
        for way in ("compare_value", "find_in_answer")
    }


def _syntaxes() -> dict[str, Callable[[str], object]]:
    return {
        f"calls as {syntax.name} writes them": partial(syntax_readers.read_calls, syntax)
        for syntax in call_syntaxes().syntaxes
    }


def _forms() -> dict[str, Callable[[str], object]]:
    forms: tuple[CallForm, ...] = ("python", "json", "verbose_xml", "concise_xml")
    return {f"calls as {form}": partial(_called, form) for form in forms}


def _called(form: CallForm, text: str) -> object:
    return reply_parser.parse_reply(text, form)


READERS: dict[str, Callable[[str], object]] = {
    "arguments sent as an object": _arguments,
    "a body": lambda text: chat_reply.decode_reply(
        text.encode("utf-8", "surrogatepass"), NO_TOOLS, 0.0, ""
    ),
    "mask": _MASK,
    "mask, cut": lambda text: _MASK.cut_text(text, 4000),
    "JSON": json_codec.parse_json,
    "rows": json_codec.parse_rows,
    "escape": json_codec.escape_surrogates,
    "restore": json_codec.restore_surrogates,
    "thoughts": executor_json.strip_thoughts,
    "stages": executor_json.parse_calls,
    "Java by brackets": java_calls.parse_roughly,
    "JavaScript by brackets": javascript_calls.parse_roughly,
    "JSON calls": bfcl_json_calls.parse_calls,
    "JSON calls, whole": bfcl_json_calls.parse_complete_calls,
    "Python calls": python_calls.parse_calls,
    "Python calls, whole": python_calls.parse_written_calls,
    **_forms(),
    **_comparators(),
    **_syntaxes(),
    "calls as text": lambda text: foreign_calls.find_foreign_call(text, ["aa", "g"], text),
    "thoughts apart": thoughts.split_thoughts,
    "attempted": reply_parser.looks_like_calls,
    "sketch": rough_call_parser.parse_call,
    "XML": bfcl_xml_calls.parse_verbose,
    "XML, concise": bfcl_xml_calls.parse_concise,
    "brackets": lambda text: brackets.split_at_commas(text, 0, "\"'"),
    **{
        f"Java {name}": it
        for name, it in _kinds(
            java_values.convert_java_value, "ArrayList", "Array", "HashMap", "long", "float", "any"
        ).items()
    },
    **{
        f"JavaScript {name}": it
        for name, it in _kinds(
            javascript_values.convert_javascript_value, "array", "dict", "float", "Bigint", "any"
        ).items()
    },
    **{
        f"literal {name}": it
        for name, it in _kinds(
            java_collections.convert_java_collection, "ArrayList", "Array", "HashMap", "any"
        ).items()
    },
    "literal": java_collections.parse_collection,
    "a number": value_conversion.parse_number,
    "answer, official": lambda text: answer_matching.find_answer_official(text, ["aa", "1"]),
    "answer, fair": lambda text: answer_matching.find_answer_fair(text, ["aa", "$1"]),
    "answer's field": answer_matching.extract_answer_field,
    "similarity": text_similarity.normalise_text,
    "values": value_matching.normalise_text,
    "integer": lambda text: answer_parser.parse_answer(text, "aa"),
    "questions": _spoken,
    "tokens": word_likeness.split_tokens,
    "final answer": final_answer.parse_final_message,
    "answer, tidied": final_answer.canonical_answer,
    "claims": lambda text: answer_checking.check_answer(text, ["1.5", "aa"], ["b"]),
    "a decode error": lambda text: describe_decode_error(msgspec.ValidationError(text)),
    "a judge's mark": lambda text: judge_questions.parse_score(Reply(text=text), 10.0),
    "a judge's marks": lambda text: judge_questions.parse_step_scores(Reply(text=text), 3, 10.0),
    "a tool's failure": lambda text: call_outcomes.is_error_result(Result(parts=(Text(text),))),
    "choices": lambda text: answer_parsing.extract_calls(text, "paper"),
    "an action": executable_calls.parse_literal_call,
    "tools of a plan": lambda text: executor.select_named_tools(text, _TOOLS),
    "a page": html_conversion.html_to_text,
    "shown": table_format.visible_text,
    "embedded": episode_block.embed_json,
    "a card": data_card.escape_markdown,
    "keys by look": secrets.mask_model_spec,
    "keys in a text": lambda text: list(secrets.secrets_in_text(text)),
}
"""Java and JavaScript by grammar are not here: `formats.parse.pinned_grammars` bounds their
processor time, as their grammars recover from errors in more than linear time."""

PUMPS = (
    "(", "[", "{", "<", '"', "'", "\\", '\\"', "a", "a.", "a(", "a=", "1", "1,", " ", "\n", "-",
    "new a<", "new ArrayList<a>() {{ add(", "new int[] {", '{"a":', "'a':", "<function=a>", "```",
    "```json\n", "<tool_call>", "answer: ", "\\boxed{", "f(a=1,", "a ", "//", "/*", "&", "é",
    "\ufdd0", "1e", '<param name="a">', "</", "],", "}", "is that a ", "so that i ", "7.", "777,",
    ". ", "<think>", "</think>", "aa is 1 ", "aa: ", 'new HashMap<a, b>() {{ put("a", ', "|a|",
    "a? ", "[a](b)", "<!--", "<a b=",
)  # fmt: skip
# of calls in the syntaxes of open models
SYNTAX_PUMPS = (
    "<function=a>", "<function=a></function>", "<parameter=a>", "<tool_call>a", "<arg_key>",
    "<arg_key>a</arg_key>", '<invoke name="a">', "[TOOL_CALLS]", "[TOOL_CALLS]a[ARGS]",
    '<tool_call>{"name": "a", "arguments": {}}', "functools[", "to=functions.", "<|channel|>",
    "<|tool_call_begin|>", "<|a|>", '<tool_call>"', "<tool_call>[", "</tool_call>",
)  # fmt: skip
# of answers in which a value is stated
ANSWER_PUMPS = (
    "1 ", "7 or ", "not ", "one ", "hundred ", "$", "1/",
    "5 feet ", "5 March ", "Paris, ", "a, and ", "a. b. ", "half past ", "the answer is ",
    "- a\n", "1:", "the ", "therefore 7 ", "7, 8. ", "answer is b ", "may be ",
    "I considered 7, ", "ten to the ", "Republic of ", '{"a":1} ', "7 below ", "a quarter of a ",
    "777'", "777 ", "if 7; ", "was 7 until now ", "would have gone 7 ", "room 7 ", "~~7", "no a ",
)  # fmt: skip


def _states_values(name: str) -> bool:
    return name.startswith("compare ")


def _texts(name: str, *, with_code: bool = True) -> Iterator[Callable[[int], str]]:
    """Go through the texts for a reader; `with_code`: also those of long pieces of code."""
    states_values = _states_values(name)
    pumps = PUMPS if with_code else tuple(pump for pump in PUMPS if len(pump) < 4)
    is_syntax = name.startswith("calls as ")
    more = ANSWER_PUMPS if states_values else SYNTAX_PUMPS if is_syntax else ()
    for pump in (*pumps, *more):
        for before, after in (("", ""),) if states_values else (("", ""), ("[f(a=", ")]")):

            def text(n: int, pump: str = pump, before: str = before, after: str = after) -> str:
                return before + pump * (n // len(pump)) + after

            yield text


@pytest.fixture(autouse=True)
def no_cached_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read each text anew: a short one whose tree is cached would seem to take no time at all."""
    monkeypatch.setattr(python_calls, "_cached_syntax_tree", python_calls._syntax_tree)


def _call(name: str, text: str) -> None:
    with suppress(Exception):  # refusing a text is as good as reading it, if it is quick
        READERS[name](text)


@pytest.mark.parametrize("name", [name for name in READERS if not _states_values(name)])
def test_readers_take_linear_time(name: str) -> None:
    for text in _texts(name):
        found = pattern_scaling.slow(partial(_call, name), text)
        assert found == "", f"{json.dumps(text(60))}: {found}"


def _check_comparator(name: str, sizes: tuple[int, int], *, with_code: bool) -> None:
    for text in _texts(name, with_code=with_code):
        found = pattern_scaling.slow_at_a_look(partial(_call, name), text, sizes)
        assert found == "", f"{json.dumps(text(60))}: {found}"


COMPARISONS = [name for name in READERS if _states_values(name)]


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparators_take_linear_time(name: str) -> None:
    """They read many texts, and slowly: a look decides which of them are measured."""
    _check_comparator(name, pattern_scaling.LOOK_SIZES, with_code=False)


@pytest.mark.long
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparators_take_linear_time_in_long_texts(name: str) -> None:
    _check_comparator(name, pattern_scaling.LONG_LOOK_SIZES, with_code=True)
