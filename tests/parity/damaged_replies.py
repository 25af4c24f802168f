"""Right answers, damaged: within literals, keywords, order, names, wrappers and format."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

from toolmark.core import seeds
from toolmark.core.records import Task

Calls = list[tuple[str, dict[Any, Any]]]

SCRAPS: dict[str, tuple[str, ...]] = {
    "simple_java": (
        "new ArrayList<String>(Arrays.asList(", "))", "new ArrayList<>()", "{{", "}}", " {{ ", "}",
        "add(", "put(", ")", ";", '"', "'", ",", ", ", "new String[]{", "new int[] {", "{", "\n",
        "new HashMap<String, Object>()", "new HashMap<>() {{ ", "Arrays.asList(", "List.of(", "\\",
        "null", "true", "1", "2L", "3.5f", "<", ">", "(", "()", " ", "\t", "[]", "١",
    ),
    "simple_javascript": (
        "[", "]", "[[", "]]", ",", ", ", "new Array(", ")", "{", "}", "{}", ":", ": ", '"', "'",
        "null", "true", "1", "2.5", "5n", "\n", " ", "[1, 2]", '"k": ', "k: ", "\\", "`", "١",
    ),
}  # fmt: skip
FORMS: dict[str, tuple[str, ...]] = {
    "simple_java": (
        "new String[]{{{listed}}}", "new int[] {{ {listed} }}", "List.of({listed})",
        "new ArrayList<>(Arrays.asList({listed}))", "new ArrayList<Integer>() {{{{ {adds} }}}}",
        "new HashMap<String, Object>() {{{{ {puts} }}}}", "new HashMap<>() {{ {puts} }}",
        "Arrays.asList({listed})", "Map.of({listed})", "{listed}",
    ),
    "simple_javascript": (
        "[{listed}]", "[ {listed} ]", "new Array({listed})", "{{{pairs}}}", "{{ {pairs} }}",
        "{{\n  {pairs}\n}}", "[[{listed}]]", "[[{listed}], [{listed}]]", "{listed}",
    ),
}  # fmt: skip

LITERALS: tuple[Any, ...] = (
    0, 1, -1, 5, 5.0, 0.1, True, False, None, "", "x", "true", "None", "5", [], {}, (), [1], [1.0],
    ["a"], [""], [None], [True], [[1]], [{}], [{"a": 1}], {"a": 1}, {"a": {"b": [1]}}, ("a", 1),
    "var_name", b"x", 10**30, "...",
)  # fmt: skip


def calls(made: Calls, task: Task, rng: Random) -> Calls:
    """Damage the calls one to three times."""
    made = copy.deepcopy(made)
    steps = [literal] * 6 + [option] * 3 + [keyword] * 3 + [order, name]
    if task.category in SCRAPS:
        steps = [code] * 12 + [written] * 6 + [option] * 3 + [literal, keyword, order, name]
    for _ in range(seeds.draw_between(rng, 1, 3)):
        made = seeds.draw_one(rng, steps)(made, task, rng)
    return made


def code(made: Calls, task: Task, rng: Random) -> Calls:
    """Change the text of a Java or JavaScript value: a character, a scrap, a suffix, a stretch."""
    _, given = _pick(made, rng)
    if given:
        key = seeds.draw_one(rng, list(given))
        given[key] = _scrapped(str(given[key]), SCRAPS[task.category], rng)
    return made


def _scrapped(old: str, scraps: tuple[str, ...], rng: Random) -> str:
    at = seeds.draw_between(rng, 0, len(old))
    scrap = seeds.draw_one(rng, scraps)
    match seeds.draw_below(rng, 7):
        case 0:
            return old[:at] + old[at + 1 :]
        case 1:
            return old + seeds.draw_one(rng, ("L", "l", "f", "F", "n", ".0", ".5", "e3", "\n", " "))
        case 2:
            return old[:at] + old[at + seeds.draw_between(rng, 1, 8) :]
        case 3:
            return old.replace(seeds.draw_one(rng, scraps), scrap)
        case 4:
            return seeds.draw_one(rng, (f"[{old}]", f'"{old}"', f"'{old}'", f"({old})", f" {old} "))
        case _:
            return old[:at] + scrap + old[at:]


def written(made: Calls, task: Task, rng: Random) -> Calls:
    """Write an accepted value anew, in one of the forms its language has for it."""
    wanted = next(iter(task.data["truth"][0].values()))
    _, given = _pick(made, rng)
    if wanted:
        key = seeds.draw_one(rng, list(wanted))
        chosen = seeds.draw_one(rng, wanted[key] or [""])
        given[key] = _form(chosen, seeds.draw_one(rng, FORMS[task.category]), rng)
    return made


def _form(value_: Any, form: str, rng: Random) -> str:
    if isinstance(value_, bool):
        return str(value_).lower()
    if not isinstance(value_, list | dict):
        return seeds.draw_one(rng, (str(value_), f"{value_}L", f"{value_}f", f"{value_}n"))
    items = value_.items() if isinstance(value_, dict) else enumerate(value_)
    quote = seeds.draw_one(rng, ('"', '"', "'", ""))
    texts = []
    for key, item in items:
        item = item[0] if isinstance(item, list) and item else item
        said = f"{quote}{item}{quote}" if isinstance(item, str) else str(item)
        said = said.lower() if isinstance(item, bool) else said
        texts.append((f"{quote}{key}{quote}", said))
    adds = " ".join(f"add({said});" for _, said in texts)
    puts = " ".join(f"put({key}, {said});" for key, said in texts)
    pairs = ", ".join(f"{key}: {said}" for key, said in texts)
    listed = seeds.draw_one(rng, (", ", ",")).join(said for _, said in texts)
    return form.format(listed=listed, adds=adds, puts=puts, pairs=pairs)


def source(category: str, rng: Random) -> str:
    """Return a damaged literal of a language, of no entry in particular."""
    item = (1, -2, 2.5, True, None, "a", "b c", "x, y", 'q"', "", "1L", "k: v", ")", "}")
    items = [seeds.draw_one(rng, item) for _ in range(seeds.draw_below(rng, 4))]
    chosen = items if seeds.draw_below(rng, 2) else {f"k{i}": [x] for i, x in enumerate(items)}
    text_ = _form(chosen, seeds.draw_one(rng, FORMS[category]), rng)
    for _ in range(seeds.draw_below(rng, 3)):
        text_ = _scrapped(text_, SCRAPS[category], rng)
    return text_


def literal(made: Calls, task: Task, rng: Random) -> Calls:
    """Change one value, or one value inside a value."""
    _, given = _pick(made, rng)
    if given:
        key = seeds.draw_one(rng, list(given))
        given[key] = value(given[key], rng)
    return made


def value(old: Any, rng: Random) -> Any:
    """Return another value, mostly one that comes near."""
    if seeds.draw_below(rng, 4) == 0:
        return copy.deepcopy(seeds.draw_one(rng, LITERALS))
    match old:
        case bool():
            return seeds.draw_one(rng, (not old, int(old), str(old), [old]))
        case int() | float():
            return seeds.draw_one(
                rng, (old + 1, float(old), int(old), str(old), [old], -old, old * 1)
            )
        case str():
            return text(old, rng)
        case list() | tuple():
            return _sequence(list(old), rng)
        case dict():
            return _mapping(dict(old), rng)
        case _:
            return seeds.draw_one(rng, ("None", None, "null", [], 0))


def text(old: str, rng: Random) -> Any:
    """Return text that differs in what is normalised away, or in what is not."""
    at = seeds.draw_between(rng, 0, len(old))
    return seeds.draw_one(
        rng,
        (
            old.upper(), old.lower(), old.title(), old.replace(" ", "_"), old.replace(",", ""),
            f" {old}. ", f"{old}\n", f"\t{old}", f"({old})", old.replace("'", '"'), f'"{old}"',
            old[:at] + seeds.draw_one(rng, " ,./-_*^xX0'\"()") + old[at:], old[:-1], [old], (old,),
            {old: old}, old.encode("utf-8"), f"{old} {old}",
        ),
    )  # fmt: skip


def _sequence(old: list[Any], rng: Random) -> Any:
    kind = seeds.draw_below(rng, 7)
    if kind == 0:
        return tuple(old)
    if kind == 1:
        return old[::-1]
    if kind == 2:
        return old[:-1]
    if kind == 3:
        return [*old, *old[:1]]
    if kind == 4:
        return seeds.draw_one(rng, ([old], str(old), old[0] if old else None))
    if old:
        at = seeds.draw_below(rng, len(old))
        old[at] = value(old[at], rng)
    return old


def _mapping(old: dict[Any, Any], rng: Random) -> Any:
    kind = seeds.draw_below(rng, 6)
    key = seeds.draw_one(rng, list(old)) if old else "a"
    if kind == 0:
        old.pop(key, None)
    elif kind == 1:
        old["unasked"] = 1
    elif kind == 2:
        return seeds.draw_one(rng, ([old], str(old), list(old), list(old.values())))
    elif kind == 3:
        return dict(reversed(old.items()))
    else:
        old[key] = value(old.get(key), rng)
    return old


def option(made: Calls, task: Task, rng: Random) -> Calls:
    """Set a parameter to one of its published options, as it is written there."""
    truth = seeds.draw_one(rng, task.data["truth"])
    wanted = next(iter(truth.values()))
    _, given = _pick(made, rng)
    if wanted:
        key = seeds.draw_one(rng, list(wanted))
        options = wanted[key] or [""]
        given[key] = copy.deepcopy(seeds.draw_one(rng, options))
    return made


def keyword(made: Calls, task: Task, rng: Random) -> Calls:
    """Drop, add, rename or reorder the keywords of a call."""
    at = seeds.draw_below(rng, len(made)) if made else 0
    if not made:
        return made
    name_, given = made[at]
    keys = list(given)
    doc = seeds.draw_one(rng, task.tools).source["parameters"]["properties"]
    match seeds.draw_below(rng, 5):
        case 0 if keys:
            given.pop(seeds.draw_one(rng, keys))
        case 1:
            given["unasked"] = seeds.draw_one(rng, LITERALS)
        case 2 if doc:
            given.setdefault(seeds.draw_one(rng, list(doc)), seeds.draw_one(rng, LITERALS))
        case 3 if keys:
            key = seeds.draw_one(rng, keys)
            given[key.upper()] = given.pop(key)
        case _:
            made[at] = (name_, dict(reversed(given.items())))
    return made


def order(made: Calls, task: Task, rng: Random) -> Calls:
    """Reorder, drop or repeat calls."""
    match seeds.draw_below(rng, 5):
        case 0:
            return made[:-1]
        case 1:
            return made + copy.deepcopy(made[:1])
        case 2:
            return made[::-1]
        case _:
            seeds.shuffle_items(rng, made)
            return made


def name(made: Calls, task: Task, rng: Random) -> Calls:
    """Call something else."""
    if not made:
        return made
    at = seeds.draw_below(rng, len(made))
    old, given = made[at]
    new = (
        old.replace(".", "_"),
        old + "_v2",
        seeds.draw_one(rng, task.tools).name,
        old.upper(),
        "",
    )
    made[at] = (seeds.draw_one(rng, new), given)
    return made


def _pick(made: Calls, rng: Random) -> tuple[str, dict[Any, Any]]:
    return seeds.draw_one(rng, made) if made else ("", {})


# --- text -------------------------------------------------------------------------------

PIECES = (
    "-1",
    "+1",
    "not True",
    "~1",
    "-x",
    "-'a'",
    "...",
    "None",
    "true",
    "null",
    "b'x'",
    "1j",
    "1e400",
    "(1, 2)",
    "()",
    "{}",
    "{1: 2}",
    "{None: 1}",
    "{[1]: 2}",
    "{**x}",
    "{1, 2}",
    "[*x]",
    "*x",
    "**x",
    "g()",
    "g(1)",
    "g(a=1)",
    "g(1, a=1)",
    "x[0]",
    "x['a'][1:2]",
    "x.y",
    "f'{x}'",
    "'a' 'b'",
    "r'\\d'",
    "'\\d'",
    "lambda: 1",
    "x if y else z",
    "1 < 2",
    "x and y",
    "x := 1",
    "[i for i in x]",
    "0x1F",
    "1_000",
    "01",
    "1and 2",
    "'''a\nb'''",
    "'\\ud800'",
    "é",
    "a.b.c(d=1)",
    "- -1",
    "-(1)",
    "-(1,)",
    "await x",
    "yield",
    "'it''s'",
    '"',
    "'",
    "#c",
    "\\",
    "\x00",
    "9" * 5000,
    "print(a=1)",
    "1if 1else 2",
)

WRAPPERS = (
    "```python\n{}\n```",
    "```\n{}\n```",
    "`{}`",
    "'{}'",
    '"{}"',
    "Sure! {}",
    "{}\nDone.",
    "[{}]",
    "({})",
    "{{{}}}",
    "<TOOLCALL>{}</TOOLCALL>",
    "<think>x</think>{}",
    "{} # note",
    "{},",
    "{};",
    " {} ",
    "\n\n{}\n",
    "\t{}",
    "calls = {}",
    "print({})",
    "{0}, {0}",
    "{0}\n{0}",
    "{}[0]",
    "-{}",
    "''{}''",
)


def damage(text_: str, rng: Random) -> str:
    """Damage a written reply one to three times."""
    for _ in range(seeds.draw_between(rng, 1, 3)):
        text_ = _damaged(text_, rng)
    return text_


def _damaged(old: str, rng: Random) -> str:
    at = seeds.draw_between(rng, 0, len(old))
    match seeds.draw_below(rng, 9):
        case 0:
            return old[:at] + old[at + 1 :]
        case 1:
            return old[:at] + seeds.draw_one(rng, "()[]{}'\"=,.:*\\ \n#`-+") + old[at:]
        case 2:
            return seeds.draw_one(rng, WRAPPERS).format(old)
        case 3:
            return old[:at]
        case 4:
            return old.replace("=", seeds.draw_one(rng, (": ", " = ", "==", ":=")), 1)
        case 5:
            return old.replace("(", f"({seeds.draw_one(rng, PIECES)}, ", 1)
        case 6:
            return old.replace(")", f", k={seeds.draw_one(rng, PIECES)})", 1)
        case 7:
            start = old.find("=", at)
            return old if start < 0 else _replaced(old, start, rng)
        case _:
            return old[1:-1]


def _replaced(old: str, start: int, rng: Random) -> str:
    """Put a piece in place of the value that begins after `start`."""
    ends = [i for i in (old.find(",", start), old.find(")", start)) if i > 0]
    return old[: start + 1] + seeds.draw_one(rng, PIECES) + old[min(ends, default=len(old)) :]
