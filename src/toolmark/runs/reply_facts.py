"""Who answered a run and how fast, and what was changed of its requests, from the stored replies.

One pass over the episodes feeds `ReplyFactsCounter`, whose memory is bounded. The replies are those
of complete episodes, in the order in which the episodes ended. Times and rates are of replies that
were asked for in this run: those from the cache are counted, but were measured in another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from toolmark.core.records import Adaptation, Record, StopReason, Usage
from toolmark.core.text_excerpt import shorten_text
from toolmark.runs.value_sample import Rates, Times, ValueSample

MAX_NAMES = 20  # names of one kind that the summary lists
MAX_SOURCES = 1_000  # combinations of names that are counted apart
MAX_DISTINCT = 1_000  # texts, and lists of changes, that are counted apart
MAX_EXAMPLES = 3  # texts of one kind that the summary lists
MAX_TEXT_CHARS = 200  # of one text from an endpoint
MIN_STREAM_S = 0.02  # a stream whose rest took less came in one piece: it has no rate
MIN_LATENCY_S, MAX_LATENCY_S = 1e-6, 1e9  # outside, a file holds no time that was measured
MAX_TOKENS = 10**9  # of one reply


class AnsweredName(Record, frozen=True, kw_only=True):
    """A name that replies came under, with the first and the last of them.

    `n_from_cache` of the `n_replies` are from the cache. `first_reply` and `last_reply` are their
    positions in the run, from 1, and the episodes are theirs: `TASK` or `TASK #REPEAT`.
    """

    name: str
    n_replies: int = 0
    n_from_cache: int = 0
    first_reply: int = 0
    last_reply: int = 0
    first_episode: str = ""
    last_episode: str = ""


class AnsweredNames(Record, frozen=True, kw_only=True):
    """The names of one kind in the order of their first replies, the most frequent MAX_NAMES.

    `n_names` are all of them. Beyond MAX_SOURCES combinations new names are not counted.
    """

    n_names: int = 0
    names: tuple[AnsweredName, ...] = ()


_NO_NAMES = AnsweredNames()


class CountedTexts(Record, frozen=True, kw_only=True):
    """In how many replies something was noted, with the most frequent texts and their counts."""

    n_replies: int
    examples: dict[str, int] = {}


class ReplyFacts(Record, frozen=True, kw_only=True):
    """Who answered a run, how fast, and what was changed of its requests.

    - `models`, `fingerprints`, `upstreams`: the versions of the model and of the endpoint's system,
      and the providers behind it, as the endpoint reports them.
    - `latency_s`, `first_token_s` and `first_call_s`: see `Reply`; the last two only if streamed.
    - `tokens_per_s`: output tokens over the latency, of replies that were not streamed.
      `streamed_tokens_per_s`: output tokens over the time after the first token.
    - `n_cut`: replies that ended at a limit of tokens.
    - `adaptations`, `defects`: see `Reply`. `finish`: the endpoint's own words for the end, of
      replies for which they say more than the stop reason.
    """

    n_replies: int = 0
    n_from_cache: int = 0
    models: AnsweredNames = _NO_NAMES
    fingerprints: AnsweredNames = _NO_NAMES
    upstreams: AnsweredNames = _NO_NAMES
    latency_s: Times | None = None
    first_token_s: Times | None = None
    first_call_s: Times | None = None
    tokens_per_s: Rates | None = None
    streamed_tokens_per_s: Rates | None = None
    n_cut: int = 0
    adaptations: dict[str, CountedTexts] = {}
    defects: CountedTexts | None = None
    finish: dict[str, int] = {}


NO_FACTS = ReplyFacts()
"""What is known of replies that say nothing. As a default it is not stored: use this object."""


class ReplyLine(Record, frozen=True, kw_only=True):
    """The fields of a stored reply that are counted: the rest is not decoded."""

    usage: Usage = Usage()
    from_cache: bool = False
    latency_s: float = 0.0
    model: str = ""
    fingerprint: str = ""
    upstream: str = ""
    first_token_s: float | None = None
    first_call_s: float | None = None
    adaptations: tuple[Adaptation, ...] = ()
    defects: tuple[str, ...] = ()
    stop: StopReason = "stop"
    finish: str = ""
    complaint: str = ""
    reasoning: str = ""


class _Source:
    """The replies of one combination of names."""

    __slots__ = ("first", "first_reply", "last", "last_reply", "n_from_cache", "n_replies")

    def __init__(self, episode: tuple[str, int], first_reply: int) -> None:
        self.n_replies = self.n_from_cache = 0
        self.first = self.last = episode
        self.first_reply = self.last_reply = first_reply


_Names = tuple[str, str, str]


class ReplyFactsCounter:
    """Counts replies one by one, in the order of the episodes."""

    def __init__(self) -> None:
        self._n_replies = self._n_from_cache = self._n_cut = 0
        self._sources: dict[_Names, _Source] = {}
        self._latency, self._first_token, self._first_call = (ValueSample() for _ in range(3))
        self._rates, self._streamed_rates = ValueSample(), ValueSample()
        self._adaptations = _AdaptationCounter()
        self._n_defective = 0
        self._defects: Counter[str] = Counter()
        self._finish: Counter[str] = Counter()

    def add_reply(self, reply: ReplyLine, episode: tuple[str, int]) -> None:
        """Count a reply of an episode: task and repeat."""
        self._n_replies += 1
        self._n_cut += reply.stop == "length"
        names = (reply.model, reply.fingerprint, reply.upstream)
        source = self._sources.get(names) or self._add_source(names, episode)
        source.n_replies += 1
        source.last, source.last_reply = episode, self._n_replies
        if reply.from_cache:
            self._n_from_cache += 1
            source.n_from_cache += 1
        elif MIN_LATENCY_S <= reply.latency_s <= MAX_LATENCY_S and not reply.complaint:
            self._add_times(reply)
        if reply.adaptations:
            self._adaptations.add_list(reply.adaptations)
        if reply.defects:
            self._n_defective += 1
            for defect in reply.defects:
                _count_text(self._defects, defect)
        if reply.finish:
            _count_text(self._finish, reply.finish)

    def count_facts(self) -> ReplyFacts:
        """Return what was counted; no facts where nothing but the number of replies is known."""
        models, fingerprints, upstreams = map(self._answered_names, range(3))
        facts = ReplyFacts(
            n_replies=self._n_replies,
            n_from_cache=self._n_from_cache,
            models=models,
            fingerprints=fingerprints,
            upstreams=upstreams,
            latency_s=self._latency.measure_times(),
            first_token_s=self._first_token.measure_times(),
            first_call_s=self._first_call.measure_times(),
            tokens_per_s=self._rates.measure_rates(),
            streamed_tokens_per_s=self._streamed_rates.measure_rates(),
            n_cut=self._n_cut,
            adaptations=self._adaptations.count_by_kind(),
            defects=_counted_texts(self._n_defective, self._defects) if self._defects else None,
            finish=dict(self._finish.most_common(MAX_NAMES)),
        )
        counts = ReplyFacts(n_replies=facts.n_replies, n_from_cache=facts.n_from_cache)
        return NO_FACTS if facts == counts else facts

    def _add_source(self, names: _Names, episode: tuple[str, int]) -> _Source:
        if len(self._sources) >= MAX_SOURCES:
            names = ("", "", "")
            if names in self._sources:
                return self._sources[names]
        source = self._sources[names] = _Source(episode, self._n_replies)
        return source

    def _add_times(self, reply: ReplyLine) -> None:
        latency_s, first_s, n_output = reply.latency_s, reply.first_token_s, reply.usage.output
        self._latency.add_value(latency_s)
        if first_s is None:
            if 0 < n_output <= MAX_TOKENS:
                self._rates.add_value(n_output / latency_s)
            return
        if not 0 <= first_s <= latency_s:
            return
        self._first_token.add_value(first_s)
        if reply.first_call_s is not None and first_s <= reply.first_call_s <= latency_s:
            self._first_call.add_value(reply.first_call_s)
        if not reply.reasoning:
            n_output -= reply.usage.reasoning  # thoughts that were not streamed came before
        if 0 < n_output <= MAX_TOKENS and latency_s - first_s >= MIN_STREAM_S:
            self._streamed_rates.add_value(n_output / (latency_s - first_s))

    def _answered_names(self, kind: int) -> AnsweredNames:
        """Return the names of one kind, summed over the sources that have them."""
        sources: dict[str, list[_Source]] = {}
        for names, source in self._sources.items():
            if names[kind]:
                sources.setdefault(_clip_text(names[kind]), []).append(source)
        found = [_answered_name(name, each) for name, each in sources.items()]
        if not found:
            return _NO_NAMES  # the default itself, which is not stored
        listed = sorted(found, key=lambda each: -each.n_replies)[:MAX_NAMES]
        listed.sort(key=lambda each: each.first_reply)
        return AnsweredNames(n_names=len(found), names=tuple(listed))


class _AdaptationCounter:
    """Counts by kind the replies with a change, and the texts of the changes.

    Most requests of a run are changed in the same way: equal lists are counted as one.
    """

    def __init__(self) -> None:
        self._lists: dict[tuple[Adaptation, ...], int] = {}
        self._n_replies: Counter[str] = Counter()
        self._details: dict[str, Counter[str]] = {}

    def add_list(self, adaptations: tuple[Adaptation, ...]) -> None:
        """Count the changes of one request."""
        n = self._lists.get(adaptations, 0)
        if not n and len(self._lists) >= MAX_DISTINCT:
            self._fold_lists()
        self._lists[adaptations] = n + 1

    def count_by_kind(self) -> dict[str, CountedTexts]:
        """Return how many replies have a change of each kind, most first, with examples."""
        self._fold_lists()
        return {
            kind: _counted_texts(n, self._details[kind])
            for kind, n in self._n_replies.most_common()
        }

    def _fold_lists(self) -> None:
        for adaptations, n in self._lists.items():
            for kind in {each.kind: None for each in adaptations}:
                self._n_replies[kind] += n
            for each in dict.fromkeys(adaptations):
                _count_text(self._details.setdefault(each.kind, Counter()), each.detail, n)
        self._lists.clear()


def _answered_name(name: str, sources: Sequence[_Source]) -> AnsweredName:
    """Return the sum of sources that have a name; they are in the order of their first replies."""
    latest = max(sources, key=lambda each: each.last_reply)
    return AnsweredName(
        name=name,
        n_replies=sum(each.n_replies for each in sources),
        n_from_cache=sum(each.n_from_cache for each in sources),
        first_reply=sources[0].first_reply,
        last_reply=latest.last_reply,
        first_episode=_episode_text(sources[0].first),
        last_episode=_episode_text(latest.last),
    )


def _episode_text(episode: tuple[str, int]) -> str:
    task, repeat = episode
    return f"{task} #{repeat}" if repeat else task


def _count_text(counts: Counter[str], text: str, n: int = 1) -> None:
    """Count a text, unless it is a new one beyond the limit."""
    clipped = _clip_text(text)
    if clipped in counts or len(counts) < MAX_DISTINCT:
        counts[clipped] += n


def _counted_texts(n_replies: int, counts: Counter[str]) -> CountedTexts:
    return CountedTexts(n_replies=n_replies, examples=dict(counts.most_common(MAX_EXAMPLES)))


def _clip_text(text: str) -> str:
    return shorten_text(text, MAX_TEXT_CHARS)


def summary_fields(facts: ReplyFacts) -> dict[str, Any]:
    """Return the facts as in `summary.json`, {} where there are none; unknown ones are left out."""
    return {"replies": msgspec.to_builtins(facts)} if facts != NO_FACTS else {}


def facts_from_summary(summary: Mapping[str, Any]) -> ReplyFacts:
    """Return the facts in a summary; no facts where the summary has none."""
    return msgspec.convert(summary["replies"], ReplyFacts) if "replies" in summary else NO_FACTS
