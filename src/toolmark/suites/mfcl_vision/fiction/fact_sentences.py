"""Sentence patterns for facts; those of one kind of entity only are under kind.fact.

{It} and {it} stand for the entity, {its} for its possessive, {v} for the value.
"""

from __future__ import annotations

from collections.abc import Mapping

_DATE_SENTENCES: Mapping[str, tuple[str, ...]] = {
    "opened": (
        "{It} opened its doors to the public on {v}.",
        "The ribbon was cut on {v}, in the rain.",
        "After two delays {it} was opened on {v}.",
    ),
    "founded": (
        "{It} was founded on {v}.",
        "The founding papers of {it} were signed on {v}.",
    ),
    "first_held": (
        "{It} was held for the first time on {v}.",
        "The first edition began on {v} and was sold out by noon.",
    ),
    "chartered": (
        "{It} received its town charter on {v}.",
        "The charter that made {it} a town bears the date of {v}.",
    ),
    "laid_out": (
        "{It} was laid out and handed over to traffic on {v}.",
        "The first carts rolled along {it} on {v}, when it was laid out.",
    ),
    "born": ("{It} was born on {v}.", "The parish book gives the birth of {it} as {v}."),
    "unveiled": (
        "{It} was unveiled on {v}.",
        "The sheet fell from {it} on {v}, the day it was unveiled.",
    ),
    "released": ("{It} was released on {v}.", "Its release, twice put off, came on {v}."),
    "product.released": (
        "{It} came onto the market on {v}.",
        "Shops were allowed to sell {it} from {v}, the day of its release.",
    ),
    "published": (
        "{It} was published on {v}.",
        "The first printing was published and sent to the booksellers on {v}.",
    ),
    "first_aired": ("{It} was first aired on {v}.", "The first broadcast of {it} aired on {v}."),
    "last_final": (
        "The last final of {it} was played on {v}.",
        "{Its} most recent final took place on {v}.",
    ),
    "debut": (
        "{It} made a first appearance for the senior side on {v}.",
        "The debut came on {v}, as a late substitute.",
    ),
    "first_cooked": (
        "{It} was cooked for the first time on {v}.",
        "The recipe was first cooked on {v}, for a wedding.",
    ),
    "first_train": (
        "The first train of the day leaves at {v}.",
        "Early risers know that the first train departs at {v}.",
    ),
    "last_train": (
        "The last train of the day leaves at {v}.",
        "After the last train, at {v}, the gates are shut.",
    ),
}

