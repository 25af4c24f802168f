"""Replies in every text form, damaged: quotes, tags, labels, brackets, wrappers, values."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from toolmark.core import seeds

WRAPPERS = (
    "```json\n{}\n```", "```xml\n{}\n```", "```\n{}\n```", "`{}`", "'{}'", "Sure! {}", "{}\nDone.",
    "[{}]", "({})", "<TOOLCALL>{}</TOOLCALL>", "<TOOLCALL>{}", "{}</TOOLCALL>",
    "<toolcall>{}</toolcall>", "<tool_call>{}</tool_call>", "<think>x</think>{}",
    "<TOOLCALL>\n{}\n</TOOLCALL>", "<TOOLCALL>{0}</TOOLCALL><TOOLCALL>{0}</TOOLCALL>",
    "<functions>{}</functions>", "{0}{0}", "{0}, {0}", "{0}\n{0}", " {} ", "\n\n{}\n", "{},", "{};",
    "<?xml version=\"1.0\"?>{}", "<!-- x -->{}", "{}]", "[{}", "{{{}}}", "\ufeff{}", "[1] {}",
    "{} [1]", "[] {}", "<functions/>{}",
)  # fmt: skip

PIECES = {
    "json": (
        "null", "true", "NaN", "Infinity", "-1e400", "1e5", "{}", "[]", '[{"a": 1}]', '"}]"',
        '[{"a": [{"b": 2}]}]', "True", "None", "'x'", "01", "1_0", '"\\ud800"', '"\\x"', '"a\nb"',
        "9" * 5000, '{"a": {"a": {}}}', "[[[]]]", '"é"', "//c\n1", "1,", "{1: 2}", '"it\'s"',
    ),
    "verbose_xml": (
        "1", "1.5", " 7 ", "1_000", "nan", "inf", "true", "TRUE", "yes", "None", "null", "[1, 2]",
        "(1,)", "{'a': 1}", "[true]", '["x"]', "{1, 2}", "1+2", "-3", "- -3", "b'x'", "a & b",
        "a &amp; b", "&lt;b&gt;", "<b/>", "&#x41;", "&#0;", "&nope;", "&quot;q&quot;", "'q'", "é",
        "٣", "9" * 5000, "x" * 300, "[" * 300, "{[1]: 2}", "f(1)", "'\\d'", "\t[1]", "a<!-- c -->b",
        "<![CDATA[x < y]]>", "a\nb", "1if 1else 2", "...", "1e400", "1j", "set()",
    ),
}  # fmt: skip
PIECES["concise_xml"] = PIECES["verbose_xml"]
PIECES["python"] = (
    "-1", "+1", "not True", "...", "true", "b'x'", "(1, 2)", "{}", "{1, 2}", "g()", "g(a=1)",
    "x[0]", "x.y", "'it''s'", "[{'a': 1}]", "1_000", "'a' 'b'", "lambda: 1", '"""a\nb"""', "-x",
)  # fmt: skip
PIECES["java"] = PIECES["javascript"] = (
    '"text"', "'c'", "'text'", "1", "1L", "1.5f", "-1", "true", "null", "name", "a.b", "f(x)",
    "f(x = 1)", 'new ArrayList<String>(Arrays.asList("a", "b"))', 'new String[]{"a", "b"}',
    "new int[3]", "new int[]{1, 2}", "new HashMap<>()", "new Foo()", "new a.B<C, D>(1, x)",
    'new HashMap<String, String>() {{ put("a", "b"); }}', "new Object() { int x; }", "A.class",
    "(int) 1", "a + b", "!a", "x -> x", "() => 1", "function (x) { return x; }", "[1, 2]",
    '["a", [1]]', "{a: 1}", '{"a": {"b": 1}}', "`t`", '"a\\"b"', '"é"', "ü", "a ? b : c", "a[0]",
    "x = 1", "...x", "await x", "undefined", "/re/g", "1 /* c */", "new Date()", "i++", "(a)",
    '"a" + "b"', "List.of(1)", "x instanceof Y", "{}", "[]", "", "'", '"', "$a", "日本",
    "new Set([1])", "async x => x", "this", "super.x", "void.class", '"""t"""', "'a' + 'b'",
)  # fmt: skip

LABELS = (
    "int", "str", "number", "bool", "list", "any", "object", "tuple", "null", "dict", "String",
    "integer", "float", "boolean", "array", "string", "", "char",
)  # fmt: skip


def damage(text: str, form: str, rng: Random) -> str:
    """Damage a written reply one to three times."""
    for _ in range(seeds.draw_between(rng, 1, 3)):
        text = _damaged(text, form, rng)
    return text


def _damaged(old: str, form: str, rng: Random) -> str:
    at = seeds.draw_between(rng, 0, len(old))
    match seeds.draw_below(rng, 10):
        case 0:
            return old[:at] + old[at + 1 :]
        case 1:
            return old[:at] + seeds.draw_one(rng, "()[]{}'\"=,.:*\\ \n#`<>&/-+;é") + old[at:]
        case 2:
            return seeds.draw_one(rng, WRAPPERS).format(old)
        case 3:
            return old[:at] if seeds.draw_below(rng, 3) == 0 else old
        case 4:
            return _swapped(old, form, rng)
        case 5:
            return old[1:-1]
        case 6:
            end = seeds.draw_between(rng, at, min(len(old), at + 30))
            return old[:at] + old[at:end] + old[at:end] + old[end:]
        case 7:
            return old.replace("'", '"') if seeds.draw_below(rng, 2) else old.replace('"', "'")
        case _:
            return _valued(old, form, rng)


def _swapped(old: str, form: str, rng: Random) -> str:
    """Change what a form calls its parts."""
    pairs: tuple[tuple[str, str], ...] = (("=", ": "), ("=", " = "), (", ", ","), ("(", "( "))
    if form == "json":
        pairs = (
            ('"function"', '"name"'), ('"parameters"', '"arguments"'), ("}}]", "}}\n]"),
            ('"parameters": {', '"parameters": 5, "x": {'), ("true", "True"), (', "', ',\n  "'),
            ('"function": "', '"function": ["'), ("[{", "[\n{"), ('{"function"', '5, {"function"'),
        )  # fmt: skip
    if form.endswith("xml"):
        label = seeds.draw_one(rng, LABELS)
        pairs = (
            ('type="integer"', f'type="{label}"'), ('type="string"', f'type="{label}"'),
            (' type="string"', ""), ("<params>", ""), ("</function>", ""), ("</params>", ""),
            ("<param ", "<params><param "), ("<param name", "<param id"), ("/>", "></param>"),
            ("<function name", "<function id"), ("<functions>", "<functions >"), ("><", ">\n <"),
            ("<function ", "<call "), ("</functions>", "</function>"), ("param", "parameter"),
            ("<functions>", "<functions><!DOCTYPE x>"), ('value="', "value='"),
        )  # fmt: skip
    one, other = seeds.draw_one(rng, pairs)
    return old.replace(one, other, seeds.draw_one(rng, (1, -1)))


def _valued(old: str, form: str, rng: Random) -> str:
    """Put a piece in place of a value."""
    piece = seeds.draw_one(rng, PIECES[form])
    starts, ends = {
        "json": (": ", ",}"),
        "verbose_xml": ('value="', '"'),
        "concise_xml": (">", "<"),
    }.get(form, ("=", ",)"))
    places = [i + len(starts) for i in range(len(old)) if old.startswith(starts, i)]
    if not places:
        return old
    start = seeds.draw_one(rng, places)
    found = [i for i in (old.find(end, start) for end in ends) if i >= 0]
    return old[:start] + piece + old[min(found, default=len(old)) :]


def source(name: str, truth: dict[str, list[Any]], rng: Random) -> str:
    """Write a call in Java or JavaScript as a model would, from the accepted values."""
    parts = []
    for key, options in truth.items():
        option = seeds.draw_one(rng, options) if options else ""
        parts.append(f"{key} = {_spelled(option, rng)}")
    return f"{name}({', '.join(parts)})"


def _spelled(option: Any, rng: Random) -> str:
    match option:
        case str() if option.startswith("new ") or (
            option.isidentifier() and seeds.draw_below(rng, 2)
        ):
            return option
        case list():
            return seeds.draw_one(rng, (json.dumps(option), f"new Object[]{{{str(option)[1:-1]}}}"))
        case dict():
            return seeds.draw_one(rng, (json.dumps(option), "new HashMap<String, Object>() {{ }}"))
        case _:
            return json.dumps(option)
