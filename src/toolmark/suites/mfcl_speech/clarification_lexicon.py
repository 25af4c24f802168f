"""The words of a question that only checks what was heard, and the words that name topics."""

from __future__ import annotations

from toolmark.language.value_words import MONTH_NAMES


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


# what such a question may contain besides topics and values: any other word asks for more
CHECKING_WORDS = _word_set(
    "1 2 3 a abbreviated abbreviation able about absolutely accent accents accuracy accurate "
    "accurately acronym actual actually afraid after again against ahead all aloud alpha "
    "alphabet alright also am an and another any apologies are as ask asking at audio avoid b "
    "back bad be because before beg beginning begins being believe between bit both bravo "
    "break breaking brief briefly broke but by c called came can cant capital capitalization "
    "capitalized capitals carefully catch catching caught certain certainly chance character "
    "characters charlie check checked checking chunk chunks clarify clarity clear clearly come "
    "complete completely confirm confirmation confirming confuse confused connection continue "
    "continuing correct correctly could couldnt course cut cutting d dash dashes did didn "
    "didnt difference different difficult difficulty digit digits do does doesnt dont dot dots "
    "double doublecheck down due during e each earlier easy echo either else end ends ensure "
    "ensuring enter entry equal equals every exact exactly f faint familiar figure fine follow "
    "followed following for form format foxtrot from full fully g garbled get give given "
    "giving go going gone good got great group groups h had hand happen hard has have havent "
    "having hear heard hearing hello help helpful here hi hm hmm how hyphen hyphenated hyphens "
    "i if im in include included including initial initials intended into is isnt issue issues "
    "it its ive j juliet just k kilo kindly know l last later let lets letter letters lima "
    "line literal literally ll lost loud low lowercase m make may maybe me mean meant memory "
    "mentioned might mike mind minute mishear misheard mishearing missed missing mistake "
    "misunderstood mix mixup mixups moment more muffled my n namely names need no noise noisy "
    "not note noting now numbers o of off oh ok okay on once one only or oscar our out over p "
    "pairs papa pardon part parts perhaps phonetic phonetically piece pieces please point poor "
    "possible possibly precise precisely problem problems proceed proceeding pronounce "
    "pronounced pronunciation proper properly provide provided purpose purposes q quality "
    "quebec quickly quite r re read reading really recall recognise recognize record records "
    "refer referring refresh remember remind repeat repeating right romeo s safety said sake "
    "same say saying seem seems sent should sierra silent similar since single slash slow "
    "slower slowest slowly so something sorry sound sounded sounds spaces speak speaking "
    "specify spell spelled spelling spellings spelt spoke spoken starting starts state stated "
    "static still sure symbol symbols t talking tango tell than thank thanks that thats the "
    "them then there these they think this those though through to together too triple trouble "
    "two type typed typing u uh um unclear uncommon underscore underscores understand "
    "understanding understood unfamiliar uniform unsure unusual up uppercase us use using v ve "
    "verbatim verification verify verifying versus voice vowel vs w was wasn we well went were "
    "what whats whether which while whiskey will with wont word wording words would wouldnt "
    "mention mentions mentioning dictate dictated enunciate reconfirm recheck jot jotted "
    "wrote copy copied copying audible background static traffic crackly choppy patchy fuzzy "
    "spotty fragment lost losing drop dropped drops skipped covered drowned overlapped "
    "perfect great sure awesome lovely wonderful super fully partly partially half almost "
    "nearly otherwise similarly alike near close oops whoops pardon excuse bear quietly "
    "slowly hang tight real tad wanna gotta gonna lemme cause cuz folks writing noted "
    "recorded has been read reads reread twice thrice sec "
    "nice thing things favor favour kind spot gentle quick restate after another goodness "
    "tricky promise apologise apologize run "
    "write written wrong x xray y yankee yes yet you your youre z zulu"
)

# nouns that mean any topic of a kind
NOUNS_OF_KIND: dict[str, frozenset[str]] = {
    "name": _word_set(
        "name names surname lastname firstname person someone somebody family given user"
    ),
    "text": _word_set("name names"),
    "number": _word_set(
        "number numbers figure figures digits value values many much measurement measurements "
        "dimension dimensions quantity quantities amount amounts"
    ),
    "date": _word_set("date dates day when month year") | frozenset(MONTH_NAMES),
    "time": _word_set("time times when hour hours minute minutes oclock am pm"),
    "id": _word_set("id ids identifier code number reference"),
    "email": _word_set("email mail address addresses gmail com"),
    "place": _word_set(
        "city cities town towns place places country countries station stations airport airports "
        "state states location locations where"
    ),
    "file": _word_set("file files filename filenames document documents name"),
    "address": _word_set(
        "address addresses street house number where delivery home postal mailing shipping"
    ),
}

# words of which one may replace another in the name of a topic
SYNONYM_GROUPS = tuple(
    _word_set(group)
    for group in (
        "city town location place loc where", "passenger traveler traveller guest",
        "recipient receiver addressee payee", "customer client", "user person",
        "patient person", "amount sum total much", "quantity count", "min minimum lowest least",
        "max maximum highest most",
        "song title track piece", "artist band singer composer musician",
        "drug medicine medication", "dose dosage", "company firm business stock companies",
        "from source origin departure starting start departing", "origin source departure from",
        "to target destination arrival ending", "destination target arrival",
        "dropoff destination", "pickup start", "shop store", "party people guests size",
        "servings people", "bedrooms rooms", "file document", "folder directory",
        "id number identifier code", "account acct", "rate percentage percent",
        "price cost budget amount", "date day", "day date", "time hour", "unit units",
        "attendee participant invitee", "holder owner", "assignee person", "language lang",
        "duration length long", "street address", "address street", "minutes minute",
        "loc location",
        "interval period", "temperature degrees", "temp temperature", "symbol ticker",
        "lat latitude", "lon lng long longitude", "num number", "qty quantity", "dob birthdate",
        "dept department", "product item", "item product", "start begin from", "end to until",
        "sensor device", "phone telephone", "restaurant place",
        "tags tag hashtag hashtags", "mentions mention handle handles",
        "content contents text message body tweet post caption", "title headline",
        "distance far", "height tall", "age old", "weight heavy",
    )
)  # fmt: skip

# symbols as they are read out
SYMBOL_WORDS = _word_set("underscore dash hyphen dot slash point at symbol")

# parts of a topic's name that are too common to name it
COMMON_NAME_PARTS = _word_set(
    "in out to of the a is and for on at by id name number value no num s text type"
)
# topics that are people: `who` asks for them
PERSON_TOPICS = _word_set(
    "recipient receiver addressee payee attendee participant invitee assignee passenger traveler "
    "contact sender guest patient artist singer author holder owner student teacher player doctor "
    "customer client employee rider driver member user person manager tenant "
    "applicant candidate friend"
)

# what a request is about: next to a named topic it explains nothing more
REQUEST_SUBJECTS = _word_set(
    "reservation booking appointment order transfer payment transaction meeting event trip journey "
    "call request query search calculation money table ticket reminder alarm task job message "
    "flight parcel package train bus "
    "mail invitation delivery purchase rental stay visit triangle shape item entry form record"
)
PLACE_TOPICS = _word_set(
    "city location place town origin destination country station loc region state departure "
    "arrival from to source target pickup dropoff start end airport where"
)
