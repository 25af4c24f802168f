"""Sentences that are unrelated to the question: context that a reader must ignore.

None contains a number, a name or a date that could be taken for an answer, and none contradicts a
picture: they are about the person who asks, never about what is seen.
"""

from __future__ import annotations

UNRELATED_SENTENCES = (
    "My sister was going through old folders when this turned up.",
    "We had been arguing about it all the way home.",
    "My battery was almost empty by then, so I took only this one.",
    "I am putting together a quiz for the office and need one more entry.",
    "A colleague bet me a coffee that nobody could find this out.",
    "It had rained all morning and we were glad to be out at last.",
    "I meant to ask somebody on the spot, but everybody was in a hurry.",
    "My brother swears that he knows, though he has been mistaken before.",
    "This came in a long chat among friends, between two recipes.",
    "I am cleaning up my phone and want to name my pictures properly.",
    "The others have stopped caring, but it will not leave me alone.",
    "My neighbour wanted to know as well and could not work it out.",
    "We were on our way to somewhere else and stopped for a minute only.",
    "I promised my daughter to find out before she goes to bed.",
    "Please do not mind the quality, my hands were cold.",
    "I have asked in two forums already and nobody replied.",
    "My notes from that day got wet and cannot be read any more.",
    "A friend sent this without a word, as she always does.",
)
