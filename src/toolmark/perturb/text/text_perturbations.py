"""Changes of a text by name: the disfluencies of speech, and those of other installed packages."""

from __future__ import annotations

from collections.abc import Mapping

from toolmark.core import entry_points, seeds, user_modules
from toolmark.core.entry_points import Group
from toolmark.core.errors import ToolmarkError, UsageError, describe_error, suggest_names
from toolmark.perturb.text.request_frames import frame_request
from toolmark.perturb.text.word_changes import Feature, Guard

GROUP: Group = "perturbations"
FEATURES_SPEC = "toolmark.perturb.text.disfluencies:CLASSES"
DISFLUENCIES: Mapping[str, str] = {
    "preposition_drop": "leaves out a small preposition",
    "restructuring": "moves a leading clause after its main clause",
    "contraction": 'contracts words: "going to" becomes "gonna"',
    "slang": 'replaces a word by slang: "info" for "information"',
    "casual_pronoun": 'replaces a pronoun by its casual form, such as "ya"',
    "simplified": 'replaces a word by a plainer one: "help" for "assistance"',
    "self_correction": "says a wrong verb first and corrects it",
    "false_start": "begins with another sentence and abandons it",
    "word_repetition": "says a small word twice",
    "restart": "repeats two or three words in the middle of a sentence",
    "marker": 'inserts "you know" or "I mean"',
    "filled_pause": 'inserts "um" or "uh" between two words',
    "hesitation": "inserts a hesitation at the start of a clause",
    "elongation": 'lengthens a small word: "need" becomes "neeed"',
}
"""What each disfluency does to a text, by name; the extra `speech` makes them.

The one that spells out names needs the facts of a task, so it is none of these.
"""

FRAME = "frame"
PERTURBATIONS: Mapping[str, str] = {
    **DISFLUENCIES,
    FRAME: "says other words around a request, which leave its meaning as it is",
}
"""What each perturbation of toolmark does to a text, by name."""


class TextPerturbation:
    """Changes a text; equal texts and seeds give equal results.

    - `name`: what the user calls it.
    - `description`: what it does, in one sentence.
    """

    name: str = ""
    description: str = ""

    def apply(self, text: str, seed: int) -> str:
        """Return the changed text, or the text itself where there is nothing to change."""
        raise NotImplementedError(f"{type(self).__name__} does not define apply")


class Disfluency(TextPerturbation):
    """One disfluency at one place. Facts in the text are unknown here, so none is protected."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.description = DISFLUENCIES[name]

    def apply(self, text: str, seed: int) -> str:
        """Return the text with one disfluency, or the text itself where there is no place for it.

        Space between words becomes one blank where something changes.
        """
        words = text.split()
        if not words:
            return text
        rng = seeds.make_rng(seed, text, 0, self.name)
        found = self._feature()(words, rng, Guard())
        return text if found is None else found.text

    def _feature(self) -> Feature:
        classes: Mapping[str, Mapping[str, Feature]] = user_modules.import_attribute(FEATURES_SPEC)
        return next(features[self.name] for features in classes.values() if self.name in features)


class RequestFraming(TextPerturbation):
    """Other words around a request."""

    name = FRAME
    description = PERTURBATIONS[FRAME]

    def apply(self, text: str, seed: int) -> str:
        """Return the request in a frame, or the text itself where it is not in English."""
        return frame_request(text, seed)


def load_perturbation(name: str) -> TextPerturbation:
    """Return the perturbation of a name; toolmark's own come before a package's of the same name.

    Raises UsageError for an unknown name, and for a package's that is not a TextPerturbation.
    """
    if name in DISFLUENCIES:
        return Disfluency(name)
    if name == FRAME:
        return RequestFraming()
    entry = entry_points.find_entry_point(GROUP, name)
    if entry is None:
        known = [*PERTURBATIONS, *entry_points.entry_point_names(GROUP)]
        listing = "toolmark perturb text"
        raise UsageError(f"no perturbation {name!r}{suggest_names(name, known, listing=listing)}")
    found: TextPerturbation = entry_points.make_object(
        entry, _is_perturbation, "a TextPerturbation"
    )
    return found


def apply_perturbation(perturbation: TextPerturbation, text: str, seed: int) -> str:
    """Return the changed text. Raises UsageError where it fails or returns no text."""
    try:
        changed: object = perturbation.apply(text, seed)
    except ToolmarkError:
        raise
    except Exception as error:
        raise UsageError(f"perturbation {perturbation.name!r}: {describe_error(error)}") from error
    if not isinstance(changed, str):
        kind = type(changed).__name__
        raise UsageError(f"perturbation {perturbation.name!r} returned {kind}, no text")
    return changed


def _is_perturbation(found: object) -> bool:
    return isinstance(found, TextPerturbation)