_NUMBER_SENTENCES: Mapping[str, tuple[str, ...]] = {
    "population": ("{It} has a population of {v}.", "{v} people live in {it}."),
    "tower_steps": (
        "The stairs of the town tower have {v} steps.",
        "Whoever climbs the old tower counts {v} steps.",
    ),
    "length": ("{It} is {v} metres long.", "From end to end {it} measures {v} metres in length."),
    "lamps": ("{v} lamps light it at night.", "The town keeps {v} street lamps along {it}."),
    "exhibits": ("{v} exhibits are on show.", "The collection of {it} counts {v} exhibits."),
    "visitors": (
        "In an ordinary year {v} visitors are counted.",
        "The number of visitors stands at {v} a year.",
    ),
    "cups": ("{v} cups are served in a week.", "The staff wash {v} cups a week."),
    "passengers": (
        "{v} passengers pass through {it} on a working day.",
        "On working days {it} counts {v} passengers.",
    ),
    "height": (
        "{It} has a height of {v} millimetres, its base included.",
        "With the base {it} is {v} millimetres high.",
    ),
    "capacity": ("{It} has {v} seats.", "The capacity of {it} is {v} seats."),
    "organ_pipes": (
        "The organ of {it} has {v} pipes.",
        "Over the stage hangs an organ of {v} pipes.",
    ),
    "delegates": (
        "Over the years {v} delegates have attended.",
        "All editions together, {it} counts {v} delegates.",
    ),
    "fee": ("The fee for all days is {v} crowns.", "Delegates pay a fee of {v} crowns."),
    "exhibitors": (
        "Over the years {v} exhibitors have taken a stand.",
        "The books of {it} list {v} exhibitors since the beginning.",
    ),
    "floor_area": (
        "The floor area is {v} square metres.",
        "{It} covers a floor area of {v} square metres.",
    ),
    "distance": ("The course is {v} metres long.", "Runners cover a distance of {v} metres."),
    "runners": ("{v} runners crossed the line last time.", "The start list named {v} runners."),
    "prize": (
        "The prize money amounts to {v} crowns.",
        "Winners receive prize money of {v} crowns.",
    ),
    "budget": ("The budget of {it} was {v} crowns.", "{It} was made on a budget of {v} crowns."),
    "extras": ("{v} extras took part.", "For the crowd scenes {v} extras were hired."),
    "copies": ("{v} copies were sold in the first year.", "{It} sold {v} copies within a year."),
    "fan_club": ("The fan club has {v} members.", "{v} members belong to the fan club of {it}."),
    "running_time": (
        "{It} runs for {v} seconds.",
        "The running time, to the second, is {v} seconds.",
    ),
    "listeners": (
        "{It} reaches {v} listeners.",
        "A survey put the number of listeners at {v}.",
    ),
    "downloads": (
        "The most popular episode has {v} downloads.",
        "{It} passed {v} downloads with a single episode.",
    ),
    "registered": ("{v} players are registered.", "{It} counts {v} registered players."),
    "members": ("{It} has {v} paying members.", "The list of members holds {v} names."),
    "record_crowd": (
        "The record crowd, {v} people, came to an open air concert.",
        "{v} people, the record crowd, once came to a concert.",
    ),
    "attendance": (
        "The last final had an attendance of {v}.",
        "{v} spectators were let in to the last final, the attendance that the police allowed.",
    ),
    "weight": ("{It} has a weight of {v} grams.", "The scales show a weight of {v} grams."),
    "minutes": (
        "So far {it} has played {v} minutes in the league.",
        "The statistics credit {it} with {v} minutes of play.",
    ),
    "workers": ("{It} employs {v} workers.", "{v} workers are on the payroll."),
    "price": ("The list price is {v} crowns.", "{It} is sold at a price of {v} crowns."),
    "test_score": (
        "In an endurance test {it} scored {v} points.",
        "A consumer magazine gave it a test score of {v} points.",
    ),
    "customers": ("{v} customers come in a month.", "{Its} till counts {v} customers a month."),
    "energy": (
        "One portion has an energy of {v} kilojoules.",
        "The label states an energy of {v} kilojoules a portion.",
    ),
}  # fmt: skip

_PLACE_SENTENCES: Mapping[str, tuple[str, ...]] = {
    "city": ("{It} is at home in the city of {v}.", "The city of {v} is where {it} is found."),
    "street.city": ("{It} runs through the city of {v}.", "{It} belongs to the city of {v}."),
    "street": ("The address is in {v}.", "{It} stands in {v}."),
    "twin": ("Its twin town is {v}.", "{It} and {v} have been twin towns for a generation."),
    "birthplace": ("The place of birth is {v}.", "{It} grew up in {v}, the place of birth too."),
    "home": ("The family home is in {v}.", "{It} has long made a home in {v}."),
    "next_stop": ("The next stop on the line is {v}.", "Slow trains stop next at {v}."),
    "venue": ("The venue is {v}.", "{It} takes place at {v}, its venue since the start."),
    "start": ("The start is in {v}.", "Runners gather for the start in {v}."),
    "finish": ("The finish is in {v}.", "The finish line is painted across {v}."),
    "ceremony": ("The ceremony is held at {v}.", "Guests of the ceremony meet at {v}."),
    "shot_in": ("{It} was shot in {v}.", "The scenes of {it} were shot in {v}."),
    "setting": ("The story is set in {v}.", "Its setting is the city of {v}."),
    "recorded_in": ("{It} was recorded in {v}.", "The tapes were recorded at a barn in {v}."),
    "studio": ("The studio is in {v}.", "{It} comes from a studio in {v}."),
    "seat": ("The seat of {it} is {v}.", "{It} has its seat in {v}."),
    "home_ground": ("The home ground is {v}.", "Home matches are played at {v}, the home ground."),
    "final_ground": ("The final is always played at {v}.", "The ground of the final is {v}."),
    "headquarters": ("The headquarters are in {v}.", "{It} has its headquarters in {v}."),
    "made_in": ("{It} is made in {v}.", "The factory in which it is made stands in {v}."),
    "first_served": ("{It} was first served at {v}.", "Guests of {v} were first served it."),
    "origin": ("The recipe comes from {v}.", "{It} has its origin in {v}."),
}

