"""A scored run as JUnit XML, which CI servers show: one test case for each episode."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

from toolmark.core.errors import DataError
from toolmark.core.failure import Kind
from toolmark.core.files import write_atomically
from toolmark.core.records import Record
from toolmark.reports.episode_outcomes import EpisodeOutcome, ScoredRun
from toolmark.reports.gates import Gate
from toolmark.reports.table_format import visible_text
from toolmark.runs.episode_records import EpisodeKey

MAX_TEXT_CHARS = 2_000  # of one evidence or message
# an episode that was never begun is skipped; any other that was not run is an error
SKIPPED_KINDS: frozenset[Kind] = frozenset(("needs", "stopped", "not_reached"))
# what XML 1.0 forbids; control characters are pictures before
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _EpisodeTime(Record, frozen=True, kw_only=True):
    """How long an episode took; its steps are not decoded."""

    task: str
    repeat: int = 0
    latency_s: float = 0.0


def write_junit(found: ScoredRun, path: Path, gates: Sequence[Gate] = ()) -> None:
    """Write a run as JUnit XML, with headline, interval and gates as properties.

    An incorrect answer is a failure with cause and evidence. An episode that was not run is an
    error, or skipped where it was never begun. Raises DataError where the file cannot be written.
    """
    element = _make_testsuites(found, gates)
    ElementTree.indent(element)
    data = ElementTree.tostring(element, encoding="utf-8", xml_declaration=True) + b"\n"
    try:
        write_atomically(path, data)
    except OSError as error:
        raise DataError(f"{path}: cannot write: {error.strerror}") from None


def _make_testsuites(found: ScoredRun, gates: Sequence[Gate]) -> ElementTree.Element:
    times = _episode_times(found)
    has_repeats = found.run.info.plan.repeats > 1
    cases = [
        _make_case(found, outcome, times, has_repeats=has_repeats)
        for outcome in found.iterate_outcomes()
    ]
    counts = {
        "tests": str(len(cases)),
        "failures": _count_cases_with(cases, "failure"),
        "errors": _count_cases_with(cases, "error"),
    }
    total_s = _seconds_text(sum(times.values()))
    root = ElementTree.Element("testsuites", {"name": "toolmark", **counts, "time": total_s})
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        {
            "name": _xml_text(found.summary["suite"]),
            **counts,
            "skipped": _count_cases_with(cases, "skipped"),
            "time": total_s,
            "timestamp": _xml_text(found.run.info.created[:19]),
        },
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _list_properties(found, gates):
        ElementTree.SubElement(properties, "property", name=name, value=_xml_text(value))
    suite.extend(cases)
    return root


def _episode_times(found: ScoredRun) -> dict[EpisodeKey, float]:
    records = found.run.episodes.records("trajectories", _EpisodeTime)
    return {(each.task, each.repeat): each.latency_s for each in records}


def _count_cases_with(cases: Iterable[ElementTree.Element], name: str) -> str:
    return str(sum(case.find(name) is not None for case in cases))


def _make_case(
    found: ScoredRun,
    outcome: EpisodeOutcome,
    times: Mapping[EpisodeKey, float],
    *,
    has_repeats: bool,
) -> ElementTree.Element:
    score = outcome.score
    case = ElementTree.Element(
        "testcase",
        name=_xml_text(f"{score.task} #{score.repeat}" if has_repeats else score.task),
        classname=_xml_text(".".join(filter(None, (found.summary["suite"], score.category)))),
        time=_seconds_text(times.get((score.task, score.repeat), 0.0)),
    )
    label, failure = outcome.primary_label, outcome.failure
    if failure is not None:
        tag = "skipped" if failure.kind in SKIPPED_KINDS else "error"
        _add_problem(case, tag, failure.kind, failure.summary, failure.full_text)
    elif label is not None:
        lines = [f"{found.cause_text(each)}: {each.evidence}" for each in outcome.labels]
        _add_problem(case, "failure", label.cause, lines[0], "\n".join(lines))
    return case


def _add_problem(case: ElementTree.Element, tag: str, kind: str, message: str, text: str) -> None:
    problem = ElementTree.SubElement(
        case, tag, type=kind, message=_xml_text(message.partition("\n")[0])
    )
    problem.text = _xml_text(text)


def _list_properties(found: ScoredRun, gates: Sequence[Gate]) -> Iterator[tuple[str, str]]:
    """Yield names and values: what was run, the headline with its interval, and each gate."""
    summary = found.summary
    head = summary["score"]
    yield from (("data_label", label) for label in [summary.get("data_label")] if label)
    yield from (("agent", agent) for agent in [summary.get("agent")] if agent)
    yield "model", summary["model"]
    yield "tool_format", summary["tool_format"]
    yield "rule", summary["rule"]
    yield "headline", head.get("title") or head["name"]
    for name in ("value", "low", "high"):
        yield name, "" if head[name] is None else repr(head[name])
    yield "n", str(head["n"])
    yield "n_not_run", str(summary["n_not_run"])
    yield "run_dir", summary["run_dir"]
    for gate in gates:
        yield f"gate.{gate.name}", gate.summary


def _seconds_text(seconds: float) -> str:
    return str(round(seconds, 3))


def _xml_text(text: str) -> str:
    """Return foreign text as XML may hold it: visible, legal and of limited length."""
    cut = text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]} ..."
    return _FORBIDDEN.sub("\ufffd", visible_text(cut))
