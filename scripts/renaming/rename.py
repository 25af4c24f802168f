"""Apply naming tables to a tree: `rename.py TREE INDEX.pickle TABLE... [--dry]`.

A table line: `PATTERN -> NEW`, `#` starts a comment. PATTERN is the end of a key, beginning at a dot:
`Class.field`, `Class.method(param)`, `module.function(param)`, or a glob over the whole key.
A later line wins over an earlier one, a line without `*` over one with it.
"""

from __future__ import annotations

import ast
import builtins
import fnmatch
import keyword
import pickle
import re
import sys
from collections import defaultdict
from pathlib import Path


def clean(key):
    return re.sub(r"@\d+", "", key)


def read_tables(paths):
    exact, globs = {}, []
    for path in paths:
        for n, line in enumerate(Path(path).read_text().splitlines(), 1):
            line = line.partition("#")[0].strip()
            if not line:
                continue
            old, arrow, new = line.partition("->")
            old, new = old.strip(), new.strip()
            if not arrow or not new.isidentifier() or keyword.iskeyword(new):
                raise SystemExit(f"{path}:{n}: {line!r}")
            where = f"{Path(path).name}:{n}"
            if "*" in old:
                pattern = old if old.startswith(("*", "tests.", "benchmarks.")) else f"*.{old}"
                globs.append((re.compile(fnmatch.translate(pattern)), new, where, old))
            else:
                exact[old] = (new, where)
    return exact, globs


def suffixes(key):
    """Every ending of a key that begins at a dot outside of the parentheses."""
    head, paren, tail = key.partition("(")
    parts = head.split(".")
    for i in range(len(parts)):
        yield ".".join(parts[i:]) + paren + tail


def main(argv):
    dry = "--dry" in argv
    argv = [a for a in argv if a != "--dry"]
    root, index, tables = Path(argv[0]), argv[1], argv[2:]
    d = pickle.load(open(index, "rb"))
    exact, globs = read_tables(tables)
    keys = set(d["defs"])
    for u in d["uses"]:
        keys.update(u[4])
    used = set()
    wanted = {}
    for key in keys:
        c = clean(key)
        if c.endswith("(self)") or c.endswith("(cls)"):
            continue
        for s in suffixes(c):
            if s in exact:
                wanted[key] = exact[s]
                used.add(s)
                break
        else:
            for pat, new, where, old in reversed(globs):
                if pat.match(c):
                    wanted[key] = (new, where)
                    used.add(old)
                    break
    for old in exact:
        if old not in used:
            print(f"UNUSED {old} -> {exact[old][0]} ({exact[old][1]})")
    for pat, new, where, old in globs:
        if old not in used:
            print(f"UNUSED {old} -> {new} ({where})")
    # a table line may name the same name
    parent = {}

    def find(k):
        while parent.get(k, k) != k:
            parent[k] = parent.get(parent[k], parent[k])
            k = parent[k]
        return k

    for g in d["groups"]:
        for k in g[1:]:
            a, b = find(g[0]), find(k)
            if a != b:
                parent[b] = a
    classes = defaultdict(set)
    for k in keys | set(parent):
        classes[find(k)].add(k)
    final = {}
    bad = 0
    for rep, members in classes.items():
        news = {}
        for m in members:
            if m in wanted:
                news.setdefault(wanted[m][0], []).append((m, wanted[m][1]))
        olds = {name_of(m) for m in members}
        if len(news) > 1:
            # explicit wins over glob
            ex = {n: v for n, v in news.items() if any(clean(m) for m, w in v if not w.startswith("glob"))}
            if len(ex) == 1:
                news = ex
            else:
                bad += 1
                print("CONFLICT in overriding members:", {n: [clean(m) for m, _ in v][:4] for n, v in news.items()})
                continue
        if news:
            new = next(iter(news))
            for m in members:
                if name_of(m) != new:
                    final[m] = new
    # uses with several targets
    edits = defaultdict(dict)
    for path, off, old, kind, targets in d["uses"]:
        news = {final.get(t, name_of(t)) for t in targets if name_of(t) == old}
        if not news or news == {old}:
            continue
        if len(news) > 1:
            bad += 1
            print(f"AMBIGUOUS {path}:{line_of(root, path, off)} {old} [{kind}]: "
                  + ", ".join(f"{clean(t)}->{final.get(t, name_of(t))}" for t in targets))
            continue
        edits[path][off] = (old, next(iter(news)), kind)
    bad += collisions(root, d, final)
    n_edits = 0
    doc = docstring_map(final)
    for path in sorted(set(edits) | {p for p in doc_paths(d, final)}):
        src = (root / path).read_bytes()
        out, at = [], 0
        for off in sorted(edits.get(path, {})):
            old, new, kind = edits[path][off]
            if src[off:off + len(old.encode())] != old.encode():
                print(f"MISPLACED {path}:{off} {old}")
                bad += 1
                continue
            out.append(src[at:off])
            # shorthand captures keep their meaning: `Class(name=name)` is two edits
            out.append(new.encode())
            at = off + len(old.encode())
            n_edits += 1
        out.append(src[at:])
        text = b"".join(out)
        if not dry:
            (root / path).write_bytes(text)
    if not dry:
        docs(root, d, final)
    renamed = {clean(k): v for k, v in final.items()}
    kinds = defaultdict(int)
    for k, v in final.items():
        if k in d["defs"]:
            kinds[d["defs"][k][2]] += 1
    print(f"{len(final)} keys renamed ({dict(kinds)}), {n_edits} places, {bad} problems")
    with open(Path(index).with_suffix(".renamed"), "wb") as fh:
        pickle.dump({"final": renamed}, fh)
    # untyped places that hold an old name
    olds = defaultdict(set)
    for k, v in final.items():
        olds[name_of(k)].add(v)
    with open(Path(index).with_suffix(".untyped"), "w") as fh:
        for path, line, name, why, _ in sorted(d["untyped"], key=str):
            if name in olds:
                fh.write(f"{path}:{line}: {name} ({why}) -> {sorted(olds[name])}\n")
    return 1 if bad else 0


