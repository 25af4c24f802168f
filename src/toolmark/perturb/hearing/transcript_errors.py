"""Errors of a transcript: word error rate, entity error rate, and the kinds of errors.

All measures use plain words (`normalise_pair`): differences in case, punctuation, fillers, and in
the written form of figures, units and initials are not errors. The alignment is that of jiwer,
with equal costs for substitution, deletion and insertion.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Literal, NamedTuple, TypeAlias

from toolmark.language.normalised_words import normalise_pair, normalise_words

EditOperation: TypeAlias = Literal["equal", "substitute", "delete", "insert"]


class AlignedPiece(NamedTuple):
    """A piece of the alignment: words of the reference, and the heard words."""

    op: EditOperation
    reference: tuple[str, ...]
    heard: tuple[str, ...]


class ErrorCounts(NamedTuple):
    """Counts of words in an alignment."""

    equal: int = 0
    substituted: int = 0
    deleted: int = 0
    inserted: int = 0

    @property
    def n_reference(self) -> int:
        """The number of words in the reference."""
        return self.equal + self.substituted + self.deleted

    @property
    def n_errors(self) -> int:
        """The number of errors of all kinds."""
        return self.substituted + self.deleted + self.inserted


class ErrorProfile(NamedTuple):
    """How a recogniser errs, over many transcripts; shares and rates in 0..1 (rates may exceed 1).

    `error_shares` are the shares of substitutions, deletions and insertions among errors.
    `mean_run_length` is the mean number of consecutive wrong words. `median_distance` is the median
    phone distance of one-word substitutions, 0 for the same sounds; `close_share` is the share of
    them below 0.25. `exact_share` is the share of transcripts without errors.
    """

    wer: float
    error_shares: tuple[float, float, float]
    mean_run_length: float
    median_distance: float
    close_share: float
    exact_share: float


def align_texts(reference: str, hypothesis: str) -> list[AlignedPiece]:
    """Return the alignment of two texts as pieces in order; an empty list for two empty texts."""
    return _align_words(*normalise_pair(reference, hypothesis))


def _align_words(reference: Sequence[str], heard: Sequence[str]) -> list[AlignedPiece]:
    import jiwer

    if not reference or not heard:
        pieces = [
            AlignedPiece("delete", tuple(reference), ()),
            AlignedPiece("insert", (), tuple(heard)),
        ]
        return [piece for piece in pieces if piece.reference or piece.heard]
    alignment = jiwer.process_words(" ".join(reference), " ".join(heard))
    return [
        AlignedPiece(
            chunk.type,
            tuple(reference[chunk.ref_start_idx : chunk.ref_end_idx]),
            tuple(heard[chunk.hyp_start_idx : chunk.hyp_end_idx]),
        )
        for chunk in alignment.alignments[0]
    ]


def count_errors(pieces: Iterable[AlignedPiece]) -> ErrorCounts:
    """Count the words of an alignment by operation."""
    counts = dict.fromkeys(("equal", "substitute", "delete", "insert"), 0)
    for piece in pieces:
        counts[piece.op] += max(len(piece.reference), len(piece.heard))
    return ErrorCounts(*counts.values())


def word_error_rate(reference: str, hypothesis: str) -> float:
    """Return the word error rate; for an empty reference 0 if nothing was heard, else 1."""
    found = count_errors(align_texts(reference, hypothesis))
    return found.n_errors / found.n_reference if found.n_reference else float(found.n_errors > 0)


def corpus_word_error_rate(pairs: Iterable[tuple[str, str]]) -> float:
    """Return the word error rate over all words of (reference, hypothesis) pairs."""
    found = [count_errors(align_texts(*pair)) for pair in pairs]
    n_reference = sum(each.n_reference for each in found)
    return sum(each.n_errors for each in found) / n_reference if n_reference else 0.0


def entity_errors(reference: str, hypothesis: str, entities: Iterable[str]) -> tuple[int, int]:
    """Return (missed, all): counts of the entities' words in the reference.

    A word is missed if the alignment pairs it with another word or with none. Every consecutive
    occurrence of an entity's words counts; entities that are not in the reference are ignored.
    """
    reference_words, heard = normalise_pair(reference, hypothesis)
    in_entity = [False] * len(reference_words)
    for each in entities:
        entity_words = normalise_words(each, reference_words)
        for i in range(len(reference_words) - len(entity_words) + 1) if entity_words else ():
            if reference_words[i : i + len(entity_words)] == entity_words:
                in_entity[i : i + len(entity_words)] = [True] * len(entity_words)
    lost = at = 0
    for piece in _align_words(reference_words, heard):
        if piece.op != "equal":
            lost += sum(in_entity[at : at + len(piece.reference)])
        at += len(piece.reference)
    return lost, sum(in_entity)


def error_profile(pairs: Iterable[tuple[str, str]]) -> ErrorProfile:
    """Return the error profile of (reference, hypothesis) pairs."""
    aligned = [align_texts(*pair) for pair in pairs]
    found = [count_errors(pieces) for pieces in aligned]
    n_errors = sum(each.n_errors for each in found) or 1
    kinds_of_error = ("substituted", "deleted", "inserted")
    distances = [distance for pieces in aligned for distance in _substitution_distances(pieces)]
    runs = [length for pieces in aligned for length in _error_run_lengths(pieces)]
    return ErrorProfile(
        wer=sum(each.n_errors for each in found) / (sum(each.n_reference for each in found) or 1),
        error_shares=tuple(
            sum(getattr(each, sort) for each in found) / n_errors for sort in kinds_of_error
        ),
        mean_run_length=sum(runs) / len(runs) if runs else 0.0,
        median_distance=median(distances) if distances else 0.0,
        close_share=sum(each < 0.25 for each in distances) / len(distances) if distances else 0.0,
        exact_share=sum(not each.n_errors for each in found) / (len(found) or 1),
    )


def _error_run_lengths(pieces: Sequence[AlignedPiece]) -> list[int]:
    runs = [0]
    for piece in pieces:
        if piece.op == "equal":
            runs.append(0)
        else:
            runs[-1] += max(len(piece.reference), len(piece.heard))
    return [run for run in runs if run]


def _substitution_distances(pieces: Sequence[AlignedPiece]) -> list[float]:
    from toolmark.perturb.hearing.phone_distances import word_distance
    from toolmark.perturb.hearing.pronunciation_lexicon import load_lexicon

    sounds = load_lexicon().sounds
    return [
        word_distance(sounds(a), sounds(b))
        for piece in pieces
        if piece.op == "substitute"
        for a, b in zip(piece.reference, piece.heard, strict=True)
    ]
