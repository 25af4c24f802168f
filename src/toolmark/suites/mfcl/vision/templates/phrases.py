"""How facts are asked for, and how the things that they lead to are spoken of.

Every fact has a question and a noun phrase, with {x} for whom or what it is told of; what leads on
is said by its noun phrase, so that phrases nest: "the lawyer of the architect of the museum".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from toolmark.suites.mfcl.vision.fiction.kinds import Sort


class Phrase(NamedTuple):
    """A question for a fact, and a noun phrase for it."""

    ask: str
    noun: str


_COMMON = {
    "city": Phrase("In which city is {x}?", "the city of {x}"),
    "street": Phrase("On which street is {x}?", "the street of {x}"),
    "opened": Phrase("What is the opening date of {x}?", "the opening date of {x}"),
    "founded": Phrase("What is the founding date of {x}?", "the founding date of {x}"),
    "first_held": Phrase(
        "On what date was {x} held for the first time?", "the date of the very first edition of {x}"
    ),
    "architect": Phrase("Who was the architect of {x}?", "the architect of {x}"),
    "founder": Phrase("Who founded {x}?", "the founder of {x}"),
    "owner": Phrase("Who owns {x}?", "the owner of {x}"),
    "sponsor": Phrase("Which brand sponsors {x}?", "the brand that sponsors {x}"),
    "host": Phrase("Who hosts {x}?", "the host of {x}"),
    "producer": Phrase("Who produces {x}?", "the producer of {x}"),
    "former_name": Phrase("What is the former name of {x}?", "the former name of {x}"),
    "visitors": Phrase(
        "How many visitors does {x} have in a year?", "the yearly number of visitors of {x}"
    ),
    "topic": Phrase("What is the topic of {x}?", "the topic of {x}"),
    "material": Phrase("Which material was used for {x}?", "the material of {x}"),
    "copies": Phrase(
        "How many copies were sold in the first year of {x}?",
        "the number of copies sold in the first year of {x}",
    ),
    "released": Phrase("What is the release date of {x}?", "the release date of {x}"),
    "first_aired": Phrase(
        "When did {x} go on air for the first time?", "the date of the first broadcast of {x}"
    ),
    "theme_music": Phrase(
        "Which band plays the theme music of {x}?",
        "the band that plays the theme music of {x}",
    ),
    "motto": Phrase("What is the motto of {x}?", "the motto of {x}"),
    "birthplace": Phrase("In which city was {x} born?", "the birthplace of {x}"),
    "born": Phrase("What is the date of birth of {x}?", "the date of birth of {x}"),
    "first_job": Phrase("What was the first job of {x}?", "the first job of {x}"),
    "mascot": Phrase("What is the mascot of {x} called?", "the name of the mascot of {x}"),
    "capacity": Phrase("How many seats does {x} have?", "the number of seats in {x}"),
    "weight": Phrase("What is the weight in grams of {x}?", "the weight in grams of {x}"),
    "venue": Phrase("At which venue does {x} take place?", "the venue of {x}"),
    "floor_area": Phrase(
        "How many square metres of floor does {x} have?", "the floor area in square metres of {x}"
    ),
}

_COUNTRY = {
    "city.chartered": Phrase("When did {x} get its charter?", "the date of the charter of {x}"),
    "city.population": Phrase("How many people live in {x}?", "the population of {x}"),
    "city.river": Phrase("Which river flows through {x}?", "the river of {x}"),
    "city.mayor": Phrase("Who is the mayor of {x}?", "the mayor of {x}"),
    "city.twin": Phrase("Which city is twinned with {x}?", "the twin city of {x}"),
    "city.local_dish": Phrase("Which local dish is {x} known for?", "the local dish of {x}"),
    "city.tower_steps": Phrase(
        "How many steps does the tower of {x} have?", "the number of steps in the tower of {x}"
    ),
    "street.city": Phrase("In which city is {x}?", "the city of {x}"),
    "street.laid_out": Phrase("When was {x} laid out?", "the date of the laying out of {x}"),
    "street.length": Phrase("How many metres long is {x}?", "the length in metres of {x}"),
    "street.planner": Phrase("Who planned {x}?", "the planner of {x}"),
    "street.lamps": Phrase("How many lamps light {x}?", "the number of lamps on {x}"),
    "street.paving": Phrase("What is {x} paved with?", "the paving of {x}"),
    "person.lawyer": Phrase("Who is the lawyer of {x}?", "the lawyer of {x}"),
    "person.school": Phrase("Which school did {x} go to?", "the school of {x}"),
    "person.dog": Phrase("What is the dog of {x} called?", "the name of the dog of {x}"),
    "person.home": Phrase("On which street does {x} live?", "the home street of {x}"),
}

_PLACES = {
    "museum.curator": Phrase("Who is the curator of {x}?", "the curator of {x}"),
    "museum.exhibits": Phrase("How many exhibits does {x} hold?", "the number of exhibits in {x}"),
    "museum.oldest_piece": Phrase("What is the oldest piece in {x}?", "the oldest piece in {x}"),
    "cafe.speciality": Phrase("What is the speciality of {x}?", "the speciality of {x}"),
    "cafe.cups": Phrase(
        "How many cups a week are served by {x}?", "the weekly number of cups served by {x}"
    ),
    "cafe.roaster": Phrase(
        "Which brand roasts the coffee of {x}?", "the brand that roasts the coffee of {x}"
    ),
    "station.passengers": Phrase(
        "How many passengers a day pass through {x}?", "the number of passengers a day at {x}"
    ),
    "station.first_train": Phrase(
        "At what time does the first train leave from {x}?", "the time of the first train from {x}"
    ),
    "station.last_train": Phrase(
        "At what time does the last train leave from {x}?", "the time of the last train from {x}"
    ),
    "station.next_stop": Phrase("Which station comes right after {x}?", "the next stop after {x}"),
    "station.clockmaker": Phrase(
        "Who made the clock of {x}?", "the person who made the clock of {x}"
    ),
    "monument.unveiled": Phrase("When was {x} unveiled?", "the date of the unveiling of {x}"),
    "monument.sculptor": Phrase("Who is the sculptor of {x}?", "the sculptor of {x}"),
    "monument.honours": Phrase("Who is honoured by {x}?", "the person honoured by {x}"),
    "monument.height": Phrase(
        "How many millimetres high is {x}?", "the height in millimetres of {x}"
    ),
    "monument.donor": Phrase("Which brand paid for {x}?", "the brand that paid for {x}"),
    "theatre.manager": Phrase("Who manages {x}?", "the manager of {x}"),
    "theatre.organ_pipes": Phrase(
        "How many pipes does the organ of {x} have?", "the number of pipes in the organ of {x}"
    ),
    "theatre.curtain": Phrase(
        "Which fabric was used for the curtain of {x}?", "the fabric of the curtain of {x}"
    ),
}

_EVENTS = {
    "festival.city": Phrase("In which city is {x} held?", "the host city of {x}"),
    "festival.headliner": Phrase(
        "Which band was the last headliner of {x}?", "the last headliner of {x}"
    ),
    "conference.city": Phrase("In which city does {x} meet?", "the host city of {x}"),
    "conference.chair": Phrase("Who chairs {x}?", "the chair of {x}"),
    "conference.delegates": Phrase(
        "How many delegates in all have come to {x}?",
        "the total number of delegates over the years at {x}",
    ),
    "conference.fee": Phrase(
        "How many crowns is the fee for attending {x}?", "the fee in crowns for attending {x}"
    ),
    "expo.city": Phrase("In which city is {x} held?", "the host city of {x}"),
    "expo.organiser": Phrase("Who organises {x}?", "the organiser of {x}"),
    "expo.exhibitors": Phrase(
        "How many exhibitors in all have come to {x}?",
        "the total number of exhibitors over the years at {x}",
    ),
    "race.city": Phrase("In which city is {x} run?", "the host city of {x}"),
    "race.start": Phrase("Which street is the start of {x}?", "the street at the start of {x}"),
    "race.finish": Phrase("On which street does {x} finish?", "the street at the finish of {x}"),
    "race.distance": Phrase("How many metres long is {x}?", "the distance in metres of {x}"),
    "race.runners": Phrase(
        "How many runners took part in the last edition of {x}?",
        "the number of runners in the last edition of {x}",
    ),
    "race.record_holder": Phrase("Who holds the record of {x}?", "the record holder of {x}"),
    "award.ceremony": Phrase(
        "At which theatre is {x} handed over?", "the theatre that hosts the ceremony of {x}"
    ),
    "award.jury_chair": Phrase(
        "Who chairs the jury of {x}?", "the person who chairs the jury of {x}"
    ),
    "award.namesake": Phrase("After whom is {x} named?", "the namesake of {x}"),
    "award.winner": Phrase("Which film won {x}?", "the film that won {x}"),
    "award.prize": Phrase("How many crowns come with {x}?", "the prize money in crowns of {x}"),
}

_MEDIA = {
    "film.director": Phrase("Who directed {x}?", "the director of {x}"),
    "film.writer": Phrase("Who wrote the script of {x}?", "the person who wrote the script of {x}"),
    "film.shot_in": Phrase("In which city was {x} shot?", "the shooting location of {x}"),
    "film.budget": Phrase("How many crowns was the budget of {x}?", "the budget in crowns of {x}"),
    "film.soundtrack": Phrase(
        "Which band recorded the soundtrack of {x}?",
        "the band that recorded the soundtrack of {x}",
    ),
    "film.based_on": Phrase("On which book is {x} based?", "the book behind {x}"),
    "film.extras": Phrase("How many extras appear in {x}?", "the number of extras in {x}"),
    "book.author": Phrase("Who is the author of {x}?", "the author of {x}"),
    "book.published": Phrase("What is the publication date of {x}?", "the publication date of {x}"),
    "book.publisher": Phrase("Which house published {x}?", "the publisher of {x}"),
    "book.setting": Phrase("In which city is {x} set?", "the setting of {x}"),
    "book.illustrator": Phrase("Who illustrated {x}?", "the illustrator of {x}"),
    "book.dedicated_to": Phrase(
        "To whom is {x} dedicated?", "the person honoured in the dedication of {x}"
    ),
    "band.city": Phrase("From which city does {x} come?", "the home city of {x}"),
    "band.singer": Phrase("Who sings in {x}?", "the singer of {x}"),
    "band.drummer": Phrase("Who plays the drums in {x}?", "the drummer of {x}"),
    "band.first_album": Phrase("What is the first album of {x} called?", "the first album of {x}"),
    "band.instrument": Phrase(
        "Which unusual instrument is played by {x}?", "the unusual instrument of {x}"
    ),
    "band.fan_club": Phrase(
        "How many members does the fan club of {x} have?",
        "the number of members in the fan club of {x}",
    ),
    "album.band": Phrase("Which band made {x}?", "the band that made {x}"),
    "album.recorded_in": Phrase("In which city was {x} recorded?", "the recording location of {x}"),
    "album.producer": Phrase("Who produced {x}?", "the producer of {x}"),
    "album.cover_artist": Phrase(
        "Who made the cover of {x}?", "the artist who made the cover of {x}"
    ),
    "album.running_time": Phrase(
        "What is the running time in seconds of {x}?", "the running time in seconds of {x}"
    ),
    "show.studio": Phrase("From which city is {x} broadcast?", "the city with the studio of {x}"),
    "show.listeners": Phrase("How many listeners does {x} have?", "the number of listeners of {x}"),
    "podcast.studio": Phrase(
        "On which street is {x} recorded?", "the street with the studio of {x}"
    ),
    "podcast.first_guest": Phrase("Who was the first guest of {x}?", "the first guest of {x}"),
    "podcast.downloads": Phrase(
        "How many downloads has the most popular episode of {x}?",
        "the number of downloads of the most popular episode of {x}",
    ),
}

_SPORTS = {
    "league.president": Phrase("Who is the president of {x}?", "the president of {x}"),
    "league.seat": Phrase("In which city does {x} have its seat?", "the seat of {x}"),
    "league.champion": Phrase("Which team is the champion of {x}?", "the reigning champion of {x}"),
    "league.registered": Phrase(
        "How many players are registered in {x}?", "the number of players registered in {x}"
    ),
    "league.ball": Phrase(
        "What are the colours of the ball of {x}?", "the colours of the ball of {x}"
    ),
    "team.league": Phrase("In which league does {x} play?", "the league of {x}"),
    "team.city": Phrase("From which city does {x} come?", "the home city of {x}"),
    "team.home_ground": Phrase("At which ground does {x} play at home?", "the home ground of {x}"),
    "team.coach": Phrase("Who coaches {x}?", "the coach of {x}"),
    "team.captain": Phrase("Who is the captain of {x}?", "the captain of {x}"),
    "team.away_kit": Phrase(
        "What are the colours of the away kit of {x}?", "the colours of the away kit of {x}"
    ),
    "team.members": Phrase("How many members does {x} have?", "the number of members of {x}"),
    "stadium.record_crowd": Phrase(
        "How many spectators were in the record crowd of {x}?",
        "the size of the record crowd of {x}",
    ),
    "stadium.groundskeeper": Phrase("Who looks after the turf of {x}?", "the groundskeeper of {x}"),
    "cup.final_ground": Phrase(
        "At which ground is the final of {x} played?", "the final ground of {x}"
    ),
    "cup.winner": Phrase("Which team won {x}?", "the team that won {x}"),
    "cup.scorer": Phrase(
        "Who scored the winning goal in the last final of {x}?",
        "the scorer of the winning goal in the last final of {x}",
    ),
    "cup.attendance": Phrase(
        "How many spectators saw the final of {x}?", "the attendance at the final of {x}"
    ),
    "cup.silversmith": Phrase("Which silversmith made {x}?", "the silversmith who made {x}"),
    "cup.last_final": Phrase(
        "When was the latest final of {x} played?", "the date of the latest final of {x}"
    ),
    "player.team": Phrase("For which team does {x} play?", "the team of {x}"),
    "player.debut": Phrase("What is the debut date of {x}?", "the debut date of {x}"),
    "player.minutes": Phrase(
        "How many minutes has {x} played?", "the number of minutes played by {x}"
    ),
    "player.trainer": Phrase("Who is the personal trainer of {x}?", "the personal trainer of {x}"),
    "player.boots": Phrase("Which brand makes the boots of {x}?", "the brand of the boots of {x}"),
}

_SHOPPING = {
    "brand.headquarters": Phrase(
        "In which city does {x} have its headquarters?",
        "the city with the headquarters of {x}",
    ),
    "brand.first_product": Phrase("What was the first product of {x}?", "the first product of {x}"),
    "brand.ambassador": Phrase("Which player advertises {x}?", "the player who advertises {x}"),
    "brand.workers": Phrase("How many workers does {x} employ?", "the number of workers of {x}"),
    "product.brand": Phrase("Which brand sells {x}?", "the brand that sells {x}"),
    "product.designer": Phrase("Who designed {x}?", "the designer of {x}"),
    "product.made_in": Phrase("In which city is {x} made?", "the city with the factory of {x}"),
    "product.price": Phrase(
        "How many crowns is the list price of {x}?", "the list price in crowns of {x}"
    ),
    "product.test_score": Phrase(
        "How many points did {x} score in the test?", "the test score of {x}"
    ),
    "shop.best_seller": Phrase(
        "Which product does {x} sell most?", "the best-selling product of {x}"
    ),
    "shop.customers": Phrase(
        "How many customers a month come to {x}?", "the monthly number of customers of {x}"
    ),
    "dish.inventor": Phrase("Who invented {x}?", "the inventor of {x}"),
    "dish.first_served": Phrase(
        "In which café was {x} first served?", "the café that first served {x}"
    ),
    "dish.first_cooked": Phrase(
        "When was {x} cooked for the first time?", "the date of the first cooking of {x}"
    ),
    "dish.origin": Phrase("From which city does {x} come?", "the city of origin of {x}"),
    "dish.energy": Phrase(
        "How many kilojoules are in one portion of {x}?",
        "the energy in kilojoules of one portion of {x}",
    ),
    "dish.secret_spice": Phrase("What is the secret spice of {x}?", "the secret spice of {x}"),
    "dish.maker": Phrase("Which brand makes {x}?", "the brand that makes {x}"),
}

_ALL: Mapping[str, Phrase] = {
    **_COMMON, **_COUNTRY, **_PLACES, **_EVENTS, **_MEDIA, **_SPORTS, **_SHOPPING,
}  # fmt: skip


def phrase(kind: str, fact: str) -> Phrase:
    """Return how a fact of a kind is asked for."""
    return _ALL.get(f"{kind}.{fact}") or _ALL[fact]


# how requests begin where they are not questions; {noun} is the noun phrase of what is asked
FRAMES = (
    "Find out {noun}.",
    "Please look up {noun}.",
    "I would like to know {noun}.",
    "What I am after is {noun}.",
    "Can you tell me {noun}?",
)

FORMS: Mapping[Sort, tuple[str, ...]] = {
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

# what is compared to choose among things seen, and the eye cannot judge: for least and greatest
EXTREMES: Mapping[str, tuple[str, str]] = {
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
