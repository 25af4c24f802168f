"""Index every attribute, keyword and parameter of a tree by mypy: `index.py TREE OUT.pickle`.

OUT holds `defs` (class members, functions with parameters) and `uses`: one tuple
(path, line, col_in_utf8_bytes, old_name, kind, targets), targets a tuple of keys:
`module.Class.member` or `module.function(param)` / `module.Class.method(param)`.
"""

from __future__ import annotations

import ast
import os
import pickle
import re
import sys
import time
from collections import defaultdict
from pathlib import Path

from mypy import build, nodes
from mypy import types as T
from mypy.main import process_options

ROOTS = ("toolmark", "tests", "benchmarks", "scripts")


SKIP = {"node", "info", "type", "unanalyzed_type", "names", "original_def", "definition",
        "typeddict", "alias_tvars", "expanded", "imports", "type_guard", "dataclass_transform_spec",
        "deco_line", "named_type"}
GETSET = type(nodes.MemberExpr.__dict__["expr"])
ATTRS = {}


def attrs_of(cls):
    got = ATTRS.get(cls)
    if got is None:
        got = sorted({n for c in cls.__mro__ for n, v in vars(c).items()
                      if isinstance(v, GETSET) and n not in SKIP})
        ATTRS[cls] = got
    return got


class Grab:
    """The typed expressions of a file by position."""

    def __init__(self, types, tree):
        self.types = types
        self.at = {}
        self.lvals = {}
        self.classes = []
        todo = [tree.defs]
        done = set()
        while todo:
            o = todo.pop()
            if isinstance(o, (list, tuple)):
                todo += [x for x in o if isinstance(x, (nodes.Node, list, tuple))]
                continue
            if id(o) in done:
                continue
            done.add(id(o))
            self.seen(o)
            for n in attrs_of(type(o)):
                try:
                    v = getattr(o, n)
                except (AttributeError, AssertionError):
                    continue
                if isinstance(v, nodes.Node) and not isinstance(v, (nodes.TypeInfo, nodes.Var, nodes.MypyFile)) or isinstance(v, (list, tuple)):
                    todo.append(v)

    def seen(self, o):
        if isinstance(o, nodes.Expression):
            typ = self.types.get(o)
            key = (o.line, o.column, o.end_line, o.end_column)
            if typ is not None:
                self.at.setdefault(key, []).append((o, typ))
            elif isinstance(o, nodes.RefExpr):
                self.lvals.setdefault(key, o)
        elif isinstance(o, nodes.ClassDef):
            self.classes.append(o)


def proper(t):
    return T.get_proper_type(t)


def infos(t, seen=0):
    """Yield (TypeInfo, on_class) of a type."""
    t = proper(t)
    if t is None or seen > 12:
        return
    if isinstance(t, T.Instance):
        if t.type.fullname in ("builtins.type",) and t.args:
            yield from infos(t.args[0], seen + 1)
        yield t.type
    elif isinstance(t, T.UnionType):
        for item in t.items:
            yield from infos(item, seen + 1)
    elif isinstance(t, T.TupleType):
        yield t.partial_fallback.type
    elif isinstance(t, T.TypedDictType):
        yield t.fallback.type
    elif isinstance(t, T.TypeType):
        yield from infos(t.item, seen + 1)
    elif isinstance(t, T.TypeVarType):
        if t.values:
            for v in t.values:
                yield from infos(v, seen + 1)
        yield from infos(t.upper_bound, seen + 1)
    elif isinstance(t, T.LiteralType):
        yield t.fallback.type
    elif isinstance(t, T.CallableType):
        if t.is_type_obj():
            yield t.type_object()
            mc = t.type_object().metaclass_type
            if mc:
                yield mc.type
        else:
            yield t.fallback.type
    elif isinstance(t, T.Overloaded):
        for item in t.items:
            yield from infos(item, seen + 1)


def ours(fullname):
    return fullname.split(".", 1)[0] in ROOTS


