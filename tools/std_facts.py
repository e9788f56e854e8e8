#!/usr/bin/env python3
"""Generate crates/rust-api/src/std_facts/std.txt: types, traits and impls of the standard library.

    python3 tools/std_facts.py            # write the table
    python3 tools/std_facts.py --check    # fail if the table differs from what this script generates

Needs the toolchain's `rust-docs` component, the only form in which a stable toolchain contains the documentation of
the standard library. The script reads the declarations and impl headers of all stable items from these pages, looks up
the path of each definition in the rustdoc JSON of a crate that re-exports them, and asks rustc about the rest with
probe functions: the variance of each parameter, whether a type is sized, and whether each impl and each associated
type of the table holds. What rustc rejects is left out.
"""

import argparse
import html
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

TABLE = Path(__file__).resolve().parent.parent / "crates/rust-api/src/std_facts/std.txt"
RUSTC = os.environ.get("RUSTC", "rustc")
CRATES = ["std", "alloc", "core"]
FEATURES = "allocator_api, unboxed_closures, fn_traits, tuple_trait, never_type, step_trait, pattern, slice_index_methods, nonzero_internals"
# Unstable traits that conditions of stable impls name.
NEEDED = {"std::iter::Step", "std::str::pattern::Pattern", "core::iter::Step", "core::str::pattern::Pattern"}
TYPES, REGIONS, CONSTS = ["T", "U", "V", "W", "X"], ["'a", "'b", "'c"], ["N", "M"]

# Modules of one platform, or of compiler internals.
SKIPPED_MODULES = ("arch", "simd", "os", "intrinsics", "autodiff", "f16", "f128", "prelude")
# Traits that only the standard library uses, though their pages are not marked as unstable.
SKIPPED_TRAITS = {"Freeze", "UnsafeUnpin", "StructuralPartialEq", "CloneToUninit", "UseCloned", "Allocator", "Pointee"}
# The rules for arithmetic between numbers are part of the crate; one line for each pair of types would be 3,000 lines.
OPERATORS = re.compile(r"(Add|Sub|Mul|Div|Rem|BitAnd|BitOr|BitXor|Shl|Shr)(Assign)?$|(Neg|Not|Sum|Product|TryFrom)$")
# Aliases that are expanded: those of `Result`, and C types that are the same on every platform.
ALIASES = re.compile(r".*Result$|c_(schar|uchar|short|ushort|longlong|ulonglong|float|double)$")
# Bounds that hold for every argument that a signature can have.
ASSUMED = {"std::marker::Destruct", "std::marker::Tuple", "std::num::ZeroablePrimitive"}
# What a primitive page is about; tuples and functions of any length are rules of the crate.
PRIMITIVES = """array bool char f32 f64 i8 i16 i32 i64 i128 isize never pointer reference slice str u8 u16 u32 u64
u128 unit usize""".split()


# ---------------------------------------------------------------- text of declarations

def split(text, separator):
    """Split at a separator outside of brackets."""
    parts, depth, start, i = [], 0, 0, 0
    while i < len(text):
        if text.startswith("->", i):
            i += 2
            continue
        depth += text[i] in "<([{"
        depth -= text[i] in ">)]}"
        if depth == 0 and text.startswith(separator, i):
            parts.append(text[start:i].strip())
            start = i = i + len(separator)
            continue
        i += 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def bracketed(text):
    """Split `<..>rest` into the text in the brackets and the rest."""
    if not text.startswith("<"):
        return "", text
    depth = 0
    for i, c in enumerate(text):
        depth += c == "<"
        depth -= c == ">" and text[i - 1] != "-"
        if depth == 0:
            return text[1:i], text[i + 1:]
    raise ValueError(text)


def words(text, mapping):
    """Replace identifiers and lifetimes that are not part of a path."""
    return re.sub(r"(?<![\w:'])'?[A-Za-z_]\w*(?!\w|::[a-z])",
                  lambda m: mapping.get(m[0], m[0]), text)


