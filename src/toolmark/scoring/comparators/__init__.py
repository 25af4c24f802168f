"""Comparators: whether what a model gave is the expected value, in any of its written forms."""

from toolmark.scoring.comparators.comparator_rows import COMPARATORS, choose_comparator, from_row
from toolmark.scoring.comparators.comparison import Comparator, Comparison
from toolmark.scoring.comparators.number_comparators import Money, Number
from toolmark.scoring.comparators.set_comparator import SetOfValues
from toolmark.scoring.comparators.structured_comparators import FileContent, JsonValue, Pattern
from toolmark.scoring.comparators.text_comparators import Name, PlaceName, PlainText
from toolmark.scoring.comparators.time_comparators import Date, Time
from toolmark.scoring.comparators.truth_comparator import YesOrNo

__all__ = [
    "COMPARATORS",
    "Comparator",
    "Comparison",
    "Date",
    "FileContent",
    "JsonValue",
    "Money",
    "Name",
    "Number",
    "Pattern",
    "PlaceName",
    "PlainText",
    "SetOfValues",
    "Time",
    "YesOrNo",
    "choose_comparator",
    "from_row",
]
