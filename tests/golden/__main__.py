"""Record the goldens anew and show what differs; `accept` takes differences over.

Pending entries that match no difference are named and removed.

`record` stores scenarios that have no record yet, and changes none that has one.

    python -m tests.golden [CASE...] [--long]
    python -m tests.golden record [CASE...] [--long]
    python -m tests.golden accept [CASE[/SCENARIO]] --reason TEXT [--path PATTERN] [--numbers]
                                  [--long]

Exit codes: 0 where nothing differs that is not listed, 1 else, 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from tests.golden import accepted, checking, recording
from tests.golden.accepted import BadEntry
from tests.golden.differences import ABSENT, Difference
from tests.golden.names import BadNames
from tests.golden.paths import BadPattern, Json

Records = dict[str, dict[str, Json]]


def main(words: Sequence[str]) -> int:
    """Do what the words say and return the exit code."""
    commands = {"accept": _accept, "record": _record_new}
    try:
        if words and words[0] in commands:
            return commands[words[0]](words[1:])
        return _check(words)
    except (BadEntry, BadNames, BadPattern) as error:
        print(f"golden: {error}")
        return 2


def _check(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parser.add_argument("cases", nargs="*", help="cases, or patterns of them; by default all")
    parser.add_argument("--long", action="store_true", help="record the long cases too")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--times", action="store_true", help="say how long each case took")
    given = parser.parse_args(words)
    entries = accepted.read()
    chosen = _cases(given.cases, given.long)
    if not chosen:
        print(f"golden: no case is called {' or '.join(given.cases)}")
        return 2
    found, stored, _ = _record(chosen, given.workers, times=given.times)
    ours, rest = accepted.listed(found, entries)
    for title, each in (("accepted, not yet recorded", ours), ("not accepted", rest)):
        if each:
            print(f"{title}:", *checking.shown(each), sep="\n")
    old = accepted.stale(found, entries, stored)
    for entry in old:
        print(f"matches nothing any more: {entry['case']}/{entry['scenario']}: {entry['path']}")
    if ours:
        print("next: python -m tests.golden accept   (records what is accepted)")
    if rest:
        print('next: correct it, or python -m tests.golden accept CASE/SCENARIO --reason "..."')
    print(f"{len(chosen)} cases, {len(rest)} differences that are not accepted")
    return 1 if rest or old else 0


def _record_new(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden record")
    parser.add_argument("cases", nargs="*", help="cases, or patterns of them; by default all")
    parser.add_argument("--long", action="store_true", help="record the long cases too")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(words)
    found, stored, fresh = _record(_cases(given.cases, given.long), given.workers)
    new = [each for each in found if each.old is ABSENT and each.place == ()]
    checking.take(new, stored, fresh)
    print(*(f"recorded {each.case}/{each.scenario}" for each in new), sep="\n")
    return 0


def _accept(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden accept")
    parser.add_argument("target", nargs="?", help="CASE or CASE/SCENARIO; patterns may be given")
    parser.add_argument("--reason", default="", help="why the difference is right")
    parser.add_argument("--path", default="**", help="only differences at these places")
    parser.add_argument("--numbers", action="store_true", help="numbers may change too")
    parser.add_argument("--long", action="store_true", help="record the long cases too")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(words)
    if given.target is not None and not given.reason.strip():
        print("golden: accepting needs --reason")
        return 2
    entries = accepted.read()
    if given.target is not None:
        case, _, scenario = given.target.partition("/")
        entries.append({"case": case, "scenario": scenario or "*", "path": given.path,
                        "reason": given.reason,
                        **({"numbers": True} if given.numbers else {})})  # fmt: skip
    waiting = [entry for entry in entries if accepted.pending(entry)]
    targets = [entry["case"] for entry in waiting]
    found, stored, fresh = _record(_cases(targets, given.long) if targets else [], given.workers)
    taken, _ = accepted.listed(found, entries)
    empty = [entry for entry in waiting if not any(accepted.accepts(entry, x) for x in found)]
    for entry in empty:
        print(f"nothing differs at {entry['case']}/{entry['scenario']}: {entry['path']}")
    if given.target is not None and entries[-1] in empty:
        return 2
    checking.take(taken, stored, fresh)
    accepted.write(_settled([entry for entry in entries if entry not in empty], found))
    print(*checking.shown(taken), f"{len(taken)} differences accepted", sep="\n")
    return 0


def _settled(entries: Sequence[accepted.Entry], found: Sequence[Difference]) -> list[Json]:
    return [
        accepted.settled(entry, [each for each in found if accepted.accepts(entry, each)])
        if accepted.pending(entry)
        else entry
        for entry in entries
    ]


def _cases(targets: Sequence[str], long: bool) -> list[str]:
    """Return the cases that are meant; long ones only where they are named or asked for."""
    every = recording.names()
    named = [name for target in targets for name in checking.chosen(target, every)]
    exact = {target.partition("/")[0] for target in targets}
    return [
        name
        for name in (dict.fromkeys(named) if targets else every)
        if long or name in exact or not recording.load(name).long
    ]


def _record(
    chosen: Sequence[str], workers: int, *, times: bool = False
) -> tuple[list[Difference], Records, Records]:
    found: list[Difference] = []
    stored: Records = {}
    fresh: Records = {}
    began = time.monotonic()
    for case, made in recording.record_all(chosen, workers) if chosen else ():
        fresh[case] = made
        differing, stored[case] = checking.compare(case, made)
        found += differing
        if times:
            print(f"{case}: after {time.monotonic() - began:.1f} s")
    return sorted(found, key=lambda each: (each.case, each.scenario)), stored, fresh


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
