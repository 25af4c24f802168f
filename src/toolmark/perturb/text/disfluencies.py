"""Disfluencies: one pure function for each feature, in exclusive classes.

A feature takes words, a random generator and a guard. It returns the spoken text with its one
change, or None if there is no place for the change. The rewrite always reads symbols aloud, so the
class "spelling" only spells out one argument.
"""

from __future__ import annotations

from toolmark.perturb.text import casual_speech, hesitant_speech
from toolmark.perturb.text.word_changes import Feature

CLASSES: dict[str, dict[str, Feature]] = {
    "structure": {
        "preposition_drop": casual_speech.preposition_drop,
        "restructuring": casual_speech.restructuring,
    },
    "style": {
        "contraction": casual_speech.contraction,
        "slang": casual_speech.slang,
        "casual_pronoun": casual_speech.casual_pronoun,
        "simplified": casual_speech.simpler_word,
    },
    "repair": {
        "self_correction": hesitant_speech.self_correction,
        "false_start": hesitant_speech.false_start,
    },
    "spelling": {"spelling_out": casual_speech.spelling_out},
    "repeat": {
        "word_repetition": hesitant_speech.word_repetition,
        "restart": hesitant_speech.restart,
    },
    "marker": {"marker": hesitant_speech.marker},
    "pause": {
        "filled_pause": hesitant_speech.filled_pause,
        "hesitation": hesitant_speech.hesitation,
        "elongation": hesitant_speech.elongation,
    },
}
"""The features by class; an utterance gets at most one feature of each class."""

FEATURES = tuple(name for features in CLASSES.values() for name in features)
