"""Invented words: pronounceable, told apart by a reader of signs, none of them a known name.

Two words of a world differ by two letters at least, so that no letter read wrongly leads to
another entity. Pairs of letters that are read for another one (rn, cl, vv) do not occur.
"""

from __future__ import annotations

import random
import re

from toolmark import seeds


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_ONSETS = _split("b d f g h k m n p r s t v z br dr gr tr st sk pr kr w j th")
_VOWELS = _split("a e i o u a e o")
_MIDDLES = _split("b d g k m n p r s t v z l nd rt st lm rk nt mb ld sk dr v gr rd sp mp nk")
_ENDS = _split(
    "ik um ost ova ur isk op omb ust uva eko olt ulo iko umo oth esk ub ask isto uka emb alt abo "
    "ezo evo umba uth"
)
# what reads as another letter, or as a word that nobody wants on a sign
_UNFIT = re.compile(
    r"rn|cl|vv|ii|uu|sex|ass|tit|cum|fuk|fuc|dik|dic|kok|nig|fag|rap|anu|poo|pis|slut|god|gay|dyk|"
    r"tur|wog|kil|dead|dam|hel|nazi|jew|arab|homo|porn|bomb|rob|kkk|suk|bast|bitch|cunt|wank|tard|"
    r"hitl|stal|trump|putin|pak|bum|bra|wop|kaf|gip|rom|mus|bud|hin"
)
_KNOWN = frozenset(
    _split(
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
_TRIES = 2_000
_LENGTH = range(6, 9)


class Mint:
    """Makes words, none twice and none near another, nor a known name."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._near: set[str] = set()
        for word in sorted(_KNOWN):
            self._near.update(_shadows(word))

    def word(self, head: str = "") -> str:
        """Make a word, which begins with `head` where one can be had. Returns it capitalised."""
        for attempt in range(_TRIES):
            made = self._made(head if attempt < _TRIES // 2 else "")
            if len(made) in _LENGTH and not _UNFIT.search(made) and self._take(made):
                return made.capitalize()
        raise ValueError("no more words: draw a smaller world")

    def _made(self, head: str) -> str:
        rng = self._rng
        start = (head or seeds.choice(rng, _ONSETS)) + seeds.choice(rng, _VOWELS)
        middle = seeds.choice(rng, _MIDDLES)
        if seeds.below(rng, 2):
            middle += seeds.choice(rng, _VOWELS) + seeds.choice(rng, _MIDDLES)
        return start + middle + seeds.choice(rng, _ENDS)

    def _take(self, word: str) -> bool:
        shadows = _shadows(word)
        if not self._near.isdisjoint(shadows):
            return False
        self._near.update(shadows)
        return True


def head(word: str) -> str:
    """Return how a word begins, a letter beyond its first vowel: what words named alike share."""
    found = re.match(r"[^aeiou]*[aeiou][^aeiou]?", word.lower())
    return found[0] if found else word[:3].lower()


def _shadows(word: str) -> set[str]:
    """Return the word, and the word without each letter: two that share none differ by two."""
    return {word, *(word[:i] + word[i + 1 :] for i in range(len(word)))}
