"""Words for what is written with signs: symbols, units, currencies, months."""

from __future__ import annotations

SYMBOL_NAMES = {
    "@": "at", ".": "dot", "_": "underscore", "-": "dash", "/": "slash", "\\": "backslash",
    ":": "colon", "#": "hash", "+": "plus", "=": "equals", "&": "and", "*": "times", "×": "times",
    "&&": "double ampersand", "||": "double pipe",
    "%": "percent", "~": "tilde", "^": "to the power of", "**": "to the power of", "|": "pipe",
    "<": "less than", ">": "greater than", "$": "dollar sign", "÷": "divided by",
    "?": "question mark",
    "!": "exclamation mark", ";": "semicolon", ",": "comma", "≤": "at most", "≥": "at least",
    "−": "minus", "–": "dash", "—": "dash", "•": "bullet", "°": "degrees", "±": "plus or minus",
    "√": "root", "²": "squared", "³": "cubed", "€": "euro sign", "£": "pound sign",
    "™": "trademark",
    "®": "registered", "©": "copyright", "(": "open parenthesis", ")": "close parenthesis",
    "[": "open bracket", "]": "close bracket", "{": "open brace", "}": "close brace",
    '"': "quote", "'": "apostrophe", "`": "backtick",
}  # fmt: skip
"""The name of a sign when it is read aloud."""

CURRENCY_NAMES = {
    "$": ("dollar", "dollars"), "€": ("euro", "euros"), "£": ("pound", "pounds"),
    "¥": ("yen", "yen"), "₹": ("rupee", "rupees"),
}  # fmt: skip
"""Currency signs: singular and plural."""

MAGNITUDE_NAMES = {
    "k": "thousand", "K": "thousand", "m": "million", "M": "million", "mn": "million",
    "b": "billion", "B": "billion", "bn": "billion", "tn": "trillion",
}  # fmt: skip
"""Letters that multiply an amount of money: $5k."""

COMPASS_NAMES = {"N": "north", "S": "south", "E": "east", "W": "west"}
"""Letters after a coordinate."""

US_STATE_NAMES = {
    "AL": "Alabama", "AK": "Alaska", "AZ": "Arizona", "AR": "Arkansas", "CA": "California",
    "CO": "Colorado", "CT": "Connecticut", "DE": "Delaware", "FL": "Florida", "GA": "Georgia",
    "IL": "Illinois", "IN": "Indiana", "IA": "Iowa", "KS": "Kansas", "KY": "Kentucky",
    "LA": "Louisiana", "MD": "Maryland", "MA": "Massachusetts", "MI": "Michigan",
    "MN": "Minnesota", "MS": "Mississippi", "MO": "Missouri", "MT": "Montana", "NE": "Nebraska",
    "NV": "Nevada", "NH": "New Hampshire", "NJ": "New Jersey", "NM": "New Mexico",
    "NY": "New York", "NC": "North Carolina", "ND": "North Dakota", "OH": "Ohio",
    "OR": "Oregon", "PA": "Pennsylvania", "RI": "Rhode Island", "SC": "South Carolina",
    "SD": "South Dakota", "TN": "Tennessee", "TX": "Texas", "UT": "Utah", "VT": "Vermont",
    "VA": "Virginia", "WA": "Washington", "WV": "West Virginia", "WI": "Wisconsin",
    "WY": "Wyoming",
}  # fmt: skip
"""States of the USA by their letters, without those whose letters mean something else
(HI, ID, ME, OK)."""