def plain(page):
    """The text of a piece of a page, with full paths for linked names."""
    def link(match):
        title = re.search(r'title="([^"]*)"', match[1])
        if not title or "primitive" in match[1]:
            return match[2]
        kind, _, path = title[1].rpartition(" ")
        if 'class="associatedtype"' in match[1]:
            return f"@{path}@"
        return path if kind in ("struct", "enum", "union", "trait", "type") else match[2]

    page = re.sub(r"<a ([^>]*)>(.*?)</a>", link, page, flags=re.S)
    text = html.unescape(re.sub(r"<[^>]*>", "", page)).replace(" ", " ")
    text = re.sub(r"\s+", " ", text.replace('<div class="where">', " ")).strip()
    # `I::Item` of a trait: `<I as Trait>::Item`.
    text = re.sub(r"(?<![>\w])(\w+)::@([\w:]+)::(\w+)@", r"<\1 as \2>::\3", text)
    text = re.sub(r"@[\w:]+::(\w+)@", r"\1", text)
    return re.sub(r"\[const\] |\bconst (?=[a-z]+::)", "", text)


class Generics:
    """Parameters in order, with bounds, defaults and predicates of the where clause."""

    def __init__(self, params, where):
        self.params, self.bounds, self.defaults, self.where = [], defaultdict(list), {}, []
        for param in split(params, ","):
            param, _, default = param.partition(" = ")
            if param.startswith("const "):
                param = param.split(":")[0]
                name = param[6:]
                self.params.append((name, "const"))
            else:
                name, _, bounds = param.partition(":")
                name = name.strip()
                self.params.append((name, "region" if name.startswith("'") else "type"))
                self.bounds[name] += split(bounds, "+")
            if default:
                self.defaults[name] = default
        for clause in split(where, ","):
            parts = split(clause.replace("::", "\0"), ":")
            if len(parts) == 2:
                this, bounds = (part.replace("\0", "::") for part in parts)
                if any(this == name for name, _ in self.params):
                    self.bounds[this] += split(bounds, "+")
                else:
                    self.where.append((this, split(bounds, "+")))

    def clauses(self):
        return [(name, list(self.bounds[name])) for name, _ in self.params if self.bounds[name]] + self.where

    def is_allocator(self, name):
        return any(bound.endswith("::Allocator") for bound in self.bounds[name])


# ---------------------------------------------------------------- documentation

