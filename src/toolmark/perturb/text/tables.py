"""Words for what is written with signs: symbols, units, currencies, months."""

from __future__ import annotations

SYMBOLS = {
    "@": "at", ".": "dot", "_": "underscore", "-": "dash", "/": "slash", "\\": "backslash",
    ":": "colon", "#": "hash", "+": "plus", "=": "equals", "&": "and", "*": "times", "×": "times",
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
"""What a sign is called when somebody reads it out."""

CURRENCIES = {
    "$": ("dollar", "dollars"), "€": ("euro", "euros"), "£": ("pound", "pounds"),
    "¥": ("yen", "yen"), "₹": ("rupee", "rupees"),
}  # fmt: skip
"""Currency signs: one of it, many of it."""

UNITS = {
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
"""Units after a number: one of it, many of it. Letters that often mean something else need a space
and are understood in a denominator as well (m/s, J/K)."""

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