def all_definers(info, name):
    """Every class of ours in the MRO that defines name."""
    return [c for c in info.mro if name in c.names and ours(c.fullname)]


class Tree:
    def __init__(self, result, root):
        self.result = result
        self.root = root
        self.infos = {}
        self.defs = {}
        self.uses = []
        self.untyped = []
        self.parent = {}

    # union-find over keys of overriding members
    def find(self, k):
        while self.parent.get(k, k) != k:
            k = self.parent[k]
        return k

    def unite(self, a, b):
        a, b = self.find(a), self.find(b)
        if a != b:
            self.parent[b] = a

    def class_infos(self):
        for mod, tree in self.result.files.items():
            if not ours(mod):
                continue
            todo = [(tree.names, mod)]
            for full, sym, info in tree.local_definitions():
                if isinstance(sym.node, nodes.TypeInfo):
                    self.infos[sym.node.fullname] = sym.node
        return self.infos


def member_keys(info, name):
    return [f"{c.fullname}.{name}" for c in all_definers(info, name)]


def func_of(sym):
    """FuncDef(s) of a class or module symbol node."""
    if isinstance(sym, nodes.FuncDef):
        return [sym]
    if isinstance(sym, nodes.Decorator):
        return [sym.func]
    if isinstance(sym, nodes.OverloadedFuncDef):
        out = []
        for item in sym.items:
            out += func_of(item)
        if sym.impl is not None:
            out += func_of(sym.impl)
        return out
    return []


def is_record_like(info, name):
    """A keyword of the constructor that is a field."""
    for c in info.mro:
        sym = c.names.get(name)
        if sym is not None and isinstance(sym.node, nodes.Var) and ours(c.fullname):
            return True
    return False


def own_init(info):
    for c in info.mro:
        sym = c.names.get("__init__")
        if sym is not None and c.fullname != "builtins.object":
            fs = [f for f in func_of(sym.node) if f.body is not None and f.line >= 0]
            if sym.plugin_generated if hasattr(sym, "plugin_generated") else False:
                return None, None
            return c, fs
    return None, None


def constructor_keys(info, name):
    """Keys that a keyword argument of Class(...) names."""
    c, fs = own_init(info)
    keys = []
    if fs:
        for f in fs:
            if name in f.arg_names:
                keys.append(f"{c.fullname}.__init__({name})")
    if keys:
        return keys
    return member_keys(info, name)