_MAKER_SENTENCES: Mapping[str, tuple[str, ...]] = {
    "mayor": ("The mayor is {v}.", "{v} was elected mayor of {it}."),
    "planner": ("{It} was planned by {v}.", "The planner of {it} was {v}."),
    "lawyer": ("{It} has {v} as a lawyer.", "All papers go through the lawyer, {v}."),
    "architect": ("The architect was {v}.", "{It} was built to plans of the architect {v}."),
    "curator": ("The curator is {v}.", "{v} looks after the collection as its curator."),
    "owner": ("The owner is {v}.", "{It} belongs to {v}, the owner from the first day."),
    "roaster": ("The beans are roasted by {v}.", "{v} is the roaster that supplies the beans."),
    "clockmaker": ("The clock was made by {v}.", "{v} was the maker of the great clock."),
    "sculptor": ("The sculptor was {v}.", "{It} is the work of the sculptor {v}."),
    "honours": ("{It} honours {v}.", "It was put up in honour of {v}."),
    "donor": ("The costs were carried by the donor, {v}.", "{v} paid for it as a donor."),
    "manager": ("The manager is {v}.", "{v} runs {it} as its manager."),
    "founder": ("The founder was {v}.", "{It} goes back to its founder, {v}."),
    "headliner": ("The headliner last time was {v}.", "{v} closed the last night as headliner."),
    "sponsor": ("The main sponsor is {v}.", "{v} has signed as main sponsor."),
    "chair": ("The chair is {v}.", "{v} has been elected to the chair of {it}."),
    "organiser": ("The organiser is {v}.", "{v} is the organiser, with a staff of volunteers."),
    "record_holder": ("The course record is held by {v}.", "{v} is the holder of the record."),
    "jury_chair": ("The jury is led by {v}.", "{v} is the chair of the jury."),
    "namesake": ("{It} is named after {v}.", "Its name honours {v}, after whom it was named."),
    "winner": ("At the latest ceremony the winner was {v}.", "{v} is the latest winner."),
    "cup.winner": ("The winner of the last final was {v}.", "{v} is the latest winner."),
    "trainer": ("The personal trainer is {v}.", "{It} works with {v} as a trainer."),
    "coach": ("The coach is {v}.", "{v} was hired as coach of {it}."),
    "captain": ("The captain is {v}.", "{v} wears the armband of the captain."),
    "president": ("The president is {v}.", "{v} was voted president of {it}."),
    "groundskeeper": ("The groundskeeper is {v}.", "{v} tends the grass as groundskeeper."),
    "scorer": ("{v} was the scorer of the last winning goal.", "The last final had {v} as scorer."),
    "silversmith": ("The silversmith was {v}.", "{It} was hammered by the silversmith {v}."),
    "designer": ("The designer is {v}.", "{It} was drawn by the designer {v}."),
    "inventor": ("{v} invented it.", "The inventor of {it} is {v}."),
    "champion": ("The reigning champion is {v}.", "{v} is the present champion of {it}."),
}