def name_of(key):
    if key.endswith(")"):
        return key[key.rindex("(") + 1:-1]
    return key.rpartition(".")[2]


CACHE = {}


def line_of(root, path, off):
    if path not in CACHE:
        CACHE[path] = (root / path).read_bytes()
    return CACHE[path].count(b"\n", 0, off) + 1


def collisions(root, d, final):
    """New names of parameters that the function uses already; new members that a class has."""
    bad = 0
    members = defaultdict(set)
    for k in d["defs"]:
        if "(" not in k:
            members[k.rpartition(".")[0]].add(k.rpartition(".")[2])
    for k, new in final.items():
        if k.endswith(")") or k not in d["defs"]:
            continue
        cls = k.rpartition(".")[0]
        mro = d["mro"].get(cls, [cls])
        for c in mro:
            if new in members[c] and f"{c}.{new}" not in final and cls in d["classes"]:
                print(f"COLLISION {clean(k)} -> {new}: {c} has it")
                bad += 1
                break
    by_func = defaultdict(dict)
    for k, new in final.items():
        if k.endswith(")") and k in d["defs"]:
            func = k[:k.rindex("(")]
            by_func[(d["defs"][k][0], func)][name_of(k)] = (new, d["defs"][k][1])
    by_path = defaultdict(list)
    for (path, func), names in by_func.items():
        by_path[path].append((func, names))
    for path, funcs in by_path.items():
        tree = ast.parse((root / path).read_bytes())
        spots = defaultdict(list)
        for n in ast.walk(tree):
            if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)):
                spots[n.name].append(n)
        for func, names in funcs:
            fname = clean(func).rpartition(".")[2]
            for n in spots[fname]:
                last = max(v[1] for v in names.values())
                if not n.lineno <= last <= n.end_lineno:
                    continue
                a = n.args
                params = {p.arg for p in [*a.posonlyargs, *a.args, *a.kwonlyargs, *([a.vararg] if a.vararg else []), *([a.kwarg] if a.kwarg else [])]}
                if not set(names) <= params:
                    continue
                body = {x.id for st in n.body for x in ast.walk(st) if isinstance(x, ast.Name)} | (params)
                body |= {x.name for st in n.body for x in ast.walk(st) if isinstance(x, (ast.MatchAs, ast.MatchStar)) and x.name}
                body |= {x.arg for st in n.body for x in ast.walk(st) if isinstance(x, ast.arg)}
                for old, (new, _) in names.items():
                    if new in body and new not in names:
                        print(f"COLLISION {path}:{n.lineno} {fname}({old}) -> {new}: in use")
                        bad += 1
                break
    return bad


def docstring_map(final):
    return final


def doc_paths(d, final):
    return {d["defs"][k][0] for k in final if k in d["defs"]}


def docs(root, d, final):
    """Mend backticked names in docstrings of the class or function, and `Args:` lines."""
    by_scope = defaultdict(dict)
    for k, new in final.items():
        if k.endswith(")"):
            by_scope[clean(k[:k.rindex("(")])][name_of(k)] = new
        else:
            by_scope[clean(k.rpartition(".")[0])][name_of(k)] = new
    # subclasses see the names of their bases
    for cls, mro in d["mro"].items():
        for c in mro[1:]:
            for old, new in by_scope.get(clean(c), {}).items():
                by_scope[clean(cls)].setdefault(old, new)
    paths = {d["defs"][k][0] for k in d["defs"]}
    for path in sorted(paths):
        src = (root / path).read_text()
        tree = ast.parse(src)
        mod = path.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        lines = src.split("\n")
        changed = False

        def fix(node, names):
            nonlocal changed
            if not names or not (node.body and isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant) and isinstance(node.body[0].value.value, str)):
                return
            c = node.body[0].value
            for i in range(c.lineno - 1, c.end_lineno):
                line = lines[i]
                new = re.sub(r"(`)(\w+)(`|\(|\.)", lambda m: m[1] + names.get(m[2], m[2]) + m[3], line)
                new = re.sub(r"^(\s+)(\w+)(: )", lambda m: m[1] + names.get(m[2], m[2]) + m[3], new)
                if new != line:
                    lines[i] = new
                    changed = True

        def walk(node, qual, names):
            for ch in ast.iter_child_nodes(node):
                if isinstance(ch, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    q = ".".join([*qual, ch.name])
                    own = {}
                    if isinstance(node, ast.ClassDef):
                        own |= by_scope.get(".".join(qual), {})
                    own |= by_scope.get(q, {})
                    old_params = {o: n for o, n in own.items()}
                    fix(ch, own)
                    walk(ch, [*qual, ch.name], own)
                else:
                    walk(ch, qual, names)

        walk(tree, [mod], {})
        if changed:
            (root / path).write_text("\n".join(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