class FileWalk(ast.NodeVisitor):
    def __init__(self, tree, path, module, src, grab, mod):
        self.t = tree
        self.path = path
        self.module = module
        self.src = src
        self.lines = src.splitlines(keepends=True)
        self.offs = [0]
        for line in src.split(b"\n"):
            self.offs.append(self.offs[-1] + len(line) + 1)
        self.grab = grab
        self.mod = mod
        self.scopes = []  # (kind, name, FuncDef/TypeInfo key, {param: key})
        self.qual = []

    # positions
    def off(self, line, col):
        return self.offs[line - 1] + col

    def use(self, off, name, kind, targets):
        if self.src[off : off + len(name.encode())] != name.encode():
            self.t.untyped.append((self.path, self.line_of(off), name, f"misplaced {kind}", tuple(targets)))
            return
        self.t.uses.append((self.path, off, name, kind, tuple(sorted(set(targets)))))

    def line_of(self, off):
        import bisect
        return bisect.bisect_right(self.offs, off)

    def pos(self, node):
        return (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)

    def typed(self, node):
        """Types of an expression node."""
        got = self.grab.at.get(self.pos(node), [])
        return [t for _, t in got]

    def ref(self, node):
        key = self.pos(node)
        for o, _ in self.grab.at.get(key, []):
            if isinstance(o, nodes.RefExpr):
                return o
        return self.grab.lvals.get(key)

    def infos_of(self, node):
        out = []
        for t in self.typed(node):
            for i in infos(t):
                if i not in out:
                    out.append(i)
        ref = self.ref(node)
        if ref is not None and isinstance(ref.node, nodes.TypeInfo):
            if ref.node not in out:
                out.append(ref.node)
        elif not out and ref is not None and isinstance(ref.node, nodes.Var) and ref.node.type is not None:
            out += list(infos(ref.node.type))
        return out

    # definitions
    def visit_ClassDef(self, node):
        full = ".".join([self.module, *self.qual, node.name])
        for d in node.decorator_list:
            self.visit(d)
        for b in node.bases:
            self.visit(b)
        for k in node.keywords:
            self.visit(k.value)
        info = self.t.infos.get(full) or self.t.local_infos.get((self.path, node.lineno, node.name))
        key = info.fullname if info is not None else full
        self.qual.append(node.name)
        self.scopes.append(("class", key, info, {}))
        for st in node.body:
            targets = []
            if isinstance(st, ast.AnnAssign) and isinstance(st.target, ast.Name):
                targets = [st.target]
            elif isinstance(st, ast.Assign):
                for tg in st.targets:
                    targets += [n for n in ast.walk(tg) if isinstance(n, ast.Name)]
            for tg in targets:
                self.use(self.off(tg.lineno, tg.col_offset), tg.id, "field", [f"{key}.{tg.id}"])
                self.t.defs[f"{key}.{tg.id}"] = (self.path, tg.lineno, "field", ast.unparse(st)[:160])
        self.t.classes[key] = (self.path, node.lineno, [ast.unparse(b) for b in node.bases],
                               [ast.unparse(d) for d in node.decorator_list],
                               [ast.unparse(k) for k in node.keywords])
        for st in node.body:
            self.visit(st)
        self.scopes.pop()
        self.qual.pop()

    def visit_FunctionDef(self, node):
        in_class = bool(self.scopes) and self.scopes[-1][0] == "class"
        if in_class:
            key = f"{self.scopes[-1][1]}.{node.name}"
        else:
            key = ".".join([self.module, *self.qual, node.name])
            if self.scopes:
                key += f"@{node.lineno}"
        line = node.lineno
        name_off = self.src.index(node.name.encode(), self.off(line, node.col_offset))
        kind = "method" if in_class else ("function" if not self.scopes else "inner")
        self.use(name_off, node.name, kind, [key])
        deco = [ast.unparse(d) for d in node.decorator_list]
        if "property" in deco or any("cached_property" in d for d in deco):
            kind = "property"
        a = node.args
        params = {}
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs]
        if a.vararg:
            every.append(a.vararg)
        if a.kwarg:
            every.append(a.kwarg)
        defaults = [*a.defaults, *[d for d in a.kw_defaults if d is not None]]
        for d in node.decorator_list:
            self.visit(d)
        for d in defaults:
            self.visit(d)
        for p in every:
            if p.annotation:
                self.visit(p.annotation)
        if node.returns:
            self.visit(node.returns)
        for i, p in enumerate(every):
            k = f"{key}({p.arg})"
            params[p.arg] = k
            self.use(self.off(p.lineno, p.col_offset), p.arg, "param", [k])
            self.t.defs[k] = (self.path, p.lineno, "param", "kwonly" if p in a.kwonlyargs else "")
        try:
            sig = f"({ast.unparse(a)})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")
        except Exception:
            sig = ""
        if kind != "inner":
            self.t.defs[key] = (self.path, node.lineno, kind, sig[:300])
        self.qual.append(node.name)
        bound = local_names(node)
        scope = {n: params.get(n) for n in bound}
        scope.update(params)
        self.scopes.append(("func", key, None, scope))
        for st in node.body:
            self.visit(st)
        self.scopes.pop()
        self.qual.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        a = node.args
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs] + ([a.vararg] if a.vararg else []) + ([a.kwarg] if a.kwarg else [])
        for d in [*a.defaults, *[d for d in a.kw_defaults if d is not None]]:
            self.visit(d)
        self.scopes.append(("func", "<lambda>", None, {p.arg: None for p in every}))
        self.visit(node.body)
        self.scopes.pop()

    def comp(self, node):
        names = set()
        for g in node.generators:
            names |= {n.id for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        self.visit(node.generators[0].iter)
        self.scopes.append(("func", "<comp>", None, {n: None for n in names}))
        for i, g in enumerate(node.generators):
            if i:
                self.visit(g.iter)
            self.visit(g.target)
            for c in g.ifs:
                self.visit(c)
        if isinstance(node, ast.DictComp):
            self.visit(node.key)
            self.visit(node.value)
        else:
            self.visit(node.elt)
        self.scopes.pop()

    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = comp

    def visit_Name(self, node):
        for depth, (kind, _, _, names) in enumerate(reversed(self.scopes)):
            if kind == "class" and depth:
                continue
            if kind == "class":
                key = f"{self.scopes[-1][1]}.{node.id}"
                if isinstance(node.ctx, ast.Load) and key in self.t.defs:
                    self.use(self.off(node.lineno, node.col_offset), node.id, "name", [key])
                    return
                continue
            if node.id in names:
                if names[node.id]:
                    self.use(self.off(node.lineno, node.col_offset), node.id, "name", [names[node.id]])
                return

    def visit_Attribute(self, node):
        self.visit(node.value)
        name = node.attr
        off = self.off(node.end_lineno, node.end_col_offset) - len(name.encode())
        targets = []
        found = self.infos_of(node.value)
        for info in found:
            targets += member_keys(info, name)
        if not targets:
            ref = self.ref(node.value)
            if ref is not None and isinstance(ref.node, nodes.MypyFile):
                if ours(ref.node.fullname):
                    targets = [f"{ref.node.fullname}.{name}"]
        if targets:
            self.use(off, name, "attr", targets)
        elif not found:
            ref = self.ref(node.value)
            if not (ref is not None and isinstance(ref.node, nodes.MypyFile)):
                types = self.typed(node.value)
                why = "Any" if any(isinstance(proper(t), T.AnyType) for t in types) else ("notype" if not types else "other")
                if not re.match(r"__\w+__$", name):
                    self.t.untyped.append((self.path, node.end_lineno, name, f"attr {why}", (off,)))

    def visit_Call(self, node):
        self.generic_visit_call(node)

    def callable_targets(self, fn, name, depth=0):
        """Keys that keyword `name` of a call of expression fn names."""
        out = []
        ref = self.ref(fn)
        for t in self.typed(fn):
            out += self.targets_of_type(t, name, fn, ref)
        if not out and ref is not None:
            node = ref.node
            if isinstance(node, nodes.TypeInfo):
                out += constructor_keys(node, name)
            for f in func_of(node) if node is not None else []:
                if f.info and name in f.arg_names:
                    out.append(f"{f.info.fullname}.{f.name}({name})")
                elif name in f.arg_names:
                    out.append(self.func_key(f, name))
        if not out and isinstance(fn, ast.Attribute):
            for info in self.infos_of(fn.value):
                for c in all_definers(info, fn.attr):
                    for f in func_of(c.names[fn.attr].node):
                        if name in f.arg_names:
                            out.append(f"{c.fullname}.{fn.attr}({name})")
        return out

    def func_key(self, f, name):
        full = f.fullname
        if "." not in full or not full.startswith(ROOTS) or (f.line, f.name, ) in self.t.inner.get(self.path, {}):
            got = self.t.inner.get(self.path, {}).get((f.line, f.name))
            if got:
                return f"{got}({name})"
        return f"{full}({name})"

    def targets_of_type(self, t, name, fn, ref):
        t = proper(t)
        out = []
        if isinstance(t, T.UnionType):
            for i in t.items:
                out += self.targets_of_type(i, name, fn, ref)
        elif isinstance(t, T.Overloaded):
            for i in t.items:
                out += self.targets_of_type(i, name, fn, ref)
        elif isinstance(t, T.CallableType):
            if t.is_type_obj():
                info = t.type_object()
                if ours(info.fullname):
                    out += constructor_keys(info, name)
            else:
                d = t.definition
                fs = func_of(d) if d is not None else []
                if isinstance(d, nodes.Decorator):
                    fs = [d.func]
                for f in fs:
                    if name in f.arg_names:
                        if f.info and isinstance(f.info, nodes.TypeInfo) and f.info.fullname:
                            for c in all_definers(f.info, f.name):
                                out.append(f"{c.fullname}.{f.name}({name})")
                        else:
                            out.append(self.func_key(f, name))
        elif isinstance(t, T.TypeType):
            for info in infos(t.item):
                if ours(info.fullname):
                    out += constructor_keys(info, name)
        elif isinstance(t, T.Instance):
            for c in all_definers(t.type, "__call__"):
                for f in func_of(c.names["__call__"].node):
                    if name in f.arg_names:
                        out.append(f"{c.fullname}.__call__({name})")
        return out

    def generic_visit_call(self, node):
        fn = node.func
        self.visit(fn)
        for a in node.args:
            self.visit(a)
        dotted = ast.unparse(fn) if isinstance(fn, (ast.Name, ast.Attribute)) else ""
        tail = dotted.rsplit(".", 1)[-1]
        for kw in node.keywords:
            self.visit(kw.value)
            if kw.arg is None:
                continue
            off = self.off(kw.lineno, kw.col_offset)
            targets = []
            if tail == "_replace" and isinstance(fn, ast.Attribute):
                for info in self.infos_of(fn.value):
                    targets += member_keys(info, kw.arg)
            elif tail in ("replace", "_changed_record") and node.args and not isinstance(fn, ast.Attribute) or dotted in (
                "structs.replace", "dataclasses.replace", "copy.replace", "msgspec.structs.replace"):
                for info in self.infos_of(node.args[0]):
                    targets += member_keys(info, kw.arg)
            elif tail in ("partial", "to_thread", "partialmethod") and node.args:
                targets += self.callable_targets(node.args[0], kw.arg)
            if not targets:
                targets += self.callable_targets(fn, kw.arg)
            if not targets and node.args:
                got = self.callable_targets(node.args[0], kw.arg)
                if got:
                    targets += got
            if targets:
                self.use(off, kw.arg, "kwarg", targets)
            else:
                types = self.typed(fn)
                self.t.untyped.append((self.path, kw.lineno, kw.arg, f"kwarg of {dotted}", (off,)))
        if tail in ("getattr", "hasattr", "setattr", "delattr", "attrgetter") or tail in ("setattr", "delattr"):
            consts = [a for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            for c in consts:
                found = self.infos_of(node.args[0]) if len(node.args) > 1 else []
                keys = []
                for info in found:
                    keys += member_keys(info, c.value)
                ref = self.ref(node.args[0])
                if not keys and ref is not None and isinstance(ref.node, nodes.MypyFile):
                    keys = [f"{ref.node.fullname}.{c.value}"]
                off = self.off(c.lineno, c.col_offset)
                if keys and self.src[off : off + 1] in b"\"'":
                    self.use(off + 1, c.value, "string", keys)
                else:
                    self.t.untyped.append((self.path, c.lineno, c.value, f"string of {dotted}", (off,)))

    def visit_MatchClass(self, node):
        found = self.infos_of(node.cls)
        prev = node.cls
        self.visit(node.cls)
        for p in node.patterns:
            self.visit(p)
        for name, p in zip(node.kwd_attrs, node.kwd_patterns):
            off = self.off(p.lineno, p.col_offset)
            head = self.src[:off]
            m = re.search(rb"(\w+)\s*=[\s(]*$", head[-200:])
            keys = []
            for info in found:
                keys += member_keys(info, name)
            if m and m.group(1).decode() == name:
                at = off - len(head[-200:]) + m.start(1)
                if keys:
                    self.use(at, name, "match", keys)
                elif not found:
                    self.t.untyped.append((self.path, p.lineno, name, "match", (at,)))
            else:
                self.t.untyped.append((self.path, p.lineno, name, "match position", tuple(keys)))
            self.visit(p)

    def visit_MatchAs(self, node):
        if node.pattern:
            self.visit(node.pattern)
        # captures of a parameter's name
        if node.name:
            self.capture(node, node.name, at_end=True)

    def capture(self, node, name, at_end):
        for kind, _, _, names in reversed(self.scopes):
            if kind == "class":
                continue
            if name in names:
                if names[name]:
                    off = self.off(node.end_lineno, node.end_col_offset) - len(name.encode())
                    self.use(off, name, "name", [names[name]])
                return

    def visit_MatchStar(self, node):
        if node.name:
            self.capture(node, node.name, True)

    def visit_ExceptHandler(self, node):
        if node.name:
            for kind, _, _, names in reversed(self.scopes):
                if kind == "func" and names.get(node.name):
                    self.t.untyped.append((self.path, node.lineno, node.name, "except as param", ()))
                    break
        self.generic_visit(node)

    def visit_Nonlocal(self, node):
        for n in node.names:
            for kind, _, _, names in reversed(self.scopes):
                if kind == "func" and names.get(n):
                    off = self.src.index(n.encode(), self.off(node.lineno, node.col_offset) + 8)
                    self.use(off, n, "name", [names[n]])
                    break


def local_names(fn):
    """Names bound in a function's own scope (not nested), less nonlocal and global ones."""
    out, free = set(), set()

    def walk(n):
        for c in ast.iter_child_nodes(n):
            if isinstance(c, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                out.add(c.name)
                continue
            if isinstance(c, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                # walrus inside a comprehension binds outside
                for w in ast.walk(c):
                    if isinstance(w, ast.NamedExpr):
                        out.add(w.target.id)
                continue
            if isinstance(c, ast.Name) and isinstance(c.ctx, (ast.Store, ast.Del)):
                out.add(c.id)
            elif isinstance(c, (ast.Nonlocal, ast.Global)):
                free.update(c.names)
            elif isinstance(c, (ast.MatchAs, ast.MatchStar)) and c.name:
                out.add(c.name)
            elif isinstance(c, ast.ExceptHandler) and c.name:
                out.add(c.name)
            elif isinstance(c, (ast.Import, ast.ImportFrom)):
                out.update((al.asname or al.name).split(".")[0] for al in c.names)
            walk(c)

    for st in fn.body:
        if isinstance(st, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            out.add(st.name)
        else:
            holder = ast.Module(body=[st], type_ignores=[])
            walk(holder)
    return out - free


def implements(info, proto):
    """Tell whether a class is a structural subtype of a protocol."""
    from mypy.state import state
    from mypy.subtypes import is_subtype
    from mypy.typevars import fill_typevars
    try:
        with state.strict_optional_set(True):
            a, b = fill_typevars(info), fill_typevars(proto)
            a = a.partial_fallback if isinstance(a, T.TupleType) else a
            return bool(is_subtype(a, b))
    except Exception as error:
        print("?", info.fullname, proto.fullname, error)
        return False


def main(root, out):
    root = Path(root).resolve()
    os.chdir(root)
    t0 = time.time()
    sources, options = process_options(["--config-file", str(root / "pyproject.toml"), "src", "tests", "benchmarks", "scripts"])
    options.native_parser = False
    options.incremental = False
    options.cache_dir = os.devnull
    options.export_types = True
    options.preserve_asts = True
    options.show_traceback = True
    if hasattr(options, "num_workers"):
        options.num_workers = 0
    result = build.build(sources, options)
    print(f"built {time.time() - t0:.0f} s, {len(result.types)} types, {len(result.errors)} errors")
    for e in result.errors[:20]:
        print(" ", e)
    tree = Tree(result, root)
    tree.classes = {}
    tree.local_infos = {}
    tree.inner = defaultdict(dict)
    tree.class_infos()
    grabs, asts = {}, {}
    for mod, f in result.files.items():
        path = f.path
        if not ours(mod) or not path.endswith(".py") or not os.path.abspath(path).startswith(str(root)):
            continue
        g = Grab(result.types, f)
        grabs[mod] = g
        src = Path(path).read_bytes()
        a = ast.parse(src)
        asts[mod] = (os.path.relpath(path, root), f, src, a)
        # nested functions by line
        def nest(n, qual, infunc):
            for c in ast.iter_child_nodes(n):
                if isinstance(c, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    if infunc:
                        first = c.lineno
                        tree.inner[asts[mod][0]][(c.lineno, c.name)] = ".".join([mod, *qual, c.name]) + f"@{c.lineno}"
                    nest(c, [*qual, c.name], True)
                elif isinstance(c, ast.ClassDef):
                    nest(c, [*qual, c.name], False if not infunc else False)
                else:
                    nest(c, qual, infunc)
        nest(a, [], False)

    for mod, (path, f, src, a) in asts.items():
        for c in grabs[mod].classes:
            tree.local_infos[(path, c.line, c.name)] = c.info
            tree.infos.setdefault(c.info.fullname, c.info)
    # order: definitions are needed by visit_Name in class bodies only
    for mod, (path, f, src, a) in asts.items():
        FileWalk(tree, path, mod, src, grabs[mod], f).visit(a)
    # overriding members and their parameters are one name
    groups = []
    for info in tree.infos.values():
        for name, sym in info.names.items():
            definers = all_definers(info, name)
            if len(definers) > 1:
                groups.append([f"{c.fullname}.{name}" for c in definers])
                fs = [(c, func_of(c.names[name].node)) for c in definers]
                pos = {}
                for c, ff in fs:
                    for f in ff:
                        for i, arg in enumerate(f.arg_names):
                            if arg and arg not in ("self", "cls"):
                                pos.setdefault(arg, []).append(f"{c.fullname}.{name}({arg})")
                groups += [g for g in pos.values() if len(g) > 1]
    protos = {k: [n for n, s in i.names.items() if not n.startswith("__") ] for k, i in tree.infos.items() if i.is_protocol and ours(k)}
    impl = []
    for k, names in protos.items():
        for c, i in tree.infos.items():
            if c != k and names and all(i.get(n) is not None for n in names) and k not in [m.fullname for m in i.mro] and implements(i, tree.infos[k]):
                impl.append((k, c))
                for n in names:
                    ks = [f"{k}.{n}"] + member_keys(i, n)
                    if len(ks) > 1:
                        groups.append(ks)
                    base = {a for f in func_of(tree.infos[k].names[n].node) for a in f.arg_names if a} if n in tree.infos[k].names else set()
                    for cc in all_definers(i, n):
                        for f in func_of(cc.names[n].node):
                            groups += [[f"{k}.{n}({a})", f"{cc.fullname}.{n}({a})"] for a in f.arg_names if a in base and a not in ("self", "cls")]
    call_protos = [k for k, i in tree.infos.items() if i.is_protocol and "__call__" in i.names]
    with open(out, "wb") as fh:
        pickle.dump({
            "defs": tree.defs, "uses": tree.uses, "untyped": tree.untyped, "groups": groups,
            "classes": tree.classes, "impl": impl, "call_protos": call_protos,
            "mro": {k: [c.fullname for c in i.mro] for k, i in tree.infos.items()},
        }, fh)
    print(f"{time.time() - t0:.0f} s: {len(tree.defs)} definitions, {len(tree.uses)} uses, "
          f"{len(tree.untyped)} untyped, {len(groups)} groups, {len(impl)} structural")


if __name__ == "__main__":
    main(*sys.argv[1:])
