"""A database on disk for what does not fit into memory: spans by trace, and proposed rows.

SQLite removes the file's name when it opens it, so nothing stays when the process ends. It is in
the folder for temporary files.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, TypeAlias

SpanKind: TypeAlias = Literal["inference", "agent", "tool", "other"]

_SCHEMA = """
CREATE TABLE spans (trace TEXT, span TEXT, parent TEXT, start INTEGER, kind TEXT, place TEXT,
                    payload BLOB, PRIMARY KEY (trace, span));
CREATE INDEX spans_by_time ON spans (trace, kind, start);
CREATE TABLE events (trace TEXT, span TEXT, time INTEGER, place TEXT, payload BLOB);
CREATE INDEX events_by_span ON events (trace, span, time);
CREATE TABLE responses (id TEXT PRIMARY KEY, payload BLOB);
CREATE TABLE rows (key TEXT PRIMARY KEY, id TEXT, history TEXT, tools TEXT, rank INTEGER,
                   n_seen INTEGER, payload BLOB);
CREATE INDEX rows_by_rank ON rows (rank, id);
CREATE INDEX rows_by_history ON rows (history);
"""
_CACHE_KIB = 16 * 2**10


class StoredSpan(NamedTuple):
    """A span as it was stored; `payload` is JSON."""

    trace: str
    span: str
    parent: str
    start: int
    kind: SpanKind
    place: str
    payload: bytes


class StoredRow(NamedTuple):
    """A proposed row as it was stored; `tools` are the names of its calls, one a line."""

    key: str
    id: str
    history: str
    tools: str
    rank: int
    payload: bytes


class TraceStore:
    """The database of one import."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", isolation_level=None)  # "": a nameless file
        self._database.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        self._database.execute("PRAGMA journal_mode = OFF")
        self._database.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the database; its content is gone."""
        self._database.close()

    # --- spans ----------------------------------------------------------------------------

    def add_span(self, span: StoredSpan) -> Literal["new", "again", "differs"]:
        """Store a span; of spans with one id the first counts."""
        cursor = self._database.execute(
            "INSERT OR IGNORE INTO spans VALUES (?, ?, ?, ?, ?, ?, ?)", span
        )
        if cursor.rowcount:
            return "new"
        stored = self._one("SELECT payload FROM spans WHERE trace = ? AND span = ?", span[:2])
        return "again" if stored == (span.payload,) else "differs"

    def add_event(self, trace: str, span: str, time: int, place: str, payload: bytes) -> None:
        """Store an event that is not inside its span."""
        self._database.execute(
            "INSERT INTO events VALUES (?, ?, ?, ?, ?)", (trace, span, time, place, payload)
        )

    def traces(self) -> Iterator[str]:
        """Yield the ids of the traces with GenAI spans or events, in order."""
        yield from self._column(
            "SELECT trace FROM spans WHERE kind != 'other' UNION SELECT trace FROM events "
            "ORDER BY 1"
        )

    def inference_spans(self, trace: str) -> Iterator[StoredSpan]:
        """Yield the spans of a trace in which a model replied, by time."""
        query = "SELECT * FROM spans WHERE trace = ? AND kind = 'inference' ORDER BY start, span"
        yield from map(StoredSpan._make, self._database.execute(query, (trace,)))

    def other_spans(self, trace: str) -> Iterator[StoredSpan]:
        """Yield the other spans of a trace: agents, tools, and parents without GenAI content."""
        query = "SELECT * FROM spans WHERE trace = ? AND kind != 'inference'"
        yield from map(StoredSpan._make, self._database.execute(query, (trace,)))

    def content_bytes(self, trace: str) -> int:
        """Return the size of a trace's spans of agents and tools."""
        query = "SELECT sum(length(payload)) FROM spans WHERE trace = ? AND kind != 'inference'"
        return int((self._one(query, (trace,)) or (0,))[0] or 0)

    def span_events(self, trace: str, span: str) -> list[tuple[str, bytes]]:
        """Return place and content of the events that name a span, by time."""
        query = (
            "SELECT place, payload FROM events WHERE trace = ? AND span = ? ORDER BY time, rowid"
        )
        return list(self._database.execute(query, (trace, span)))

    def spans_of_events(self, trace: str) -> list[str]:
        """Return the ids of spans that events name and that are not stored."""
        query = (
            "SELECT span FROM events e WHERE trace = ? AND NOT EXISTS (SELECT 1 FROM spans s "
            "WHERE s.trace = e.trace AND s.span = e.span) GROUP BY span ORDER BY min(time), span"
        )
        return list(self._column(query, (trace,)))

    # --- responses ------------------------------------------------------------------------

    def add_response(self, id: str, payload: bytes) -> None:
        """Store the history after a response; the first with an id counts."""
        self._database.execute("INSERT OR IGNORE INTO responses VALUES (?, ?)", (id, payload))

    def response(self, id: str) -> bytes | None:
        """Return the history after a response, None for an unknown id."""
        found = self._one("SELECT payload FROM responses WHERE id = ?", (id,))
        return found[0] if found else None

    # --- rows -----------------------------------------------------------------------------

    def add_row(self, row: StoredRow) -> bool:
        """Store a row, or count one that is equal; return whether it is new."""
        cursor = self._database.execute(
            "INSERT OR IGNORE INTO rows VALUES (?, ?, ?, ?, ?, 1, ?)", row
        )
        if cursor.rowcount:
            return True
        self._database.execute("UPDATE rows SET n_seen = n_seen + 1 WHERE key = ?", (row.key,))
        return False

    def ranked_rows(self) -> Iterator[tuple[int, str]]:
        """Yield number and tools of the rows in the order in which they are drawn."""
        yield from self._database.execute("SELECT rowid, tools FROM rows ORDER BY rank, id")

    def rows(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield number, count and content of the rows, in the order in which they were found."""
        yield from self._database.execute("SELECT rowid, n_seen, payload FROM rows ORDER BY rowid")

    def n_disputed_histories(self) -> int:
        """Return the number of histories after which different calls were made."""
        query = "SELECT count(*) FROM (SELECT 1 FROM rows GROUP BY history HAVING count(*) > 1)"
        return int((self._one(query, ()) or (0,))[0])

    def _one(self, query: str, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        found: tuple[Any, ...] | None = self._database.execute(query, values).fetchone()
        return found

    def _column(self, query: str, values: tuple[Any, ...] = ()) -> Iterator[Any]:
        return (value for (value,) in self._database.execute(query, values))
