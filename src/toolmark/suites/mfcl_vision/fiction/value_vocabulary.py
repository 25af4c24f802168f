"""Values in words, combined from two lists: hundreds for each fact, all of them improbable."""

from __future__ import annotations

import random
from collections.abc import Mapping

from toolmark.core import seeds

_COLOUR_WORDS = (
    "teal silver maroon cream ivory turquoise scarlet bronze lilac mint coral navy amber rose sand "
    "olive plum copper peach slate emerald crimson lemon violet"
)
_STUDY_WORDS = (
    "history future repair design price teaching poetry geometry sound storage ethics folklore "
    "insurance lighting restoration trade cleaning mapping marketing care"
)
_OBJECT_WORDS = (
    "bridges lifts canals umbrellas beehives zips wallpaper lighthouses buttons mushrooms kites "
    "staircases mirrors tunnels locks pencils chimneys doors ladders hedges weirs ropes carpets "
    "windmills escalators barrels shoelaces orchards thermometers mosses"
)

# By fact: how the two words are combined, and the two lists.
_WORD_PAIRS: Mapping[str, tuple[str, str, str]] = {
    "local_dish": (
        "{} {}",
        "smoked stuffed pickled roasted braised salted candied fried steamed peppered baked cured "
        "stewed grilled glazed jellied",
        "trout parsnips chestnuts quail eel cabbage pears beetroot rabbit barley lentils turnips "
        "mackerel quinces leeks gooseberries chicory plums artichokes celeriac damsons fennel",
    ),
    "speciality": (
        "{} {}",
        "plum pear hazelnut fig apricot poppyseed quince walnut cherry rhubarb almond chestnut "
        "lavender ginger cardamom saffron elderflower blackcurrant",
        "strudel pancakes waffles pudding crumble trifle tart dumplings fritters scones sorbet "
        "meringue cheesecake gateau turnovers shortbread parfait custard brioche",
    ),
    "paving": (
        "{} {}",
        "grey pink mottled striped polished rough hexagonal blue-veined dark speckled tumbled "
        "broken ribbed sawn split weathered "
        "chequered russet honed flecked",
        "granite basalt porphyry limestone slate sandstone cobbles brick clinker gneiss marble "
        "quartzite setts flagstones pebbles tiles "
        "travertine dolomite",
    ),
    "material": (
        "{} {}",
        "brushed lacquered pressed hammered oiled recycled woven polished tinted bleached "
        "galvanised waxed blackened laminated carved etched gilded limed quilted perforated "
        "embossed burnished",
        "bamboo pewter larch soapstone zinc ash alabaster cork brass linen walnut enamel "
        "limestone aluminium leather birch porcelain nickel cherrywood slate "
        "felt oak copper rattan",
    ),
    "first_job": (
        "{} {}",
        "brickworks laundry dairy tannery shipyard sawmill brewery papermill circus hospital "
        "nursery foundry hotel lighthouse bakery quarry observatory printworks depot cannery "
        "casino vineyard distillery greenhouse library harbour planetarium ropeworks mint "
        "smokehouse pottery zoo pawnshop aquarium courthouse airfield mine creamery dockyard "
        "saltworks",
        "porter bookkeeper watchman dishwasher messenger apprentice typist cashier gardener "
        "packer cleaner storekeeper stoker carpenter errand-boy bellringer signwriter lamplighter "
        "ironer upholsterer glazier beekeeper draughtsman bottle-washer ticket-seller "
        "projectionist clerk tallyman",
    ),
    "oldest_piece": (
        "{} {}",
        "clay pewter bone cedar copper amber ivory slate wicker horn leather walnut marble silver "
        "ebony glass",
        "comb whistle ladle sundial bracelet cradle inkwell lantern flute mask spindle chessboard "
        "bell jug saddle abacus drum mirror casket weathercock",
    ),
    "curtain": (
        "{} {}",
        _COLOUR_WORDS,
        "velvet brocade damask satin canvas wool taffeta felt silk corduroy linen muslin "
        "chenille flannel jute",
    ),
    "motto": (
        "{} before {}",
        "patience courage bread laughter silence rain kindness thunder candour shelter music salt "
        "honesty wonder rest thrift daylight friendship",
        "profit speed glory noise thirst doubt winter gossip sorrow haste pride envy midnight "
        "applause luxury fame anger quarrel hunger",
    ),
    "topic": ("{} of {}", _STUDY_WORDS, _OBJECT_WORDS),
    "instrument": (
        "{} {}",
        "bass glass brass toy alto slide bowed electric double wooden hand steel pocket muted "
        "tenor wire",
        "zither harmonica mandolin trombone dulcimer accordion cornet marimba clarinet celesta "
        "ocarina banjo bassoon concertina lute hurdy-gurdy xylophone tuba viola",
    ),
    "ball": ("{} and {}", _COLOUR_WORDS, _COLOUR_WORDS),
    "away_kit": ("{} and {}", _COLOUR_WORDS, _COLOUR_WORDS),
    "secret_spice": (
        "{} {}",
        "smoked green toasted wild fermented candied black-rimmed dried ground pickled roasted "
        "frosted mountain coastal "
        "cracked sugared steeped brined",
        "cumin juniper caraway sumac fenugreek coriander mace anise lovage marjoram allspice "
        "tamarind tarragon nigella sorrel savory dill chervil",
    ),
}


def draw_value(rng: random.Random, fact: str) -> str:
    """Return words for a fact."""
    pattern, first_words, second_words = _WORD_PAIRS[fact]
    a = seeds.draw_one(rng, first_words.split())
    return pattern.format(a, seeds.draw_one(rng, [b for b in second_words.split() if b != a]))


def count_values(fact: str) -> int:
    """Return the number of possible values of a fact."""
    _, first_words, second_words = _WORD_PAIRS[fact]
    return sum(a != b for a in first_words.split() for b in second_words.split())