UNIT_NAMES = {
    "km": ("kilometer", "kilometers"), "cm": ("centimeter", "centimeters"),
    "mm": ("millimeter", "millimeters"), "nm": ("nanometer", "nanometers"),
    "kg": ("kilogram", "kilograms"), "mg": ("milligram", "milligrams"),
    "lb": ("pound", "pounds"), "lbs": ("pound", "pounds"), "oz": ("ounce", "ounces"),
    "ml": ("milliliter", "milliliters"), "mL": ("milliliter", "milliliters"),
    "ft": ("foot", "feet"), "sqft": ("square foot", "square feet"),
    "mph": ("mile per hour", "miles per hour"), "kmh": ("kilometer per hour",
    "kilometers per hour"),
    "Hz": ("hertz", "hertz"), "kHz": ("kilohertz", "kilohertz"), "MHz": ("megahertz", "megahertz"),
    "GHz": ("gigahertz", "gigahertz"), "GB": ("gigabyte", "gigabytes"),
    "MB": ("megabyte", "megabytes"), "KB": ("kilobyte", "kilobytes"), "TB": ("terabyte",
    "terabytes"),
    "kW": ("kilowatt", "kilowatts"), "kWh": ("kilowatt hour", "kilowatt hours"),
    "kJ": ("kilojoule", "kilojoules"), "Pa": ("pascal", "pascals"), "kPa": ("kilopascal",
    "kilopascals"),
    "psi": ("P S I", "P S I"), "hr": ("hour", "hours"), "hrs": ("hour", "hours"),
    "min": ("minute", "minutes"), "mins": ("minute", "minutes"), "sec": ("second", "seconds"),
    "secs": ("second", "seconds"), "ms": ("millisecond", "milliseconds"),
    "m": ("meter", "meters"), "g": ("gram", "grams"), "s": ("second", "seconds"),
    "h": ("hour", "hours"), "V": ("volt", "volts"), "A": ("ampere", "amperes"),
    "N": ("newton", "newtons"), "J": ("joule", "joules"), "W": ("watt", "watts"),
    "K": ("kelvin", "kelvin"), "C": ("coulomb", "coulombs"), "L": ("liter", "liters"),
    "l": ("liter", "liters"), "T": ("tesla", "tesla"),
}  # fmt: skip
"""Units after a number: singular and plural. Letters that often mean something else need a space;
they are also recognised in a denominator (m/s, J/K)."""

MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip

IMPERATIVE_VERBS = frozenset((
    "access", "activate", "add", "adjust", "analyse", "analyze", "apply", "arrange", "ask",
    "assess", "assign", "authenticate", "begin", "book", "bring", "build", "buy", "calculate",
    "call", "cancel", "change", "check", "choose", "clean", "clear", "close", "combine",
    "compare", "compile", "complete", "compose", "compute", "conduct", "confirm", "connect",
    "convert", "copy", "count", "create", "decode", "decrease", "delete", "derive", "describe",
    "design", "detect", "determine", "diagnose", "disable", "disconnect", "display", "divide",
    "download", "draft", "draw", "edit", "email", "enable", "enter", "estimate", "evaluate",
    "execute", "explain", "extract", "fetch", "figure", "fill", "filter", "find", "forecast",
    "forward", "generate", "get", "give", "grab", "help", "identify", "implement", "increase",
    "initiate", "install", "integrate", "invest", "join", "keep", "launch", "limit", "list",
    "locate", "lock", "log", "look", "make", "mark", "measure", "mention", "merge", "modify",
    "move", "name", "navigate", "note", "notify", "obtain", "open", "order", "organize",
    "pause", "perform", "pick", "place", "plan", "play", "post", "predict", "prepare", "print",
    "process", "propose", "provide", "purchase", "put", "query", "rank", "rate", "read",
    "recommend", "record", "remove", "rent", "repeat", "reply", "report", "request", "reserve",
    "reset", "resolve", "respond", "resume", "retrieve", "return", "review", "round", "run",
    "save", "scan", "schedule", "search", "send", "set", "share", "show", "sign", "simulate",
    "skip", "solve", "sort", "split", "start", "stop", "store", "submit", "subtract",
    "suggest", "summarize", "switch", "take", "tell", "test", "track", "transfer", "translate",
    "trim", "try", "turn", "update", "use", "verify", "view", "walk", "watch", "write",
))  # fmt: skip
"""Verbs that begin a request: "Find ..."."""

ROMAN_NUMERALS = {
    "II": 2,
    "III": 3,
    "IV": 4,
    "VI": 6,
    "VII": 7,
    "VIII": 8,
    "IX": 9,
    "XI": 11,
    "XII": 12,
}
"""Roman numerals after a name: World War II."""

RULER_NAMES = frozenset((
    "Alexander", "Benedict", "Catherine", "Charles", "Edward", "Elizabeth", "Francis", "Frederick",
    "George", "Gregory", "Henry", "Innocent", "Ivan", "James", "John", "Leo", "Louis", "Mary",
    "Napoleon", "Nicholas", "Otto", "Paul", "Peter", "Philip", "Pius", "Richard", "Urban",
    "Wilhelm", "William",
))  # fmt: skip
"""Names of rulers, which take an ordinal: Henry the eighth."""
