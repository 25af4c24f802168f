"""Invented words: pronounceable, easy to distinguish on signs, none of them a known name.

Two words of a world differ by at least two letters, so that one misread letter never leads to
another entity. Pairs of letters that look like another letter (rn, cl, vv) do not occur.
"""

from __future__ import annotations

import random
import re

from toolmark.core import seeds


def _split_words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ONSETS = _split_words("b d f g h k m n p r s t v z br dr gr tr st sk pr kr w j th")
_VOWELS = _split_words("a e i o u a e o")
_MIDDLE_CONSONANTS = _split_words(
    "b d g k m n p r s t v z l nd rt st lm rk nt mb ld sk dr v gr rd sp mp nk"
)
_ENDINGS = _split_words(
    "ik um ost ova ur isk op omb ust uva eko olt ulo iko umo oth esk ub ask isto uka emb alt abo "
    "ezo evo umba uth"
)
# Patterns that look like another letter, or that form an offensive word.
_UNFIT_PATTERN = re.compile(
    r"rn|cl|vv|ii|uu|sex|ass|tit|cum|fuk|fuc|dik|dic|kok|nig|fag|rap|anu|poo|pis|slut|god|gay|dyk|"
    r"tur|wog|kil|dead|dam|hel|nazi|jew|arab|homo|porn|bomb|rob|kkk|suk|bast|bitch|cunt|wank|tard|"
    r"hitl|stal|trump|putin|pak|bum|bra|wop|kaf|gip|rom|mus|bud|hin"
)
_KNOWN_NAMES = frozenset(
    _split_words(
        "adidas agenda agrona alinta amazon android apple armani atari baldur banana bandana "
        "barbie barbora bartosik basalt bastard beladur benetton bentley berlin bosch boston "
        "brabant brasil breda brest brevik bugatti bulova burberry burden buzzard canada canon "
        "casio chanel corona corsa custard dacia dakar dallas danone dante darwin davis daytona "
        "debolt delta demuth denver derby desert desisto desmond detroit develop devon digenova "
        "doctor dominik donata dorothea dorset dover drabik dresden drummond dublin ducati "
        "duluth duran durban durex dyson edmond ericsson essen evian fanta fasulo ferrari "
        "florida foremost fossil garda garden garmin garnier gastilum gender geneva genoa "
        "genova geserum gillette gloria golden golomb google granada greta gucci harden haribo "
        "hazard hector heineken henkel hermes hildum homuth honda horten hotpoint humenik "
        "hyundai jaguar jakubik janosik kabul kaneko karasik karen katrina kelvin kenwood kenya "
        "kingdom kirkum kodak kolarik komarik kortum kovalik kovarik krakow kralik krenik "
        "kristen kuralt lenovo lincoln lisbon london madden madrid makita malta manta margaret "
        "marina markum marolt martell martin matera mattel matusik mazda medina memoranda "
        "merkur milka minarik minimum minolta modena modern modulo moldova momentum monaco "
        "montana morten motor motorola mustard nanda natal nestle netto nevada nikon niriko "
        "nissan nivea nokia nordisk noriko novara nutella omega oracle osram padova panasonic "
        "panda pandora pardon parma partum pendulum pepsi persil philips polaroid pompadur "
        "postum prada prague prevost primark prokop provost punta purdum rabuka random rasterop "
        "ravenna raymond regina renata renault render repost revlon revolt ricoh robert rolex "
        "sabrina samoth samsung sandisk sandvik santa santorum seiko serena siemens skoda skype "
        "smart sobolik sokolik sparta spotify sprite standard stasik statum stella strada "
        "sudden suzuki swatch tamarisk tampa tandem tango tantalum tefal tender tesco tesla "
        "tetra tinder toblerone tomasik tomasulo torsten toshiba toyota trento trevor trinova "
        "triumph turin twitter umbro unilever vector velvet venalum veranda verona versace "
        "vespa victor vienna viktor visigoth vodafone volvo walmart wambolt wampum warden "
        "wilmoth winokur wisdom wizard wooden xerox yamaha zurich"
    )
)
_MAX_TRIES = 2_000
_LENGTHS = range(6, 9)


class WordMaker:
    """Makes words; none is used twice, and none is similar to another one or to a known name."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._taken_shadows: set[str] = set()
        for word in sorted(_KNOWN_NAMES):
            self._taken_shadows.update(_one_letter_deletions(word))

    def make_word(self, head: str = "") -> str:
        """Return a capitalised word, which begins with `head` if possible.

        Raises ValueError if no more words are found.
        """
        for attempt in range(_MAX_TRIES):
            candidate = self._assemble(head if attempt < _MAX_TRIES // 2 else "")
            if (
                len(candidate) in _LENGTHS
                and not _UNFIT_PATTERN.search(candidate)
                and self._claim(candidate)
            ):
                return candidate.capitalize()
        raise ValueError("no more words: draw a smaller world")

    def _assemble(self, head: str) -> str:
        rng = self._rng
        start = (head or seeds.draw_one(rng, _ONSETS)) + seeds.draw_one(rng, _VOWELS)
        middle = seeds.draw_one(rng, _MIDDLE_CONSONANTS)
        if seeds.draw_below(rng, 2):
            middle += seeds.draw_one(rng, _VOWELS) + seeds.draw_one(rng, _MIDDLE_CONSONANTS)
        return start + middle + seeds.draw_one(rng, _ENDINGS)

    def _claim(self, word: str) -> bool:
        shadows = _one_letter_deletions(word)
        if not self._taken_shadows.isdisjoint(shadows):
            return False
        self._taken_shadows.update(shadows)
        return True


def word_beginning(word: str) -> str:
    """Return the beginning of a word up to one letter after its first vowel.

    Names with the same beginning are similar.
    """
    found = re.match(r"[^aeiou]*[aeiou][^aeiou]?", word.lower())
    return found[0] if found else word[:3].lower()


def _one_letter_deletions(word: str) -> set[str]:
    """Return the word, and the word without each letter.

    Two words whose sets have nothing in common differ by at least two letters.
    """
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}
