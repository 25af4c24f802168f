"""Questions for facts, and noun phrases for the things that facts link to.

Every fact has a question and a noun phrase, with {x} for the entity that has the fact. A linked
entity is described by its noun phrase, so that phrases nest: "the lawyer of the architect of the
museum".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from toolmark.suites.mfcl_vision.fiction.entity_kinds import ValueSort


class QuestionPhrase(NamedTuple):
    """A question for a fact, and a noun phrase for it."""

    question: str
    noun: str


_COMMON_PHRASES = {
    "city": QuestionPhrase("In which city is {x}?", "the city of {x}"),
    "street": QuestionPhrase("On which street is {x}?", "the street of {x}"),
    "opened": QuestionPhrase("What is the opening date of {x}?", "the opening date of {x}"),
    "founded": QuestionPhrase("What is the founding date of {x}?", "the founding date of {x}"),
    "first_held": QuestionPhrase(
        "On what date was {x} held for the first time?", "the date of the very first edition of {x}"
    ),
    "architect": QuestionPhrase("Who was the architect of {x}?", "the architect of {x}"),
    "founder": QuestionPhrase("Who founded {x}?", "the founder of {x}"),
    "owner": QuestionPhrase("Who owns {x}?", "the owner of {x}"),
    "sponsor": QuestionPhrase("Which brand sponsors {x}?", "the brand that sponsors {x}"),
    "host": QuestionPhrase("Who hosts {x}?", "the host of {x}"),
    "producer": QuestionPhrase("Who produces {x}?", "the producer of {x}"),
    "former_name": QuestionPhrase("What is the former name of {x}?", "the former name of {x}"),
    "visitors": QuestionPhrase(
        "How many visitors does {x} have in a year?", "the yearly number of visitors of {x}"
    ),
    "topic": QuestionPhrase("What is the topic of {x}?", "the topic of {x}"),
    "material": QuestionPhrase("Which material was used for {x}?", "the material of {x}"),
    "copies": QuestionPhrase(
        "How many copies were sold in the first year of {x}?",
        "the number of copies sold in the first year of {x}",
    ),
    "released": QuestionPhrase("What is the release date of {x}?", "the release date of {x}"),
    "first_aired": QuestionPhrase(
        "When did {x} go on air for the first time?", "the date of the first broadcast of {x}"
    ),
    "theme_music": QuestionPhrase(
        "Which band plays the theme music of {x}?",
        "the band that plays the theme music of {x}",
    ),
    "motto": QuestionPhrase("What is the motto of {x}?", "the motto of {x}"),
    "birthplace": QuestionPhrase("In which city was {x} born?", "the birthplace of {x}"),
    "born": QuestionPhrase("What is the date of birth of {x}?", "the date of birth of {x}"),
    "first_job": QuestionPhrase("What was the first job of {x}?", "the first job of {x}"),
    "mascot": QuestionPhrase("What is the mascot of {x} called?", "the name of the mascot of {x}"),
    "capacity": QuestionPhrase("How many seats does {x} have?", "the number of seats in {x}"),
    "weight": QuestionPhrase("What is the weight in grams of {x}?", "the weight in grams of {x}"),
    "venue": QuestionPhrase("At which venue does {x} take place?", "the venue of {x}"),
    "floor_area": QuestionPhrase(
        "How many square metres of floor does {x} have?", "the floor area in square metres of {x}"
    ),
}

_COUNTRY_PHRASES = {
    "city.chartered": QuestionPhrase(
        "When did {x} get its charter?", "the date of the charter of {x}"
    ),
    "city.population": QuestionPhrase("How many people live in {x}?", "the population of {x}"),
    "city.river": QuestionPhrase("Which river flows through {x}?", "the river of {x}"),
    "city.mayor": QuestionPhrase("Who is the mayor of {x}?", "the mayor of {x}"),
    "city.twin": QuestionPhrase("Which city is twinned with {x}?", "the twin city of {x}"),
    "city.local_dish": QuestionPhrase(
        "Which local dish is {x} known for?", "the local dish of {x}"
    ),
    "city.tower_steps": QuestionPhrase(
        "How many steps does the tower of {x} have?", "the number of steps in the tower of {x}"
    ),
    "street.city": QuestionPhrase("In which city is {x}?", "the city of {x}"),
    "street.laid_out": QuestionPhrase(
        "When was {x} laid out?", "the date of the laying out of {x}"
    ),
    "street.length": QuestionPhrase("How many metres long is {x}?", "the length in metres of {x}"),
    "street.planner": QuestionPhrase("Who planned {x}?", "the planner of {x}"),
    "street.lamps": QuestionPhrase("How many lamps light {x}?", "the number of lamps on {x}"),
    "street.paving": QuestionPhrase("What is {x} paved with?", "the paving of {x}"),
    "person.lawyer": QuestionPhrase("Who is the lawyer of {x}?", "the lawyer of {x}"),
    "person.school": QuestionPhrase("Which school did {x} go to?", "the school of {x}"),
    "person.dog": QuestionPhrase("What is the dog of {x} called?", "the name of the dog of {x}"),
    "person.home": QuestionPhrase("On which street does {x} live?", "the home street of {x}"),
}

_PLACE_PHRASES = {
    "museum.curator": QuestionPhrase("Who is the curator of {x}?", "the curator of {x}"),
    "museum.exhibits": QuestionPhrase(
        "How many exhibits does {x} hold?", "the number of exhibits in {x}"
    ),
    "museum.oldest_piece": QuestionPhrase(
        "What is the oldest piece in {x}?", "the oldest piece in {x}"
    ),
    "cafe.speciality": QuestionPhrase("What is the speciality of {x}?", "the speciality of {x}"),
    "cafe.cups": QuestionPhrase(
        "How many cups a week are served by {x}?", "the weekly number of cups served by {x}"
    ),
    "cafe.roaster": QuestionPhrase(
        "Which brand roasts the coffee of {x}?", "the brand that roasts the coffee of {x}"
    ),
    "station.passengers": QuestionPhrase(
        "How many passengers a day pass through {x}?", "the number of passengers a day at {x}"
    ),
    "station.first_train": QuestionPhrase(
        "At what time does the first train leave from {x}?", "the time of the first train from {x}"
    ),
    "station.last_train": QuestionPhrase(
        "At what time does the last train leave from {x}?", "the time of the last train from {x}"
    ),
    "station.next_stop": QuestionPhrase(
        "Which station comes right after {x}?", "the next stop after {x}"
    ),
    "station.clockmaker": QuestionPhrase(
        "Who made the clock of {x}?", "the person who made the clock of {x}"
    ),
    "monument.unveiled": QuestionPhrase(
        "When was {x} unveiled?", "the date of the unveiling of {x}"
    ),
    "monument.sculptor": QuestionPhrase("Who is the sculptor of {x}?", "the sculptor of {x}"),
    "monument.honours": QuestionPhrase("Who is honoured by {x}?", "the person honoured by {x}"),
    "monument.height": QuestionPhrase(
        "How many millimetres high is {x}?", "the height in millimetres of {x}"
    ),
    "monument.donor": QuestionPhrase("Which brand paid for {x}?", "the brand that paid for {x}"),
    "theatre.manager": QuestionPhrase("Who manages {x}?", "the manager of {x}"),
    "theatre.organ_pipes": QuestionPhrase(
        "How many pipes does the organ of {x} have?", "the number of pipes in the organ of {x}"
    ),
    "theatre.curtain": QuestionPhrase(
        "Which fabric was used for the curtain of {x}?", "the fabric of the curtain of {x}"
    ),
}

_EVENT_PHRASES = {
    "festival.city": QuestionPhrase("In which city is {x} held?", "the host city of {x}"),
    "festival.headliner": QuestionPhrase(
        "Which band was the last headliner of {x}?", "the last headliner of {x}"
    ),
    "conference.city": QuestionPhrase("In which city does {x} meet?", "the host city of {x}"),
    "conference.chair": QuestionPhrase("Who chairs {x}?", "the chair of {x}"),
    "conference.delegates": QuestionPhrase(
        "How many delegates in all have come to {x}?",
        "the total number of delegates over the years at {x}",
    ),
    "conference.fee": QuestionPhrase(
        "How many crowns is the fee for attending {x}?", "the fee in crowns for attending {x}"
    ),
    "expo.city": QuestionPhrase("In which city is {x} held?", "the host city of {x}"),
    "expo.organiser": QuestionPhrase("Who organises {x}?", "the organiser of {x}"),
    "expo.exhibitors": QuestionPhrase(
        "How many exhibitors in all have come to {x}?",
        "the total number of exhibitors over the years at {x}",
    ),
    "race.city": QuestionPhrase("In which city is {x} run?", "the host city of {x}"),
    "race.start": QuestionPhrase(
        "Which street is the start of {x}?", "the street at the start of {x}"
    ),
    "race.finish": QuestionPhrase(
        "On which street does {x} finish?", "the street at the finish of {x}"
    ),
    "race.distance": QuestionPhrase(
        "How many metres long is {x}?", "the distance in metres of {x}"
    ),
    "race.runners": QuestionPhrase(
        "How many runners took part in the last edition of {x}?",
        "the number of runners in the last edition of {x}",
    ),
    "race.record_holder": QuestionPhrase(
        "Who holds the record of {x}?", "the record holder of {x}"
    ),
    "award.ceremony": QuestionPhrase(
        "At which theatre is {x} handed over?", "the theatre that hosts the ceremony of {x}"
    ),
    "award.jury_chair": QuestionPhrase(
        "Who chairs the jury of {x}?", "the person who chairs the jury of {x}"
    ),
    "award.namesake": QuestionPhrase("After whom is {x} named?", "the namesake of {x}"),
    "award.winner": QuestionPhrase("Which film won {x}?", "the film that won {x}"),
    "award.prize": QuestionPhrase(
        "How many crowns come with {x}?", "the prize money in crowns of {x}"
    ),
}

_MEDIA_PHRASES = {
    "film.director": QuestionPhrase("Who directed {x}?", "the director of {x}"),
    "film.writer": QuestionPhrase(
        "Who wrote the script of {x}?", "the person who wrote the script of {x}"
    ),
    "film.shot_in": QuestionPhrase("In which city was {x} shot?", "the shooting location of {x}"),
    "film.budget": QuestionPhrase(
        "How many crowns was the budget of {x}?", "the budget in crowns of {x}"
    ),
    "film.soundtrack": QuestionPhrase(
        "Which band recorded the soundtrack of {x}?",
        "the band that recorded the soundtrack of {x}",
    ),
    "film.based_on": QuestionPhrase("On which book is {x} based?", "the book behind {x}"),
    "film.extras": QuestionPhrase("How many extras appear in {x}?", "the number of extras in {x}"),
    "book.author": QuestionPhrase("Who is the author of {x}?", "the author of {x}"),
    "book.published": QuestionPhrase(
        "What is the publication date of {x}?", "the publication date of {x}"
    ),
    "book.publisher": QuestionPhrase("Which house published {x}?", "the publisher of {x}"),
    "book.setting": QuestionPhrase("In which city is {x} set?", "the setting of {x}"),
    "book.illustrator": QuestionPhrase("Who illustrated {x}?", "the illustrator of {x}"),
    "book.dedicated_to": QuestionPhrase(
        "To whom is {x} dedicated?", "the person honoured in the dedication of {x}"
    ),
    "band.city": QuestionPhrase("From which city does {x} come?", "the home city of {x}"),
    "band.singer": QuestionPhrase("Who sings in {x}?", "the singer of {x}"),
    "band.drummer": QuestionPhrase("Who plays the drums in {x}?", "the drummer of {x}"),
    "band.first_album": QuestionPhrase(
        "What is the first album of {x} called?", "the first album of {x}"
    ),
    "band.instrument": QuestionPhrase(
        "Which unusual instrument is played by {x}?", "the unusual instrument of {x}"
    ),
    "band.fan_club": QuestionPhrase(
        "How many members does the fan club of {x} have?",
        "the number of members in the fan club of {x}",
    ),
    "album.band": QuestionPhrase("Which band made {x}?", "the band that made {x}"),
    "album.recorded_in": QuestionPhrase(
        "In which city was {x} recorded?", "the recording location of {x}"
    ),
    "album.producer": QuestionPhrase("Who produced {x}?", "the producer of {x}"),
    "album.cover_artist": QuestionPhrase(
        "Who made the cover of {x}?", "the artist who made the cover of {x}"
    ),
    "album.running_time": QuestionPhrase(
        "What is the running time in seconds of {x}?", "the running time in seconds of {x}"
    ),
    "show.studio": QuestionPhrase(
        "From which city is {x} broadcast?", "the city with the studio of {x}"
    ),
    "show.listeners": QuestionPhrase(
        "How many listeners does {x} have?", "the number of listeners of {x}"
    ),
    "podcast.studio": QuestionPhrase(
        "On which street is {x} recorded?", "the street with the studio of {x}"
    ),
    "podcast.first_guest": QuestionPhrase(
        "Who was the first guest of {x}?", "the first guest of {x}"
    ),
    "podcast.downloads": QuestionPhrase(
        "How many downloads has the most popular episode of {x}?",
        "the number of downloads of the most popular episode of {x}",
    ),
}

_SPORTS_PHRASES = {
    "league.president": QuestionPhrase("Who is the president of {x}?", "the president of {x}"),
    "league.seat": QuestionPhrase("In which city does {x} have its seat?", "the seat of {x}"),
    "league.champion": QuestionPhrase(
        "Which team is the champion of {x}?", "the reigning champion of {x}"
    ),
    "league.registered": QuestionPhrase(
        "How many players are registered in {x}?", "the number of players registered in {x}"
    ),
    "league.ball": QuestionPhrase(
        "What are the colours of the ball of {x}?", "the colours of the ball of {x}"
    ),
    "team.league": QuestionPhrase("In which league does {x} play?", "the league of {x}"),
    "team.city": QuestionPhrase("From which city does {x} come?", "the home city of {x}"),
    "team.home_ground": QuestionPhrase(
        "At which ground does {x} play at home?", "the home ground of {x}"
    ),
    "team.coach": QuestionPhrase("Who coaches {x}?", "the coach of {x}"),
    "team.captain": QuestionPhrase("Who is the captain of {x}?", "the captain of {x}"),
    "team.away_kit": QuestionPhrase(
        "What are the colours of the away kit of {x}?", "the colours of the away kit of {x}"
    ),
    "team.members": QuestionPhrase(
        "How many members does {x} have?", "the number of members of {x}"
    ),
    "stadium.record_crowd": QuestionPhrase(
        "How many spectators were in the record crowd of {x}?",
        "the size of the record crowd of {x}",
    ),
    "stadium.groundskeeper": QuestionPhrase(
        "Who looks after the turf of {x}?", "the groundskeeper of {x}"
    ),
    "cup.final_ground": QuestionPhrase(
        "At which ground is the final of {x} played?", "the final ground of {x}"
    ),
    "cup.winner": QuestionPhrase("Which team won {x}?", "the team that won {x}"),
    "cup.scorer": QuestionPhrase(
        "Who scored the winning goal in the last final of {x}?",
        "the scorer of the winning goal in the last final of {x}",
    ),
    "cup.attendance": QuestionPhrase(
        "How many spectators saw the final of {x}?", "the attendance at the final of {x}"
    ),
    "cup.silversmith": QuestionPhrase(
        "Which silversmith made {x}?", "the silversmith who made {x}"
    ),
    "cup.last_final": QuestionPhrase(
        "When was the latest final of {x} played?", "the date of the latest final of {x}"
    ),
    "player.team": QuestionPhrase("For which team does {x} play?", "the team of {x}"),
    "player.debut": QuestionPhrase("What is the debut date of {x}?", "the debut date of {x}"),
    "player.minutes": QuestionPhrase(
        "How many minutes has {x} played?", "the number of minutes played by {x}"
    ),
    "player.trainer": QuestionPhrase(
        "Who is the personal trainer of {x}?", "the personal trainer of {x}"
    ),
    "player.boots": QuestionPhrase(
        "Which brand makes the boots of {x}?", "the brand of the boots of {x}"
    ),
}

_SHOPPING_PHRASES = {
    "brand.headquarters": QuestionPhrase(
        "In which city does {x} have its headquarters?",
        "the city with the headquarters of {x}",
    ),
    "brand.first_product": QuestionPhrase(
        "What was the first product of {x}?", "the first product of {x}"
    ),
    "brand.ambassador": QuestionPhrase(
        "Which player advertises {x}?", "the player who advertises {x}"
    ),
    "brand.workers": QuestionPhrase(
        "How many workers does {x} employ?", "the number of workers of {x}"
    ),
    "product.brand": QuestionPhrase("Which brand sells {x}?", "the brand that sells {x}"),
    "product.designer": QuestionPhrase("Who designed {x}?", "the designer of {x}"),
    "product.made_in": QuestionPhrase(
        "In which city is {x} made?", "the city with the factory of {x}"
    ),
    "product.price": QuestionPhrase(
        "How many crowns is the list price of {x}?", "the list price in crowns of {x}"
    ),
    "product.test_score": QuestionPhrase(
        "How many points did {x} score in the test?", "the test score of {x}"
    ),
    "shop.best_seller": QuestionPhrase(
        "Which product does {x} sell most?", "the best-selling product of {x}"
    ),
    "shop.customers": QuestionPhrase(
        "How many customers a month come to {x}?", "the monthly number of customers of {x}"
    ),
    "dish.inventor": QuestionPhrase("Who invented {x}?", "the inventor of {x}"),
    "dish.first_served": QuestionPhrase(
        "In which café was {x} first served?", "the café that first served {x}"
    ),
    "dish.first_cooked": QuestionPhrase(
        "When was {x} cooked for the first time?", "the date of the first cooking of {x}"
    ),
    "dish.origin": QuestionPhrase("From which city does {x} come?", "the city of origin of {x}"),
    "dish.energy": QuestionPhrase(
        "How many kilojoules are in one portion of {x}?",
        "the energy in kilojoules of one portion of {x}",
    ),
    "dish.secret_spice": QuestionPhrase(
        "What is the secret spice of {x}?", "the secret spice of {x}"
    ),
    "dish.maker": QuestionPhrase("Which brand makes {x}?", "the brand that makes {x}"),
}

_ALL_PHRASES: Mapping[str, QuestionPhrase] = {
    **_COMMON_PHRASES,
    **_COUNTRY_PHRASES,
    **_PLACE_PHRASES,
    **_EVENT_PHRASES,
    **_MEDIA_PHRASES,
    **_SPORTS_PHRASES,
    **_SHOPPING_PHRASES,
}


def question_phrase(kind: str, fact: str) -> QuestionPhrase:
    """Return the question and noun phrase for a fact of a kind."""
    return _ALL_PHRASES.get(f"{kind}.{fact}") or _ALL_PHRASES[fact]


# Beginnings of requests that are not questions; {noun} is the noun phrase of what is asked.
REQUEST_FRAMES = (
    "Find out {noun}.",
    "Please look up {noun}.",
    "I would like to know {noun}.",
    "What I am after is {noun}.",
    "Can you tell me {noun}?",
)

ANSWER_FORMS: Mapping[ValueSort, tuple[str, ...]] = {
    "place": (
        "Answer with the name of the place only.",
        "The name alone is enough.",
        "Just the name, please.",
    ),
    "date": (
        "Give day, month and year.",
        "Answer with the full date.",
        "I need the exact date: day, month, year.",
    ),
    "time": (
        "Give the time of day to the minute.",
        "Answer with hours and minutes.",
        "Hours and minutes, please.",
    ),
    "number": (
        "Answer with the number only.",
        "A plain number, please.",
        "Just the figure, without the unit.",
    ),
    "name": (
        "Answer with the name only.",
        "The full name, please.",
        "Just the name, nothing else.",
    ),
    "choice": ("A few words are enough.", "Keep it short."),
}

# Criteria for choices that cannot be judged from the picture: least and greatest.
EXTREME_CLAUSES: Mapping[str, tuple[str, str]] = {
    "opened": ("opened first", "opened last"),
    "founded": ("was founded first", "was founded last"),
    "first_held": ("began first", "began last"),
    "unveiled": ("was unveiled first", "was unveiled last"),
    "released": ("was released first", "was released last"),
    "published": ("was published first", "was published last"),
    "first_aired": ("went on air first", "went on air last"),
    "born": ("was born first", "was born last"),
    "first_cooked": ("was first cooked before the others", "was first cooked after the others"),
    "exhibits": ("holds the fewest exhibits", "holds the most exhibits"),
    "visitors": ("has the fewest visitors", "has the most visitors"),
    "cups": ("serves the fewest cups a week", "serves the most cups a week"),
    "passengers": ("has the fewest passengers", "has the most passengers"),
    "capacity": ("has the fewest seats", "has the most seats"),
    "delegates": ("has had the fewest delegates in all", "has had the most delegates in all"),
    "exhibitors": ("has had the fewest exhibitors in all", "has had the most exhibitors in all"),
    "runners": ("had the fewest runners last time", "had the most runners last time"),
    "distance": ("is run over the shortest distance", "is run over the longest distance"),
    "prize": ("comes with the least prize money", "comes with the most prize money"),
    "budget": ("had the smallest budget", "had the largest budget"),
    "copies": (
        "sold the fewest copies in its first year",
        "sold the most copies in its first year",
    ),
    "fan_club": ("has the smallest fan club", "has the largest fan club"),
    "listeners": ("has the fewest listeners", "has the most listeners"),
    "downloads": (
        "has had the fewest downloads of one episode",
        "has had the most downloads of one episode",
    ),
    "registered": ("has the fewest registered players", "has the most registered players"),
    "members": ("has the fewest members", "has the most members"),
    "attendance": (
        "had the fewest spectators at its last final",
        "had the most spectators at its last final",
    ),
    "minutes": ("has played the fewest minutes", "has played the most minutes"),
    "workers": ("employs the fewest workers", "employs the most workers"),
    "price": ("costs the least", "costs the most"),
    "customers": ("has the fewest customers", "has the most customers"),
    "energy": ("has the fewest kilojoules a portion", "has the most kilojoules a portion"),
}