_ART_SENTENCES: Mapping[str, tuple[str, ...]] = {
    "director": ("The director was {v}.", "{v} was hired as director at short notice."),
    "writer": ("The script was written by {v}.", "{v} was the writer of the script."),
    "soundtrack": ("The soundtrack is by {v}.", "{v} played the soundtrack of {it}."),
    "based_on": ("{It} is based on the novel {v}.", "The novel {v} is what {it} is based on."),
    "author": ("The author is {v}.", "{v} is the author of {it}."),
    "illustrator": ("The illustrator was {v}.", "{v} supplied the plates as illustrator."),
    "dedicated_to": ("{It} is dedicated to {v}.", "On the first page it is dedicated to {v}."),
    "singer": ("The singer is {v}.", "{v} joined as singer after a call in a newspaper."),
    "drummer": ("The drummer is {v}.", "{v} sits at the drums as the drummer of {it}."),
    "first_album": ("The first album was {v}.", "{It} began with {v} as first album."),
    "band": ("{It} was made by {v}.", "The band behind {it} is {v}."),
    "producer": ("The producer is {v}.", "{It} has {v} as producer."),
    "cover_artist": ("The cover was painted by {v}.", "{v} is the artist of the cover."),
    "host": ("The host is {v}.", "{v} sits at the microphone as host of {it}."),
    "theme_music": ("The theme music is by {v}.", "{v} recorded the theme music of {it}."),
    "first_guest": ("The first guest was {v}.", "{It} had {v} as its first guest."),
    "league": ("{It} plays in the {v}.", "The league of {it} is the {v}."),
    "team": ("{It} plays for {v}.", "The present team of {it} is {v}."),
    "boots": ("The boots are supplied by {v}.", "{It} plays in boots of {v}."),
    "ambassador": ("{v} is its ambassador in advertising.", "The ambassador of {it} is {v}."),
    "first_product": (
        "The first product was the {v}.",
        "{It} began with the {v}, a first product.",
    ),
    "brand": ("{It} is sold under the brand {v}.", "The brand of {it} is {v}."),
    "best_seller": ("The best seller is the {v}.", "{It} sells the {v} most, its best seller."),
    "maker": ("{It} is packed by {v}.", "The maker of the packets is {v}."),
    "river": ("{It} lies on the river {v}.", "The river that crosses {it} is the {v}."),
    "school": ("{It} went to school at {v}.", "The school certificate is from {v}."),
    "dog": ("A dog called {v} is seldom far.", "The dog of the house answers to {v}."),
    "former_name": ("{It} was once called {v}.", "In the first years its name was {v}."),
    "mascot": ("The mascot is called {v}.", "Children know {v}, the mascot of {it}."),
    "publisher": ("The publisher is {v}.", "{It} came out with the publisher {v}."),
}

_WORD_SENTENCES: Mapping[str, tuple[str, ...]] = {
    "local_dish": ("The local dish is {v}.", "Its inns are known for {v}, the local dish."),
    "paving": ("{It} is paved with {v}.", "The paving is of {v}."),
    "first_job": ('The first job is given as "{v}".', "{It} began in a first job as {v}."),
    "oldest_piece": ('The catalogue calls the oldest piece "{v}".', "The oldest piece: {v}."),
    "speciality": ("The speciality is {v}.", "Regulars order the speciality, {v}."),
    "material": ("The material is {v}.", "{It} is made of {v}, an unusual material."),
    "curtain": ("The curtain is of {v}.", "{It} has a stage curtain of {v}."),
    "motto": ("The motto is: {v}.", "Over the door stands the motto: {v}."),
    "topic": ("The main topic is the {v}.", "Again and again the topic is the {v}."),
    "instrument": ("{It} is known for the {v}.", "The instrument of every song is the {v}."),
    "ball": ("Matches are played with a ball in {v}.", "The ball of {it} is {v}."),
    "away_kit": ("The away kit is {v}.", "Away from home {it} wears a kit in {v}."),
    "secret_spice": ("The secret spice is {v}.", "For years nobody was told the spice, {v}."),
}  # fmt: skip

FACT_SENTENCES: Mapping[str, tuple[str, ...]] = {
    **_DATE_SENTENCES,
    **_NUMBER_SENTENCES,
    **_PLACE_SENTENCES,
    **_MAKER_SENTENCES,
    **_ART_SENTENCES,
    **_WORD_SENTENCES,
}


def sentences_for(kind: str, fact: str) -> tuple[str, ...]:
    """Return the sentence patterns for a fact of a kind."""
    return FACT_SENTENCES.get(f"{kind}.{fact}") or FACT_SENTENCES[fact]
