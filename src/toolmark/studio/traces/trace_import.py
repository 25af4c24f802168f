"""Files of traces become a file of proposed rows.

Memory does not grow with the files: spans, histories and rows wait in a database on disk.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from toolmark.core import json_codec, seeds
from toolmark.core.errors import DataError
from toolmark.core.files import atomic_file, read_small_file
from toolmark.core.records import Record
from toolmark.studio.traces import (
    chat_messages,
    conventions,
    genai_spans,
    json_documents,
    message_logs,
    observed_replies,
    otlp_records,
)
from toolmark.studio.traces.foreign_json import parse_foreign_json
from toolmark.studio.traces.genai_spans import TraceContext
from toolmark.studio.traces.observed_replies import ObservedReply
from toolmark.studio.traces.otlp_records import SpanEvent, SpanRecord
from toolmark.studio.traces.responses_items import ResponseChain
from toolmark.studio.traces.row_redaction import RowRedaction
from toolmark.studio.traces.trace_faults import Malformed, TraceFaults, Unusable
from toolmark.studio.traces.trace_store import StoredRow, StoredSpan, TraceStore

OTLP = "OpenTelemetry spans (OTLP JSON)"
MAX_CONTEXT_BYTES = 64 * 2**20  # of one trace's spans of agents and tools
_RANK_BITS = 62


class ImportSettings(Record, frozen=True, kw_only=True):
    """What becomes a row, and what is replaced in it.

    `per_tool` is the most rows with one tool, drawn with `seed`; None for all rows. `tools` stand
    for tools that a trace does not record.
    """

    with_silence: bool = False
    per_tool: int | None = None
    seed: int = 0
    redact_patterns: tuple[str, ...] = ()
    redact_emails: bool = False
    tools: list[dict[str, Any]] | None = None


class ImportSummary(Record, frozen=True, kw_only=True):
    """What came of the files: `n_replies` were read, `n_rows` are proposed.

    `forms` counts the records by file and form. `n_duplicates` replies equal an earlier one,
    `n_silent` have no call and were not asked for, `n_not_drawn` rows are over the limit of their
    tool. `n_redacted` of the replies had something replaced. `left_out` counts replies by reason.
    After `n_disputed_histories` the traces have different calls.
    """

    forms: dict[str, dict[str, int]]
    n_replies: int
    n_rows: int
    n_duplicates: int
    n_silent: int
    n_redacted: int
    n_not_drawn: int
    n_malformed: int
    n_disputed_histories: int
    left_out: dict[str, int]
    rows_by_tool: dict[str, int]


def read_tool_file(path: Path) -> list[dict[str, Any]]:
    """Return the tools of a JSON file. Raises DataError."""
    try:
        value = parse_foreign_json(read_small_file(path).decode())
        return chat_messages.offered_tools(value) or []
    except FileNotFoundError:
        raise DataError(f"{path}: missing") from None
    except (ValueError, Malformed) as error:
        raise DataError(f"{path}: {error}; expected a JSON list of tools") from None


def import_traces(
    paths: Sequence[Path], output: Path, settings: ImportSettings, faults: TraceFaults
) -> ImportSummary:
    """Write the rows that traces propose to a file.

    Raises DataError where a file cannot be read, or nothing is proposed; then nothing is written.
    Raises UsageError for an invalid pattern.
    """
    with closing(TraceStore()) as store:
        found = _TraceImport(store, settings, faults)
        for path in paths:
            found.read_file(path)
        found.read_traces()
        if not found.n_replies:
            raise DataError(_nothing_found(paths, faults))
        rows_by_tool, n_rows, n_not_drawn = _write_rows(store, output, settings)
        return ImportSummary(
            forms={name: dict(forms) for name, forms in found.forms.items()},
            n_replies=found.n_replies,
            n_rows=n_rows,
            n_duplicates=found.n_duplicates,
            n_silent=found.n_silent,
            n_redacted=found.n_redacted,
            n_not_drawn=n_not_drawn,
            n_malformed=faults.n_malformed,
            n_disputed_histories=store.n_disputed_histories(),
            left_out=dict(faults.reasons.most_common()),
            rows_by_tool=rows_by_tool,
        )


def _nothing_found(paths: Sequence[Path], faults: TraceFaults) -> str:
    reasons = [*faults.listed_lines(), *(f"left out: {reason}" for reason in faults.reasons)]
    names = ", ".join(path.name for path in paths)
    if reasons:
        return "\n".join([f"{names}: no reply of a model could be read", *reasons])
    return (
        f"{names}: no reply of a model found; expected OTLP JSON of GenAI spans, or logs of chat "
        "completions, Responses or Anthropic Messages"
    )


class _TraceImport:
    """Reads files into the store: message logs at once, spans when all files are read."""

    def __init__(self, store: TraceStore, settings: ImportSettings, faults: TraceFaults) -> None:
        self.forms: dict[str, Counter[str]] = {}
        self.n_replies = self.n_duplicates = self.n_silent = self.n_redacted = 0
        self._store = store
        self._settings = settings
        self._faults = faults
        self._chain = ResponseChain(store)
        self._redaction = RowRedaction(settings.redact_patterns, emails=settings.redact_emails)

    def read_file(self, path: Path) -> None:
        """Read one file: message logs propose rows, spans are stored."""
        forms = self.forms.setdefault(path.name, Counter())
        for place, value in json_documents.read_documents(path, self._faults):
            values = value if isinstance(value, list) else [value]
            for n, each in enumerate(values):
                where = f"{place}, [{n}]" if isinstance(value, list) else place
                with self._noted(path.name, where):
                    forms[self._read_value(path.name, where, each)] += 1

    def _read_value(self, file: str, place: str, value: Any) -> str:
        """Read one record and return its form. Raises Malformed or Unusable."""
        if otlp_records.is_otlp(value):
            for entry_path, entry in otlp_records.otlp_entries(value):
                where = ", ".join(filter(None, (place, entry_path)))
                with self._noted(file, where):
                    self._store_entry(file, where, entry)
            return OTLP
        form = message_logs.log_form(value)
        if not form:
            kind = chat_messages.json_type(value)
            raise Malformed(f"{kind} that is neither spans nor a message log; remove it")
        source = {"file": file, "place": place, "form": form}
        for observed in message_logs.read_log_record(value, form, source, self._chain):
            self._propose(file, place, observed)
        return form

    def _noted(self, file: str, place: str) -> _NotedFaults:
        return _NotedFaults(self._faults, file, place)

    # --- spans ----------------------------------------------------------------------------

    def _store_entry(self, file: str, place: str, entry: Any) -> None:
        found = otlp_records.read_entry(entry)
        where = f"{file}\n{place}"
        if found is None:
            return
        if not isinstance(found, SpanRecord):
            event = found.event
            if event.name.startswith(conventions.PREFIX):
                data = msgspec.json.encode(event)
                self._store.add_event(found.trace, found.span, found.time_ns, where, data)
            return
        kind = genai_spans.span_kind(found)
        payload = b"" if kind == "other" else genai_spans.encode_span(found)
        stored = StoredSpan(
            found.trace, found.span, found.parent, found.start_ns, kind, where, payload
        )
        if self._store.add_span(stored) == "differs":
            raise Malformed(
                f"span {found.span} stands there twice with different content; the first counts"
            )

    def read_traces(self) -> None:
        """Propose rows from the stored spans, trace by trace."""
        for trace in self._store.traces():
            context = self._trace_context(trace)
            for stored in self._store.inference_spans(trace):
                span = msgspec.json.decode(stored.payload, type=SpanRecord)
                self._read_span(span, stored.place, context)
            for id in self._store.spans_of_events(trace):
                place = self._store.span_events(trace, id)[0][0]
                self._read_span(SpanRecord(trace=trace, span=id), place, context)

    def _trace_context(self, trace: str) -> TraceContext:
        if self._store.content_bytes(trace) > MAX_CONTEXT_BYTES:
            self._faults.add_malformed(
                "traces", trace,
                f"spans of tools of more than {MAX_CONTEXT_BYTES >> 20} MiB; they are not read",
            )  # fmt: skip
            return TraceContext()
        spans = [
            msgspec.json.decode(stored.payload, type=SpanRecord)
            if stored.payload
            else SpanRecord(trace=trace, span=stored.span, parent=stored.parent)
            for stored in self._store.other_spans(trace)
        ]
        return genai_spans.make_context(spans)

    def _read_span(self, span: SpanRecord, where: str, context: TraceContext) -> None:
        file, _, place = where.partition("\n")
        events = [
            msgspec.json.decode(data, type=SpanEvent)
            for _, data in self._store.span_events(span.trace, span.span)
        ]
        source = {
            "file": file, "place": place, "form": OTLP, "trace": span.trace, "span": span.span,
        }  # fmt: skip
        with self._noted(file, f"{place}, span {span.span}"):
            for observed in genai_spans.span_replies(span, events, context, source):
                self._propose(file, place, observed)

    # --- rows -----------------------------------------------------------------------------

    def _propose(self, file: str, place: str, observed: ObservedReply) -> None:
        self.n_replies += 1
        if not observed.reply.get("tool_calls") and not self._settings.with_silence:
            self.n_silent += 1
            return
        with self._noted(file, place):
            row = observed_replies.propose_row(observed, self._settings.tools)
            redacted = self._redaction.redact_row(row)
            payload = json_codec.encode_record(observed_replies.identify_row(redacted))
            if len(payload) > observed_replies.MAX_ROW_BYTES:
                raise Unusable(f"a row of more than {observed_replies.MAX_ROW_BYTES >> 20} MiB")
            self.n_redacted += redacted != row
            self.n_duplicates += not self._store.add_row(self._stored_row(redacted, payload))

    def _stored_row(self, row: Mapping[str, Any], payload: bytes) -> StoredRow:
        key = observed_replies.duplicate_key(row)
        tools = "\n".join(dict.fromkeys(call["name"] for call in row["expected"]))
        rng = seeds.make_rng(self._settings.seed, key, 0, "rows per tool")
        return StoredRow(
            key=key,
            id=key,
            history=observed_replies.history_key(row),
            tools=tools or observed_replies.NO_CALL,
            rank=rng.getrandbits(_RANK_BITS),
            payload=payload,
        )


class _NotedFaults:
    """A context in which a record that cannot be used is noted, and the next one is read."""

    def __init__(self, faults: TraceFaults, file: str, place: str) -> None:
        self._faults = faults
        self._file = file
        self._place = place

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        """Note what the record lacks."""
        if isinstance(error, Malformed):
            self._faults.add_malformed(self._file, self._place, str(error))
        elif isinstance(error, Unusable):
            self._faults.reasons[str(error)] += 1
        return isinstance(error, Malformed | Unusable)


def _write_rows(
    store: TraceStore, output: Path, settings: ImportSettings
) -> tuple[dict[str, int], int, int]:
    """Write the rows; return their number by tool, in total, and the number that is not drawn."""
    drawn = _draw_rows(store, settings.per_tool)
    rows_by_tool: Counter[str] = Counter()
    n_rows = n_not_drawn = 0
    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(output) as draft, draft.open("wb") as file:
        for number, n_seen, payload in store.rows():
            if not drawn(number):
                n_not_drawn += 1
                continue
            row = msgspec.json.decode(payload)
            file.write(json_codec.encode_record({**row, "n_seen": n_seen}) + b"\n")
            rows_by_tool[row["category"]] += 1
            n_rows += 1
    return dict(rows_by_tool.most_common()), n_rows, n_not_drawn


def _draw_rows(store: TraceStore, per_tool: int | None) -> Callable[[int], bool]:
    """Return which rows are drawn: in the order of their ranks, while none of their tools is full.

    A row's rank depends on its content and the seed alone, not on the order of the files.
    """
    if per_tool is None:
        return lambda number: True
    chosen = set(_ranked_choice(store.ranked_rows(), per_tool))
    return chosen.__contains__


def _ranked_choice(rows: Iterator[tuple[int, str]], per_tool: int) -> Iterator[int]:
    counts: Counter[str] = Counter()
    for number, tools in rows:
        names = tools.split("\n")
        if all(counts[name] < per_tool for name in names):
            counts.update(names)
            yield number