class Docs:
    """The pages of the standard library: its items by public path, with the text of their pages."""

    def __init__(self, root):
        self.root, self.pages = root, {}
        for crate in CRATES:
            listing = (root / crate / "all.html").read_text()
            for file, name in re.findall(r'<li><a href="([^"]*)">([^<]*)</a></li>', listing):
                kind = file.rpartition("/")[2].split(".")[0]
                if kind in ("struct", "enum", "union", "trait", "type") and name.split("::")[0] not in SKIPPED_MODULES:
                    self.pages[f"{crate}::{name}"] = (kind, root / crate / file)

    def definitions(self, folder):
        """Public paths by the path of the definition, from the rustdoc JSON of a crate that re-exports everything."""
        names = sorted(name for name in self.pages if name in NEEDED or not self.features(name))
        source = "\n".join(f"pub use ::{name} as X{at};" for at, name in enumerate(names))
        (folder / "names.rs").write_text(f"#![feature({FEATURES})]\nextern crate alloc;\n" + source)
        done = subprocess.run([os.environ.get("RUSTDOC", "rustdoc"), "--edition", "2024", "-Zunstable-options", "--output-format", "json", "--cap-lints",
                               "allow", "-o", folder, folder / "names.rs"], env={**os.environ, "RUSTC_BOOTSTRAP": "1"}, capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        crate = json.loads((folder / "names.json").read_text())
        found = {}
        for item in crate["index"].values():
            use = item["inner"].get("use")
            summary = use and crate["paths"].get(str(use["id"]))
            kinds = {"struct", "enum", "union", "trait", "type_alias"}
            if summary and summary["crate_id"] != 0 and summary["kind"] in kinds:
                found[names[int(use["name"][1:])]] = "::".join(summary["path"])
        return found

    def text(self, name):
        return self.pages[name][1].read_text()

    def head(self, name):
        """The page up to its first section."""
        text = self.text(name)
        return text[:text.find('<h2 id="')] if '<h2 id="' in text else text

    def features(self, name):
        head = re.split('class="toggle top-doc"', self.head(name))[0]
        return re.findall(r'class="stab unstable">.*?<code>([a-z_0-9]+)</code>', head, flags=re.S)

    def declaration(self, name):
        text = self.text(name)
        start = text.find('item-decl">') + len('item-decl">')
        return text[start:text.find("</pre>", start)]

    def impls(self, file):
        """Headers of the trait impls on a page, each with the associated types that it sets."""
        text = file.read_text()
        starts = [m.start() for m in re.finditer(r'<section id="impl-[^"]*" class="impl">', text)]
        for start, end in zip(starts, starts[1:] + [len(text)]):
            block = text[start:end]
            header = re.search(r'<h3 class="code-header">(.*?)</h3>', block, flags=re.S)
            types = re.findall(r'<h4 class="code-header">type <a [^>]*>(\w+)</a>(.*?)</h4>', block, flags=re.S)
            yield plain(header[1].replace('<div class="where">', " ")), [(item, plain(value)) for item, value in types]


# ---------------------------------------------------------------- facts

class Library:
    def __init__(self, docs, folder):
        self.docs, self.folder = docs, folder
        definitions = docs.definitions(folder)
        preferred = {}
        for name in sorted(definitions, key=lambda name: (CRATES.index(name.split("::")[0]), name.count("::"), name)):
            preferred.setdefault(definitions[name], name)
        self.definition = {name: path for path, name in preferred.items()}
        self.public = {name: preferred[path] for name, path in definitions.items()}
        self.kind = {name: docs.pages[name][0] for name in self.definition}
        self.generics = {}
        for name in self.definition:
            text = self.resolve(plain(docs.declaration(name)))
            match = re.search(r"pub (?:unsafe |const |auto )*(?:struct|enum|union|trait|type) (\w+)", text)
            rest = text[match.end():]
            params, rest = bracketed(rest) if rest.startswith("<") else ("", rest)
            before = "" if rest.startswith("(") else re.split(r"[{;]| = ", rest, maxsplit=1)[0]
            supertraits, _, where = before.partition("where")
            # `where` of a tuple struct follows its fields.
            if not where and kind_of(text) == "struct":
                where = re.split(r"[{;]", rest.partition("where")[2])[0]
            self.generics[name] = Generics(params, where)
            self.generics[name].above = split(supertraits.strip().removeprefix(":"), "+")
            self.generics[name].text = text

    def resolve(self, text):
        """The text with the preferred public path of every item."""
        return re.sub(r"\b(?:std|alloc|core)(?:::\w+)+", lambda m: self.public.get(m[0], m[0]), text)

    def of_kind(self, *kinds):
        return sorted(name for name, kind in self.kind.items() if kind in kinds)

    def params(self, name):
        """The parameters of a type other than its allocator."""
        generics = self.generics[name]
        return [(p, kind) for p, kind in generics.params if not self.is_global(generics, p)]

    def allocators(self, text):
        """The arguments of types in a text that are allocators."""
        found = set()
        for name, args in re.findall(r"((?:std|alloc|core)(?:::\w+)+)<([^<>]*)>", text):
            generics = self.generics.get(name)
            params = generics.params if generics else []
            found |= {arg for (param, _), arg in zip(params, split(args, ",")) if self.is_global(generics, param)}
        return found

    def allows_unsized(self, text, param):
        """Whether a type stays a type with an unsized type for one of its parameters."""
        if text == param or re.search(rf"(&'\w+ (mut )?|\*const |\*mut ){param}\b", text):
            return True
        for name, args in re.findall(r"((?:std|alloc|core)(?:::\w+)+)<([^<>]*)>", text):
            generics = self.generics.get(name)
            for (own, _), arg in zip(generics.params if generics else [], split(args, ",")):
                if arg == param and is_maybe_unsized(generics, own):
                    return True
        return False

    def is_global(self, generics, param):
        return generics.is_allocator(param) or generics.defaults.get(param, "").endswith("::Global")


def is_maybe_unsized(generics, param):
    return "?std::marker::Sized" in generics.bounds[param]


def kind_of(text):
    return next((word for word in text.split() if word in ("struct", "enum", "union", "trait", "type")), None)


def rename(generics, text_first):
    """Standard names for parameters, in the order of first use."""
    found = re.findall(r"'?[A-Za-z_]\w*", text_first)
    pools = {"type": iter(TYPES), "region": iter(REGIONS), "const": iter(CONSTS)}
    mapping = {}
    kinds = dict(generics.params)
    for word in found + [name for name, _ in generics.params]:
        if word in kinds and word not in mapping:
            mapping[word] = next(pools[kinds[word]])
    return mapping


class Probe:
    """Functions that compile or not, in one crate."""

    def __init__(self, folder):
        self.folder = folder

    def accepted(self, functions):
        """The indices of the functions that rustc accepts. Later phases of rustc run only without errors of earlier ones."""
        left = dict(enumerate(functions))
        while left:
            lines, owner = [f"#![feature({FEATURES})]", "#![allow(warnings)]", "extern crate alloc;"], {}
            for index, function in left.items():
                for line in function.splitlines():
                    lines.append(line)
                    owner[len(lines)] = index
            file = self.folder / "probe.rs"
            file.write_text("\n".join(lines) + "\n")
            run = subprocess.run([RUSTC, "--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--cap-lints", "allow",
                                  "--error-format", "json", "-o", self.folder / "probe.rmeta", file],
                                 env={**os.environ, "RUSTC_BOOTSTRAP": "1"}, capture_output=True, text=True)
            wrong = set()
            for line in run.stderr.splitlines():
                message = json.loads(line)
                if message.get("level") == "error":
                    wrong |= {owner[span["line_start"]] for span in message["spans"]
                              if span["is_primary"] and span["line_start"] in owner}
            if not wrong:
                if run.returncode:
                    sys.exit(run.stderr[:4000])
                return set(left)
            for index in wrong:
                del left[index]
        return set()


# ---------------------------------------------------------------- types

def applied(name, args):
    return f"{name}<{', '.join(args)}>" if args else name


def type_lines(library, probe):
    """A line for each type: its variances, its defaults, and what outlives its lifetimes."""
    asked, functions = [], []
    names = library.of_kind("struct", "enum", "union")
    for name in names:
        generics, params = library.generics[name], library.params(name)
        for at, (param, kind) in enumerate(params):
            if kind == "const":
                continue
            long, short = ("'l", "'s") if kind == "region" else ("&'l Probed", "&'s Probed")
            for left, right in ((long, short), (short, long)):
                sides = []
                clauses = []
                for own in (left, right):
                    mapping = {param: own}
                    sides.append(applied(name, [mapping.get(p, p) for p, _ in params]))
                    for this, bounds in generics.clauses():
                        if library.is_global(generics, this):
                            continue
                        bounds = [bound for bound in bounds if bound != "?std::marker::Sized"]
                        clause = words(f"{this}: {' + '.join(bounds)}", mapping)
                        # Two clauses that differ in a lifetime would be ambiguous.
                        higher = kind == "type" and own in clause
                        if bounds:
                            clauses.append("for<'x> " + clause.replace(own, "&'x Probed") if higher else clause)
                others = [p if k != "const" else const_param(generics, p) for p, k in params if p != param]
                others.sort(key=lambda p: not p.startswith("'"))
                regions = [p for p in others if p.startswith("'")]
                rest = [p for p in others if not p.startswith("'")]
                own = ["Probed"] if kind == "type" else []
                head = ", ".join(["'l: 's", "'s"] + regions + own + rest)
                asked.append((name, at))
                functions.append(f"fn f{len(functions)}<{head}>(x: *const {sides[0]}) -> *const {sides[1]} "
                                 f"where {', '.join(dict.fromkeys(clauses))} {{ x }}")
    accepted = probe.accepted(functions)
    signs = {}
    for index in range(0, len(functions), 2):
        signs[asked[index]] = {(True, False): "+", (False, True): "-"}.get((index in accepted, index + 1 in accepted), "=")
    plain_types = [name for name in names if not library.params(name)]
    sized = probe.accepted([f"fn s(x: {name}) {{}}".replace("fn s", f"fn s{i}") for i, name in enumerate(plain_types)])
    unsized = {name for i, name in enumerate(plain_types) if i not in sized}
    # Types that contain their last argument, and are unsized if it is.
    maybe = [name for name in names if library.params(name) and is_maybe_unsized(library.generics[name], library.params(name)[-1][0])]
    functions = []
    for name in maybe:
        params = library.params(name)
        rest = ", ".join(p for p, _ in params[:-1])
        functions.append(f"fn s{len(functions)}<{rest}>(x: {applied(name, [p for p, _ in params[:-1]] + ['[u8]'])}) {{}}")
    sized = probe.accepted(functions)
    tails = {name for i, name in enumerate(maybe) if i not in sized}
    lines = []
    for name in names:
        generics, params = library.generics[name], library.params(name)
        mapping = rename(generics, " ".join(p for p, _ in params))
        shown = []
        for at, (param, kind) in enumerate(params):
            default = generics.defaults.get(param, "")
            # A default that depends on another parameter stays unknown.
            if any(re.search(rf"\b{other}\b", default) for other in mapping):
                default = ""
            text = "const " + mapping[param] if kind == "const" else signs[name, at] + mapping[param]
            if name in tails and at == len(params) - 1:
                text = text[0] + "?" + text[1:]
            shown.append(text + (f" = {words(default, mapping)}" if default else ""))
        allocator = any(library.is_global(generics, p) for p, _ in generics.params)
        bounds = [f"{words(this, mapping)}: {words(bound, mapping)}" for this, bounds in generics.clauses()
                  if not library.is_global(generics, this) for bound in bounds
                  if bound.startswith("'") or library.kind.get(re.split("[<(]", bound)[0]) == "trait" or bound in ASSUMED]
        where = f" where {', '.join(bounds)}" if bounds else ""
        if allocator:
            shown.append("Global")
        word = "unsized" if name in unsized else "type"
        lines.append(f"{word} {library.definition[name]} {applied(name, shown)}{where}")
    return lines



def const_param(generics, param):
    match = re.search(rf"const {param}: (\w+)", generics.text)
    return match[0]


# ---------------------------------------------------------------- impls

def full_types(text):
    """The text with a lifetime for each reference, and `'static` for each trait object without one."""
    text = re.sub(r"&(?!')", "&'_ ", text)
    out, at = "", 0
    for match in re.finditer(r"\bdyn ", text):
        depth, end = 0, match.end()
        while end < len(text) and not (depth == 0 and text[end] in ",>)"):
            depth += text[end] in "<(["
            depth -= text[end] in ">)]"
            end += 1
        principal, *others = split(text[match.end():end], "+")
        others.sort(key=lambda bound: (bound.startswith("'"), bound))
        if not any(bound.startswith("'") for bound in [principal, *others]):
            others.append("'static")
        out += text[at:match.end()] + " + ".join([principal, *others])
        at = end
    return out + text[at:]


class Impl:
    """An impl in terms of the standard parameter names; `conditions` are pairs of a type and a bound."""

    def __init__(self, of, this, conditions, values):
        self.of, self.this, self.conditions, self.values = of, this, conditions, values

    def trait(self):
        return self.of.split("<")[0]


def impls(library, header, values):
    """The impls that a header states: one for each choice of which default arguments are left out."""
    text = full_types(library.resolve(header).replace("unsafe impl", "impl").removeprefix("impl"))
    params, rest = bracketed(text)
    head, *where = split(rest, " where ")
    of, *this = split(head, " for ")
    if len(this) != 1 or of.startswith("!") or "(" in of.split("<")[0]:
        return
    generics = Generics(params, where[0] if where else "")
    trait, this = of.split("<")[0], this[0]
    if library.kind.get(trait) != "trait" or trait.split("::")[-1] in SKIPPED_TRAITS:
        return
    number = re.fullmatch(r"(&'\w+ (mut )?)?([iu](8|16|32|64|128|size)|f32|f64|bool|std::num::\w+<.*>)", this)
    if number and OPERATORS.search(trait):
        return
    values = [(item, full_types(library.resolve(value.split(" where ")[0]).removeprefix("= ").strip())) for item, value in values]
    own = {f"Self::{item}": value for item, value in values}
    values = [(item, re.sub(r"Self::\w+", lambda m: own.get(m[0], m[0]), value)) for item, value in values if not item.startswith("<")]
    values = [(item, re.sub(r"<Self as", f"<{this} as", re.sub(r"\bSelf\b(?! as)", this, value))) for item, value in values]
    conditions = [(name, bound) for name, bounds in generics.clauses() for bound in bounds]
    dropped = [{name for name, _ in generics.params if generics.is_allocator(name)} | library.allocators(this)]
    for name, other in library.generics.items():
        for param, default in other.defaults.items() if name in this else ():
            if default.endswith("::Global") or library.kind[name] == "trait":
                continue
            allocated = "|".join(dropped[0]) or "-"
            match = re.search(rf"{name}<(?:[^<>]*, )?(\w+)>", re.sub(rf", ({allocated})(?=>)", "", this))
            if match and match[1] in dict(generics.params) and [p for p, _ in library.params(name)][-1] == param:
                dropped.append(dropped[0] | {match[1]})
    for gone in dropped:
        made = instance(library, generics, of, this, conditions, values, gone)
        if made:
            yield made
            yield from of_itself(library, made)


def instance(library, generics, of, this, conditions, values, gone):
    def without(text):
        for name in gone:
            text = re.sub(rf", {name}(?=[,>])", "", text)
        return text.replace(", std::alloc::Global>", ">")

    of, this = without(of), without(this)
    values = [(item, without(value)) for item, value in values]
    kept = []
    for subject, bound in conditions:
        name = bound.split("<")[0]
        if subject in gone or bound.startswith(("'", "?")) or name in ASSUMED:
            continue
        if library.kind.get(name) != "trait" or "(" in bound or " = " in bound or "Searcher" in subject:
            return None
        kept.append((without(subject), without(bound)))
    used = set(re.findall(r"'?[A-Za-z_]\w*", f"{of} {this}"))
    kinds = dict(generics.params)
    if used & gone or any(kind == "type" and name not in used | gone for name, kind in kinds.items()):
        return None
    if len(of) + len(this) > 300:
        return None
    if any(name not in library.kind for name in re.findall(r"\b(?:std|alloc|core)(?:::\w+)+(?=<|>|,|\)|\]| |$)", f"{of} {this}")):
        return None
    for name, kind in kinds.items():
        if kind == "type" and name not in gone and not is_maybe_unsized(generics, name) and library.allows_unsized(this, name):
            kept.append((name, "std::marker::Sized"))
    try:
        mapping = rename(generics, f"{this} {of}")
    except StopIteration:
        return None
    # The other values of an impl for every type would be those of types with an impl of their own, too.
    values = [] if this in kinds and of.split("<")[0] != "std::convert::TryInto" else values
    named = lambda text: words(text, mapping)
    return Impl(named(of), named(this), list(dict.fromkeys((named(a), named(b)) for a, b in kept)),
                [(item, named(value)) for item, value in values])


def of_itself(library, one):
    """The impl for equal arguments, where the argument of the trait is the self type by default: `PartialEq<[U]> for [T]`
    as `PartialEq for [T]`."""
    trait, (arg, rest) = one.trait(), bracketed(one.of[len(one.trait()):])
    if "Self" not in library.generics[trait].defaults.values() or rest or not arg:
        return
    used = [name for name in TYPES if re.search(rf"\b{name}\b", one.this)]
    added = [name for name in TYPES if re.search(rf"\b{name}\b", arg) and name not in used]
    same = lambda text: words(text, dict(zip(added, used)))
    if len(added) <= len(used) and same(arg) == one.this:
        bound = lambda a, b: b.split("<")[0] if b == f"{b.split('<')[0]}<{a}>" else b
        conditions = [(same(a), bound(same(a), same(b))) for a, b in one.conditions]
        yield Impl(trait, one.this, list(dict.fromkeys(conditions)), [(item, same(value)) for item, value in one.values])


def all_impls(library):
    files = [library.docs.pages[name][1] for name in library.of_kind("struct", "enum", "union", "trait")]
    files += [library.docs.root / "std" / f"primitive.{name}.html" for name in PRIMITIVES]
    found = {}
    for file in files:
        for header, values in library.docs.impls(file):
            for one in impls(library, header, values):
                found[one.of, one.this] = one
    return [found[key] for key in sorted(found)]


CANONICAL = "'a, 'b, 'c, T: 'a + 'b, U: 'a + 'b, V: 'a + 'b, W: 'a + 'b, X: 'a + 'b, const N: usize, const M: usize"


def clause(library, one):
    """The conditions of an impl, and those of the type that it is for, which hold wherever the type is written."""
    conditions = [f"{a}: {b}" for a, b in one.conditions]
    for name, args in re.findall(r"((?:std|alloc|core)(?:::\w+)+)<([^<>]*)>", one.this):
        generics = library.generics.get(name)
        args = dict(zip((p for p, _ in library.params(name)), split(args, ","))) if generics else {}
        for this, bounds in generics.clauses() if generics else []:
            bounds = [bound for bound in bounds if bound.startswith("'") or bound in ASSUMED or library.kind.get(re.split("[<(]", bound)[0])]
            if bounds and not library.is_global(generics, this):
                conditions.append(words(f"{this}: {' + '.join(bounds)}", args))
    if "'static" in one.this + one.of:
        conditions.append("T: 'static")
    if re.match(r"std::ops::Fn(Mut|Once)?<", one.of):
        conditions.append("U: std::marker::Tuple")
    return ", ".join(dict.fromkeys(conditions)).replace("'_", "'a")



def named_default(library, one):
    """The trait of an impl, applied to the self type where that is the default."""
    default = library.generics[one.of].defaults if one.of in library.generics else {}
    return f"{one.of}<{one.this}>" if "Self" in default.values() else one.of


def checked(library, probe):
    """The impls that rustc accepts, each with those of its associated types that rustc agrees with."""
    found = all_impls(library)
    functions, owners = [], []
    for one in found:
        where = clause(library, one)
        of = named_default(library, one).replace("'_", "'a")
        tuples = "U: std::marker::Tuple" if "U: std::marker::Tuple" in where else ""
        functions.append(f"fn f{len(functions)}<{CANONICAL}>() where {where} {{ "
                         f"fn is<{CANONICAL}, Y: ?Sized + {of}>() where {tuples} {{}} is::<T, U, V, W, X, N, M, {one.this}>() }}")
        owners.append((one, None))
        for item, value in one.values:
            functions.append(f"fn f{len(functions)}<{CANONICAL}>(x: *const <{one.this} as {of}>::{item}) "
                             f"-> *const {value} where {where} {{ x }}")
            owners.append((one, (item, value)))
    accepted = probe.accepted(functions)
    for one in found:
        one.values = []
    good = []
    for index, (one, value) in enumerate(owners):
        if index in accepted and value is None:
            good.append(one)
        elif index in accepted:
            one.values.append(value)
    return good


# ---------------------------------------------------------------- the table

def short_traits(library):
    """The last part of the path of each trait, where only one trait has it."""
    count = defaultdict(list)
    for name in library.of_kind("trait"):
        count[name.split("::")[-1]].append(name)
    return {names[0]: short for short, names in count.items() if len(names) == 1}


def trait_lines(library, short):
    for name in library.of_kind("trait"):
        generics = library.generics[name]
        if name.split("::")[-1] in SKIPPED_TRAITS:
            continue
        mapping = rename(generics, " ".join(p for p, _ in generics.params))
        params = [mapping[p] + (f" = {d}" if (d := generics.defaults.get(p)) else "") for p, _ in generics.params]
        above = [words(bound, mapping) for bound in generics.above
                 if bound == "'static" or library.kind.get(bound.split("<")[0]) == "trait"]
        word = "auto" if " auto trait " in generics.text else "trait"
        yield f"{word} {library.definition[name]} {applied(name, params)}" + (f": {' + '.join(above)}" if above else "")
        for piece in split(generics.text.partition("{")[2].rstrip("} "), ";"):
            found = re.search(r"(?:^|[ }])type (\w+)(?:: (.*))?$", split(piece, " = ")[0])
            bounds = split(found[2] or "", "+") if found else []
            bounds = [b for b in bounds if b[0] == "?" or library.kind.get(b.split("<")[0]) == "trait"]
            bounds = [b.replace("Self::", f"{name}::") for b in bounds]
            if found:
                yield f"item {name}::{found[1]}" + (f": {' + '.join(bounds)}" if bounds else "")


def alias_lines(library):
    for name in library.of_kind("type"):
        generics = library.generics[name]
        if ALIASES.match(name.split("::")[-1]):
            target = full_types(generics.text.split(" = ", 1)[1].split(";")[0])
            mapping = rename(generics, " ".join(p for p, _ in generics.params))
            yield (f"alias {library.definition[name]} {applied(name, [mapping[p] for p, _ in generics.params])}"
                   f" = {words(target, mapping)}")


def impl_lines(found):
    groups, values = defaultdict(list), []
    for one in found:
        conditions = tuple(f"{this}: {'_' if bound == one.of else bound}" for this, bound in one.conditions)
        groups[one.this, conditions].append(one.of)
        for item, value in one.values:
            where = ", ".join(map(": ".join, one.conditions))
            values.append(f"value <{one.this} as {one.of}>::{item} = {value}" + (f" where {where}" if where else ""))
    for (this, conditions), traits in sorted(groups.items()):
        yield f"impl {' | '.join(traits)} for {this}" + (f" where {', '.join(conditions)}" if conditions else "")
    yield from values


def table(version):
    root = Path(subprocess.run([RUSTC, "--print", "sysroot"], capture_output=True, text=True).stdout.strip())
    docs = Docs(root / "share/doc/rust/html")
    with tempfile.TemporaryDirectory() as folder:
        library = Library(docs, Path(folder))
        probe = Probe(Path(folder))
        short = short_traits(library)
        lines = type_lines(library, probe) + list(trait_lines(library, short)) + list(alias_lines(library))
        lines += impl_lines(checked(library, probe))
    pattern = re.compile(r"\b(?:std|alloc|core)(?:::\w+)+")

    def shorten(line):
        if line.startswith(("trait", "auto", "item")):
            head, colon, rest = line.partition(": ")
            return head + colon + pattern.sub(lambda m: short.get(m[0], m[0]), rest)
        return pattern.sub(lambda m: short.get(m[0], m[0]), line)

    header = f"# Generated by `python3 tools/std_facts.py` from the documentation and the answers of {version}.\n"
    return header + "\n".join(map(shorten, lines)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the table instead of writing it")
    args = parser.parse_args()
    version = subprocess.run([RUSTC, "--version"], capture_output=True, text=True).stdout.strip()
    text = table(version)
    if not args.check:
        TABLE.write_text(text)
    elif TABLE.read_text() != text:
        sys.exit(f"{TABLE} differs from what `python3 tools/std_facts.py` writes with {version}")


if __name__ == "__main__":
    main()
