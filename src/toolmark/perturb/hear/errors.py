"""How wrong a transcript is: word and entity error rate, and what kind of wrong.

All on plain words (`words.pair`): casing, punctuation, fillers, and figures, units and initials
against how they are said are no errors. Alignment is jiwer's, with equal costs
for substitution, deletion and insertion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from toolmark.perturb.hear.words import pair, words

Op: TypeAlias = Literal["equal", "substitute", "delete", "insert"]


class Piece(NamedTuple):
    """A stretch of the alignment: words of the reference, and what was heard instead."""

    op: Op
    said: tuple[str, ...]
    heard: tuple[str, ...]


class Kinds(NamedTuple):
    """Counts of words."""

    equal: int = 0
    substituted: int = 0
    deleted: int = 0
    inserted: int = 0

    @property
    def said(self) -> int:
        """Words of the reference."""
        return self.equal + self.substituted + self.deleted

    @property
    def wrong(self) -> int:
        """Errors of all kinds."""
        return self.substituted + self.deleted + self.inserted


class Shape(NamedTuple):
    """How errors are made, over many transcripts; shares and rates in 0..1 (rates may pass 1).

    `kinds` are the shares of substitutions, deletions, insertions among errors; `run` the mean
    number of wrong words in a row; `distance` the median distance in sound of one-word
    substitutions, 0 for the same sounds, and `close` the share of them below 0.25; `exact` the
    share of transcripts without error.
    """

    wer: float
    kinds: tuple[float, float, float]
    run: float
    distance: float
    close: float
    exact: float


def align(reference: str, hypothesis: str) -> list[Piece]:
    """Return the alignment of two texts as pieces in order; of two empty texts there is none."""
    return _aligned(*pair(reference, hypothesis))


def _aligned(said: Sequence[str], heard: Sequence[str]) -> list[Piece]:
    import jiwer

    if not said or not heard:
        both = [Piece("delete", tuple(said), ()), Piece("insert", (), tuple(heard))]
        return [piece for piece in both if piece.said or piece.heard]
    done = jiwer.process_words(" ".join(said), " ".join(heard))
    return [
        Piece(
            chunk.type,
            tuple(said[chunk.ref_start_idx : chunk.ref_end_idx]),
            tuple(heard[chunk.hyp_start_idx : chunk.hyp_end_idx]),
        )
        for chunk in done.alignments[0]
    ]


def kinds(pieces: Iterable[Piece]) -> Kinds:
    """Count the words of an alignment by what became of them."""
    counts = dict.fromkeys(("equal", "substitute", "delete", "insert"), 0)
    for piece in pieces:
        counts[piece.op] += max(len(piece.said), len(piece.heard))
    return Kinds(*counts.values())


def wer(reference: str, hypothesis: str) -> float:
    """Return the word error rate; of an empty reference 0 if nothing was heard, else 1."""
    found = kinds(align(reference, hypothesis))
    return found.wrong / found.said if found.said else float(found.wrong > 0)


def corpus(pairs: Iterable[tuple[str, str]]) -> float:
    """Return the word error rate over all words of (reference, hypothesis) pairs."""
    found = [kinds(align(*pair)) for pair in pairs]
    said = sum(each.said for each in found)
    return sum(each.wrong for each in found) / said if said else 0.0


def entity(reference: str, hypothesis: str, entities: Iterable[str]) -> tuple[int, int]:
    """Return (lost, all) of the entities' words that stand in the reference.

    A word is lost when the alignment pairs it with another or with none. Every occurrence of an
    entity's words in a row counts; entities that the reference does not hold count nothing.
    """
    said, heard = pair(reference, hypothesis)
    marked = [False] * len(said)
    for each in entities:
        wanted = words(each, said)
        for i in range(len(said) - len(wanted) + 1) if wanted else ():
            if said[i : i + len(wanted)] == wanted:
                marked[i : i + len(wanted)] = [True] * len(wanted)
    lost = at = 0
    for piece in _aligned(said, heard):
        if piece.op != "equal":
            lost += sum(marked[at : at + len(piece.said)])
        at += len(piece.said)
    return lost, sum(marked)


def shape(pairs: Iterable[tuple[str, str]]) -> Shape:
    """Return how the errors of (reference, hypothesis) pairs are made."""
    aligned = [align(*pair) for pair in pairs]
    found = [kinds(pieces) for pieces in aligned]
    wrong = sum(each.wrong for each in found) or 1
    sorts = ("substituted", "deleted", "inserted")
    far = [distance for pieces in aligned for distance in _distances(pieces)]
    runs = [length for pieces in aligned for length in _runs(pieces)]
    return Shape(
        wer=sum(each.wrong for each in found) / (sum(each.said for each in found) or 1),
        kinds=tuple(sum(getattr(each, sort) for each in found) / wrong for sort in sorts),
        run=sum(runs) / len(runs) if runs else 0.0,
        distance=median(far) if far else 0.0,
        close=sum(each < 0.25 for each in far) / len(far) if far else 0.0,
        exact=sum(not each.wrong for each in found) / (len(found) or 1),
    )


def _runs(pieces: Sequence[Piece]) -> list[int]:
    runs = [0]
    for piece in pieces:
        if piece.op == "equal":
            runs.append(0)
        else:
            runs[-1] += max(len(piece.said), len(piece.heard))
    return [run for run in runs if run]


def _distances(pieces: Sequence[Piece]) -> list[float]:
    from toolmark.perturb.hear.simulated.lexicon import lexicon
    from toolmark.perturb.hear.simulated.phones import apart

    sounds = lexicon().sounds
    return [
        apart(sounds(a), sounds(b))
        for piece in pieces
        if piece.op == "substitute"
        for a, b in zip(piece.said, piece.heard, strict=True)
    ]
