"""Names whose spelling a listener cannot know."""

from __future__ import annotations

from toolmark.language import spoken_letters

_NAMES_WITH_VARIANTS = frozenset((
    "Aaron", "Adrian", "Aidan", "Alan", "Alicia", "Alison", "Allan", "Allen", "Allison",
    "Andre", "Ann", "Anna", "Anne", "Ashley", "Bailey", "Barry", "Brian", "Brittany", "Browne",
    "Bryan", "Caitlin", "Carl", "Carla", "Carly", "Caroline", "Carolyn", "Catherine", "Cathy",
    "Chloe", "Christina", "Christine", "Cindy", "Claire", "Clare", "Clark", "Clarke", "Cody",
    "Connor", "Craig", "Dale", "Danielle", "Deborah", "Debra", "Denis", "Dennis", "Derek",
    "Devin", "Diane", "Dominic", "Elisabeth", "Elliot", "Elliott", "Eric", "Erica", "Erik",
    "Erika", "Erin", "Evan", "Frances", "Francis", "Gail", "Garrett", "Gene", "Geoff",
    "Geoffrey", "Gray", "Greg", "Grey", "Hailey", "Haley", "Hannah", "Harley", "Helen", "Ian",
    "Isaac", "Isabel", "Jackie", "Jaime", "Jamie", "Janet", "Jasmine", "Jayden", "Jeff",
    "Jeffrey", "Jenna", "Jeremy", "Jeri", "Jerry", "Jill", "Joann", "Jodie", "John", "Johnson",
    "Johnston", "Jon", "Jonathan", "Josie", "Julian", "Kaitlyn", "Karen", "Karl", "Kate",
    "Katherine", "Kathleen", "Kathryn", "Kathy", "Keith", "Kelly", "Kirsten", "Kris",
    "Kristen", "Kristin", "Kyle", "Larsen", "Larson", "Laura", "Lawrence", "Leah", "Lee",
    "Leigh", "Lesley", "Leslie", "Lewis", "Liam", "Lindsay", "Lindsey", "Louis", "Lucas",
    "Luis", "Lynn", "Madison", "Marc", "Marcus", "Mark", "Martin", "Mathew", "Matthew",
    "Megan", "Melissa", "Meyer", "Meyers", "Micheal", "Mohammed", "Monica", "Natalie", "Neal",
    "Neil", "Nicholas", "Nichole", "Nicolas", "Nicole", "Oliver", "Olsen", "Olson", "Patrick",
    "Pearce", "Peterson", "Phil", "Philip", "Phillip", "Pierce", "Rachael", "Rachel", "Rafael",
    "Rebecca", "Reed", "Reid", "Robin", "Robyn", "Rodger", "Roger", "Ross", "Russel",
    "Russell", "Samantha", "Sara", "Sarah", "Schneider", "Sean", "Shane", "Shannon", "Shawn",
    "Sherry", "Sheryl", "Simon", "Smith", "Smyth", "Sofia", "Sophia", "Stacey", "Stacy",
    "Stephanie", "Stephen", "Steven", "Stewart", "Stuart", "Sullivan", "Susan", "Sydney",
    "Teresa", "Terry", "Theresa", "Thompson", "Thomson", "Tony", "Tracey", "Tracy", "Tyler",
    "Vicky", "Vincent", "Vivian", "Wendy", "Yvonne", "Zach", "Zachary", "Zack", "Zoe",
))  # fmt: skip
"""Names that have more than one common spelling."""


def needs_spelling(name: str) -> bool:
    """Return whether a name must be spelled out: it is unknown or has several spellings."""
    return name in _NAMES_WITH_VARIANTS or not spoken_letters.is_dictionary_word(name)
