"""Checking: fresh records beside the stored ones, and taking new values over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from fnmatch import fnmatchcase
from pathlib import Path

from tests.golden import accepted, differences, files, names, paths
from tests.golden.differences import ABSENT, Difference
from tests.golden.paths import Json

SHOWN = 4  # places of one repeated difference that are named
LONGEST = 160  # characters of a value that are shown


def compare(
    case: str, fresh: Mapping[str, Json], root: Path = files.RECORDS
) -> tuple[list[Difference], dict[str, Json]]:
    """Return the differences of a case, and its stored scenarios in today's names."""
    known = names.read()
    stored = {
        name: names.renamed(case, record, known) for name, record in files.read(case, root).items()
    }
    found: list[Difference] = []
    for scenario in sorted({*stored, *fresh}):
        old, new = stored.get(scenario, ABSENT), fresh.get(scenario, ABSENT)
        if old is ABSENT or new is ABSENT:
            found.append(Difference(case, scenario, (), old, new))
        else:
            found += differences.compare(case, scenario, old, new)
    return found, stored


def take(
    found: Sequence[Difference],
    stored: Mapping[str, Mapping[str, Json]],
    fresh: Mapping[str, Mapping[str, Json]],
    root: Path = files.RECORDS,
) -> None:
    """Write the new values of these differences into the records, and nothing else.

    A scenario all of whose differences are taken is written as it was recorded.
    """
    for case, scenario in sorted({(each.case, each.scenario) for each in found}):
        mine = [each for each in found if (each.case, each.scenario) == (case, scenario)]
        new = fresh[case].get(scenario, ABSENT)
        if new is ABSENT:
            files.delete(case, scenario, root)
            continue
        old = stored[case].get(scenario, ABSENT)
        every = differences.compare(case, scenario, old, new) if old is not ABSENT else mine
        made = new if len(mine) == len(every) else _merged(old, new, mine)
        files.write(case, scenario, _unrenamed(case, scenario, made), root)


def _merged(old: Json, new: Json, taken: Sequence[Difference]) -> Json:
    """Return the old record with some new values. A list whose length changed is taken whole."""
    made = deepcopy(old)
    for each in taken:
        place = _steady(each.place, old, new)
        try:
            value = deepcopy(paths.get(new, place))
        except (KeyError, IndexError):
            paths.remove(made, place)
        else:
            paths.put(made, place, value)
    return made


def _steady(place: paths.Place, old: Json, new: Json) -> paths.Place:
    """Return the place, or that of the outermost list on its way whose length changed."""
    for n, step in enumerate(place):
        if isinstance(old, list) and isinstance(new, list) and len(old) != len(new):
            return place[:n]
        try:
            old, new = old[step], new[step]
        except (KeyError, IndexError, TypeError):
            return place
    return place


def _unrenamed(case: str, scenario: str, record: Json) -> Json:
    """Return the record if it reads the same through the map of names, as it must."""
    if names.renamed(case, record, names.read()) != record:
        raise names.BadNames(
            f"{case}/{scenario}: the map of names changes the new record too: an old name is in use"
        )
    return record


def shown(found: Sequence[Difference]) -> Iterator[str]:
    """Write differences as lines, those that repeat as one."""
    groups: dict[tuple[str, str, str, str], list[Difference]] = {}
    for each in found:
        key = (each.case, each.pattern, _value(each.old), _value(each.new))
        groups.setdefault(key, []).append(each)
    case = ""
    for (own, _, old, new), alike in groups.items():
        if own != case:
            case = own
            yield f"{case}: {sum(each.case == own for each in found)} differences"
        places = [f"{each.scenario}: {paths.text(each.place)}" for each in alike[:SHOWN]]
        more = f" and {len(alike) - SHOWN} more" if len(alike) > SHOWN else ""
        yield f"  {'; '.join(places)}{more}"
        yield f"    - {old}"
        yield f"    + {new}"


def _value(value: Json) -> str:
    if value is ABSENT:
        return repr(value)
    text = files.dumps(value).strip().replace("\n", " ")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text)} characters)"


def selected(target: str, found: Sequence[Difference], pattern: str) -> list[Difference]:
    """Return the differences of CASE or CASE/SCENARIO whose places the pattern names."""
    case, _, scenario = target.partition("/")
    entry = {"case": case, "scenario": scenario or "*", "path": pattern, "numbers": True}
    return [each for each in found if accepted.accepts(entry, each)]


def chosen(target: str, every: Sequence[str]) -> list[str]:
    """Return the cases that CASE or CASE/SCENARIO names."""
    return [name for name in every if fnmatchcase(name, target.partition("/")[0])]
