#!/usr/bin/env python3
"""Generate crates/rust-api/src/std_facts/std.txt: types, traits and impls of the standard library.

    python3 tools/facts/std_facts.py            # write the table
    python3 tools/facts/std_facts.py --check    # fail if the table differs from what this script generates

Needs the component `rust-docs`. Stable toolchains do not have the rustdoc JSON of the standard library (`rust-docs-json`
is a component of nightly toolchains), so the script reads the declarations and impl headers of all stable items from
the pages. It looks up the path of each definition in the rustdoc JSON of a crate that re-exports all items. Probe
functions, which rustc accepts or rejects, determine the variance of each parameter, whether a type is sized, and
whether each impl and each associated type of the table holds. Rejected lines are omitted.
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

TABLE = Path(__file__).resolve().parents[2] / "crates/rust-api/src/std_facts/std.txt"
RUSTC = os.environ.get("RUSTC", "rustc")
CRATES = ["std", "alloc", "core"]
KINDS = ("struct", "enum", "union", "trait", "type")
FEATURES = (
    "allocator_api, fn_traits, never_type, nonzero_internals, pattern, slice_index_methods, step_trait, tuple_trait, "
    "unboxed_closures"
)
PATH = re.compile(r"\b(?:std|alloc|core)(?:::\w+)+")
APPLIED = re.compile(r"\b((?:std|alloc|core)(?:::\w+)+)<([^<>]*)>")
ITEM = re.compile(PATH.pattern + r"(?=<|>|,|\)|\]| |$)")
GENERICS = "'a, 'b, 'c, T: 'a + 'b, U: 'a + 'b, V: 'a + 'b, W: 'a + 'b, X: 'a + 'b, const N: usize, const M: usize"
SIZED, MAYBE_UNSIZED = "std::marker::Sized", "?std::marker::Sized"
# Unstable traits that conditions of stable impls name.
NEEDED = {"std::iter::Step", "std::str::pattern::Pattern", "core::iter::Step", "core::str::pattern::Pattern"}
TYPES, REGIONS, CONSTS = ["T", "U", "V", "W", "X"], ["'a", "'b", "'c"], ["N", "M"]

# Modules of one platform, or of compiler internals.
SKIPPED_MODULES = ("arch", "simd", "os", "intrinsics", "autodiff", "f16", "f128", "prelude")
# Internal traits whose pages are not marked as unstable.
SKIPPED_TRAITS = {"Freeze", "UnsafeUnpin", "StructuralPartialEq", "CloneToUninit", "UseCloned", "Allocator", "Pointee"}
# The rules for arithmetic between numbers are part of the crate; one line for each pair of types would be 3,000 lines.
OPERATORS = re.compile(r"(Add|Sub|Mul|Div|Rem|BitAnd|BitOr|BitXor|Shl|Shr)(Assign)?$|(Neg|Not|Sum|Product|TryFrom)$")
# Aliases that are expanded: those of `Result`, and C types that are the same on every platform.
ALIASES = re.compile(r".*Result$|c_(schar|uchar|short|ushort|longlong|ulonglong|float|double)$")
NUMBER = re.compile(r"(&'\w+ (mut )?)?([iu](8|16|32|64|128|size)|f32|f64|bool|std::num::\w+<.*>)")
# Bounds that hold for every argument that a signature can have.
ASSUMED = {"std::marker::Destruct", "std::marker::Tuple", "std::num::ZeroablePrimitive"}
# Primitive types with pages. Tuples and function pointers are rules of the crate.
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
    pattern = r"(?<![\w:'])'?[A-Za-z_]\w*(?!\w|::[a-z])"
    return re.sub(pattern, lambda m: mapping.get(m[0], m[0]), text)


def plain(page):
    """The text of a piece of a page, with full paths for linked names."""

    def link(match):
        title = re.search(r'title="([^"]*)"', match[1])
        if not title or "primitive" in match[1]:
            return match[2]
        kind, _, path = title[1].rpartition(" ")
        if 'class="associatedtype"' in match[1]:
            return f"@{path}@"
        return path if kind in KINDS else match[2]

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

def run(program, arguments):
    """Run a program of the toolchain with unstable features."""
    environment = {**os.environ, "RUSTC_BOOTSTRAP": "1"}
    arguments = [program, "--edition", "2024", "--cap-lints", "allow", *arguments]
    return subprocess.run(arguments, env=environment, capture_output=True, text=True)


class Docs:
    """The pages of the standard library: its items by public path, with the text of their pages."""

    def __init__(self, root):
        self.root, self.pages = root, {}
        for crate in CRATES:
            listing = (root / crate / "all.html").read_text()
            for file, name in re.findall(r'<li><a href="([^"]*)">([^<]*)</a></li>', listing):
                kind = file.rpartition("/")[2].split(".")[0]
                if kind in KINDS and name.split("::")[0] not in SKIPPED_MODULES:
                    self.pages[f"{crate}::{name}"] = (kind, root / crate / file)

    def definitions(self, folder):
        """Public paths by the path of the definition, from the rustdoc JSON of a crate that re-exports everything."""
        names = sorted(name for name in self.pages if name in NEEDED or not self.features(name))
        source = "\n".join(f"pub use ::{name} as X{at};" for at, name in enumerate(names))
        (folder / "names.rs").write_text(f"#![feature({FEATURES})]\nextern crate alloc;\n" + source)
        options = ["-Zunstable-options", "--output-format", "json", "-o", folder, folder / "names.rs"]
        done = run(os.environ.get("RUSTDOC", "rustdoc"), options)
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
    """The stable items by preferred public path, with their declarations."""

    def __init__(self, docs, folder):
        self.docs, self.folder = docs, folder
        definitions = docs.definitions(folder)
        preferred = {}

        def preference(name):
            return CRATES.index(name.split("::")[0]), name.count("::"), name

        for name in sorted(definitions, key=preference):
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
        return PATH.sub(lambda m: self.public.get(m[0], m[0]), text)

    def of_kind(self, *kinds):
        return sorted(name for name, kind in self.kind.items() if kind in kinds)

    def params(self, name):
        """The parameters of a type other than its allocator."""
        generics = self.generics[name]
        return [(p, kind) for p, kind in generics.params if not self.is_global(generics, p)]

    def allocators(self, text):
        """The arguments of types in a text that are allocators."""
        found = set()
        for name, args in APPLIED.findall(text):
            generics = self.generics.get(name)
            params = generics.params if generics else []
            found |= {arg for (param, _), arg in zip(params, split(args, ",")) if self.is_global(generics, param)}
        return found

    def allows_unsized(self, text, param):
        """Whether a type stays a type with an unsized type for one of its parameters."""
        if text == param or re.search(rf"(&'\w+ (mut )?|\*const |\*mut ){param}\b", text):
            return True
        for name, args in APPLIED.findall(text):
            generics = self.generics.get(name)
            for (own, _), arg in zip(generics.params if generics else [], split(args, ",")):
                if arg == param and is_maybe_unsized(generics, own):
                    return True
        return False

    def is_global(self, generics, param):
        return generics.is_allocator(param) or generics.defaults.get(param, "").endswith("::Global")

    def is_bound(self, bound):
        """Whether the table can contain a bound: a lifetime, a stable trait, or a bound that always holds."""
        return bound.startswith("'") or bound in ASSUMED or self.kind.get(re.split("[<(]", bound)[0]) == "trait"

    def bounds(self, name):
        """The bounds of the parameters of a type, without its allocator."""
        generics = self.generics[name]
        for this, bounds in generics.clauses():
            bounds = [bound for bound in bounds if self.is_bound(bound)]
            if bounds and not self.is_global(generics, this):
                yield this, bounds


def is_maybe_unsized(generics, param):
    return MAYBE_UNSIZED in generics.bounds[param]


def kind_of(text):
    return next((word for word in text.split() if word in KINDS), None)


def rename(generics, text):
    """Standard names for parameters, in the order of first use in a text; `None` if there are too many parameters."""
    names = {"type": iter(TYPES), "region": iter(REGIONS), "const": iter(CONSTS)}
    mapping, kinds = {}, dict(generics.params)
    for word in re.findall(r"'?[A-Za-z_]\w*", text) + list(kinds):
        if word in kinds and word not in mapping:
            mapping[word] = next(names[kinds[word]], None)
    return None if None in mapping.values() else mapping


class Probe:
    """Functions that compile or not, in one crate."""

    def __init__(self, folder):
        self.folder = folder

    def accepted(self, functions):
        """The indices of the functions that rustc accepts. Each contains `{n}` in place of a number for its name.

        The rejected functions are removed until rustc succeeds, because its later phases run only without errors.
        """
        left = dict(enumerate(functions))
        while left:
            lines, owner = [f"#![feature({FEATURES})]", "#![allow(warnings)]", "extern crate alloc;"], {}
            for index, function in left.items():
                lines.append(function.replace("{n}", str(index)))
                owner[len(lines)] = index
            file = self.folder / "probe.rs"
            file.write_text("\n".join(lines) + "\n")
            options = ["--crate-type", "lib", "--emit", "metadata", "--error-format", "json"]
            done = run(RUSTC, [*options, "-o", self.folder / "probe.rmeta", file])
            errors = [message for message in map(json.loads, done.stderr.splitlines()) if message.get("level") == "error"]
            spans = [span for error in errors for span in error["spans"] if span["is_primary"]]
            rejected = {owner[span["line_start"]] for span in spans if span["line_start"] in owner}
            if not rejected:
                if done.returncode:
                    sys.exit(done.stderr)
                return set(left)
            for index in rejected:
                del left[index]
        return set()


# ---------------------------------------------------------------- types

def applied(name, args):
    return f"{name}<{', '.join(args)}>" if args else name


def const_param(generics, param):
    return re.search(rf"const {param}: (\w+)", generics.text)[0]


def variance_probe(library, name, param, left, right):
    """A function that compiles if a type with `left` for a parameter is a subtype of the type with `right`."""
    generics, params = library.generics[name], library.params(name)
    sides, clauses = [], []
    for own in (left, right):
        sides.append(applied(name, [own if p == param else p for p, _ in params]))
        for this, bounds in library.bounds(name):
            clause = words(f"{this}: {' + '.join(bounds)}", {param: own})
            # Two clauses that differ in a lifetime would be ambiguous.
            if own.startswith("&") and own in clause:
                clause = "for<'x> " + clause.replace(own, "&'x Probed")
            clauses.append(clause)
    others = [const_param(generics, p) if kind == "const" else p for p, kind in params if p != param]
    others.sort(key=lambda p: not p.startswith("'"))
    regions = [p for p in others if p.startswith("'")]
    head = ", ".join(["'l: 's", "'s", *regions, "Probed", *others[len(regions):]])
    where = ", ".join(dict.fromkeys(clauses))
    return f"fn f{{n}}<{head}>(x: *const {sides[0]}) -> *const {sides[1]} where {where} {{ x }}"


def variances(library, probe, names):
    """Signs by type and parameter."""
    probed, functions = [], []
    for name in names:
        for param, kind in library.params(name):
            if kind == "const":
                continue
            long, short = ("'l", "'s") if kind == "region" else ("&'l Probed", "&'s Probed")
            probed.append((name, param))
            functions.append(variance_probe(library, name, param, long, short))
            functions.append(variance_probe(library, name, param, short, long))
    accepted = probe.accepted(functions)
    signs = {(True, False): "+", (False, True): "-"}
    answers = [(2 * index in accepted, 2 * index + 1 in accepted) for index in range(len(probed))]
    return {key: signs.get(answer, "=") for key, answer in zip(probed, answers)}


def unsized_types(library, probe, names):
    """The types that are unsized, those with parameters if the last argument is unsized."""
    functions = []
    for name in names:
        params = [param for param, _ in library.params(name)]
        is_maybe = params and is_maybe_unsized(library.generics[name], params[-1])
        args = params[:-1] + ["[u8]"] if is_maybe else params
        generics = ", ".join(arg for arg in args if arg != "[u8]") if is_maybe else ""
        # A type that is sized for all arguments needs no probe.
        argument = applied(name, args) if is_maybe or not params else "u8"
        functions.append(f"fn f{{n}}<{generics}>(x: {argument}) {{}}")
    accepted = probe.accepted(functions)
    return {name for index, name in enumerate(names) if index not in accepted}


def type_lines(library, probe):
    """A line for each type: variances, defaults and bounds."""
    names = library.of_kind("struct", "enum", "union")
    signs = variances(library, probe, names)
    unsized = unsized_types(library, probe, names)
    for name in names:
        generics, params = library.generics[name], library.params(name)
        mapping = rename(generics, " ".join(p for p, _ in params))
        shown = []
        for at, (param, kind) in enumerate(params):
            default = generics.defaults.get(param, "")
            # A default that depends on another parameter stays unknown.
            if any(re.search(rf"\b{other}\b", default) for other in mapping):
                default = ""
            tail = "?" if name in unsized and at == len(params) - 1 else ""
            text = "const " + mapping[param] if kind == "const" else signs[name, param] + tail + mapping[param]
            shown.append(text + (f" = {words(default, mapping)}" if default else ""))
        if any(library.is_global(generics, p) for p, _ in generics.params):
            shown.append("Global")
        clauses = [(this, bound) for this, bounds in library.bounds(name) for bound in bounds]
        where = ", ".join(f"{words(this, mapping)}: {words(bound, mapping)}" for this, bound in clauses)
        word = "unsized" if name in unsized and not params else "type"
        yield f"{word} {library.definition[name]} {applied(name, shown)}" + (f" where {where}" if where else "")


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
    """An impl with standard parameter names; `conditions` are pairs of a type and a bound."""

    def __init__(self, of, this, conditions, values):
        self.of, self.this, self.conditions, self.values = of, this, list(dict.fromkeys(conditions)), values

    def trait(self):
        return self.of.split("<")[0]


def impls(library, header, values):
    """The impls of a header: one for each choice of omitted default arguments."""
    params, rest = bracketed(full_types(library.resolve(header).replace("unsafe impl", "impl").removeprefix("impl")))
    head, *where = split(rest, " where ")
    of, *this = split(head, " for ")
    trait = of.split("<")[0]
    if len(this) != 1 or library.kind.get(trait) != "trait" or trait.split("::")[-1] in SKIPPED_TRAITS:
        return
    this = this[0]
    if NUMBER.fullmatch(this) and OPERATORS.search(trait):
        return
    generics = Generics(params, where[0] if where else "")
    values = own_values(library, this, values)
    for omitted in omissions(library, generics, this):
        one = instance(library, generics, of, this, values, omitted)
        if one:
            yield one
            yield from with_default_argument(library, one)


def own_values(library, this, values):
    """The values of associated types without `Self`."""
    values = [(item, value.split(" where ")[0].removeprefix("= ").strip()) for item, value in values]
    values = [(item, full_types(library.resolve(value))) for item, value in values if not item.startswith("<")]
    items = {f"Self::{item}": value for item, value in values}

    def without_self(value):
        value = re.sub(r"Self::\w+", lambda m: items.get(m[0], m[0]), value)
        return re.sub(r"\bSelf\b(?! as)", this, value).replace("<Self as", f"<{this} as")

    return [(item, without_self(value)) for item, value in values]


def omissions(library, generics, this):
    """The sets of parameters to omit: the allocators, alone and with each default argument that is a parameter."""
    allocators = {name for name, _ in generics.params if generics.is_allocator(name)} | library.allocators(this)
    yield allocators
    without_allocators = re.sub(rf", ({'|'.join(allocators) or '-'})(?=>)", "", this)
    for name, args in APPLIED.findall(without_allocators):
        params = library.params(name) if name in library.generics else []
        last = split(args, ",")[-1] if args else ""
        if params and params[-1][0] in library.generics[name].defaults and last in dict(generics.params):
            yield allocators | {last}


def instance(library, generics, of, this, values, omitted):
    """An impl without some parameters; `None` if the table cannot express it."""

    def without(text):
        for name in omitted:
            text = re.sub(rf", {name}(?=[,>])", "", text)
        return text.replace(", std::alloc::Global>", ">")

    of, this = without(of), without(this)
    conditions = []
    for subject, bounds in generics.clauses():
        for bound in bounds:
            name = bound.split("<")[0]
            if subject in omitted or bound.startswith(("'", "?")) or name in ASSUMED:
                continue
            # Conditions on functions and on generic associated types.
            if library.kind.get(name) != "trait" or "(" in bound or " = " in bound or "Searcher" in subject:
                return None
            conditions.append((without(subject), without(bound)))
    used = set(re.findall(r"'?[A-Za-z_]\w*", f"{of} {this}"))
    types = [name for name, kind in generics.params if kind == "type" and name not in omitted]
    is_stable = all(name in library.kind for name in ITEM.findall(f"{of} {this}"))
    if used & omitted or not used.issuperset(types) or not is_stable or len(of) + len(this) > 300:
        return None
    for name in types:
        if not is_maybe_unsized(generics, name) and library.allows_unsized(this, name):
            conditions.append((name, SIZED))
    mapping = rename(generics, f"{this} {of}")
    if mapping is None:
        return None
    if this in types and of.split("<")[0] != "std::convert::TryInto":
        # The value of a blanket impl would hide those of other impls.
        values = []

    def named(text):
        return words(text, mapping)

    values = [(item, named(without(value))) for item, value in values]
    return Impl(named(of), named(this), [(named(a), named(b)) for a, b in conditions], values)


def with_default_argument(library, one):
    """`PartialEq for [T]` from `PartialEq<[U]> for [T]`, because the default argument is the self type."""
    trait = one.trait()
    arg, _ = bracketed(one.of[len(trait):])
    if not arg or "Self" not in library.generics[trait].defaults.values():
        return
    used = [name for name in TYPES if re.search(rf"\b{name}\b", one.this)]
    added = [name for name in TYPES if re.search(rf"\b{name}\b", arg) and name not in used]
    mapping = dict(zip(added, used))
    if len(added) <= len(used) and words(arg, mapping) == one.this:
        conditions = []
        for subject, bound in one.conditions:
            subject, bound = words(subject, mapping), words(bound, mapping)
            name = bound.split("<")[0]
            conditions.append((subject, name if bound == f"{name}<{subject}>" else bound))
        yield Impl(trait, one.this, conditions, [(item, words(value, mapping)) for item, value in one.values])


def all_impls(library):
    files = [library.docs.pages[name][1] for name in library.of_kind("struct", "enum", "union", "trait")]
    files += [library.docs.root / "std" / f"primitive.{name}.html" for name in PRIMITIVES]
    found = {}
    for file in files:
        for header, values in library.docs.impls(file):
            for one in impls(library, header, values):
                found[one.of, one.this] = one
    return [found[key] for key in sorted(found)]


def clause(library, one):
    """The conditions of an impl, and those of its self type, which hold wherever the type is written."""
    conditions = [f"{a}: {b}" for a, b in one.conditions]
    for name, args in APPLIED.findall(one.this):
        if name in library.generics:
            args = dict(zip((p for p, _ in library.params(name)), split(args, ",")))
            conditions += [words(f"{this}: {' + '.join(bounds)}", args) for this, bounds in library.bounds(name)]
    if "'static" in one.this + one.of:
        conditions.append("T: 'static")
    return ", ".join(dict.fromkeys(conditions)).replace("'_", "'a")


def checked(library, probe):
    """The impls that rustc accepts, each with the accepted values of its associated types."""
    found = all_impls(library)
    functions, owners = [], []
    for one in found:
        default = library.generics[one.of].defaults.values() if one.of in library.generics else []
        of = (f"{one.of}<{one.this}>" if "Self" in default else one.of).replace("'_", "'a")
        tuples = "U: std::marker::Tuple" if re.match(r"std::ops::Fn(Mut|Once)?<", of) else ""
        where = ", ".join(filter(None, [clause(library, one), tuples]))
        functions.append(
            f"fn f{{n}}<{GENERICS}>() where {where} {{ fn is<{GENERICS}, Y: ?Sized + {of}>() where {tuples} {{}} "
            f"is::<T, U, V, W, X, N, M, {one.this}>() }}"
        )
        owners.append((one, None))
        for item, value in one.values:
            projection = f"<{one.this} as {of}>::{item}"
            functions.append(f"fn f{{n}}<{GENERICS}>(x: *const {projection}) -> *const {value} where {where} {{ x }}")
            owners.append((one, (item, value)))
        one.values = []
    accepted = [owners[index] for index in sorted(probe.accepted(functions))]
    for one, value in accepted:
        if value:
            one.values.append(value)
    return [one for one, value in accepted if not value]


# ---------------------------------------------------------------- the table

def short_traits(library):
    """The last segment of the path of each trait, if no other trait has it."""
    paths = defaultdict(list)
    for name in library.of_kind("trait"):
        paths[name.split("::")[-1]].append(name)
    return {names[0]: short for short, names in paths.items() if len(names) == 1}


def trait_lines(library):
    for name in library.of_kind("trait"):
        if name.split("::")[-1] in SKIPPED_TRAITS:
            continue
        generics = library.generics[name]
        mapping = rename(generics, "")
        params = [mapping[p] + (f" = {d}" if (d := generics.defaults.get(p)) else "") for p, _ in generics.params]
        is_known = lambda bound: bound[0] in "?'" or library.kind.get(bound.split("<")[0]) == "trait"
        above = " + ".join(words(bound, mapping) for bound in generics.above if is_known(bound))
        word = "auto" if " auto trait " in generics.text else "trait"
        yield f"{word} {library.definition[name]} {applied(name, params)}" + (f": {above}" if above else "")
        for piece in split(generics.text.partition("{")[2].rstrip("} "), ";"):
            found = re.search(r"(?:^|[ }])type (\w+)(?:: (.*))?$", split(piece, " = ")[0])
            if found:
                bounds = " + ".join(filter(is_known, split(found[2] or "", "+"))).replace("Self::", f"{name}::")
                yield f"item {name}::{found[1]}" + (f": {bounds}" if bounds else "")


def alias_lines(library):
    for name in library.of_kind("type"):
        generics = library.generics[name]
        if ALIASES.match(name.split("::")[-1]):
            target = full_types(generics.text.split(" = ", 1)[1].split(";")[0])
            mapping = rename(generics, "")
            alias = applied(name, [mapping[p] for p, _ in generics.params])
            yield f"alias {library.definition[name]} {alias} = {words(target, mapping)}"


def impl_lines(found):
    """A line for all traits with the same self type and conditions, and a line for each associated type."""
    groups, values = defaultdict(list), []
    for one in found:
        conditions = tuple(f"{this}: {'_' if bound == one.of else bound}" for this, bound in one.conditions)
        groups[one.this, conditions].append(one.of)
        where = ", ".join(map(": ".join, one.conditions))
        for item, value in one.values:
            values.append(f"value <{one.this} as {one.of}>::{item} = {value}" + (f" where {where}" if where else ""))
    for (this, conditions), traits in sorted(groups.items()):
        yield f"impl {' | '.join(traits)} for {this}" + (f" where {', '.join(conditions)}" if conditions else "")
    yield from values


def table(version):
    sysroot = subprocess.run([RUSTC, "--print", "sysroot"], capture_output=True, text=True).stdout.strip()
    pages = Path(sysroot) / "share/doc/rust/html"
    if not pages.is_dir():
        sys.exit("the component `rust-docs` is not installed")
    with tempfile.TemporaryDirectory() as folder:
        library, probe = Library(Docs(pages), Path(folder)), Probe(Path(folder))
        short = short_traits(library)
        lines = [*type_lines(library, probe), *trait_lines(library), *alias_lines(library)]
        lines += impl_lines(checked(library, probe))

    def shorten(line):
        # A declaration contains the full path.
        head, colon, rest = line.partition(": ") if line.startswith(("trait", "auto", "item")) else ("", "", line)
        return head + colon + PATH.sub(lambda m: short.get(m[0], m[0]), rest)

    header = f"# Generated by `python3 tools/facts/std_facts.py` from the documentation and the answers of {version}."
    return "\n".join([header, *map(shorten, lines), ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the table instead of writing it")
    version = subprocess.run([RUSTC, "--version"], capture_output=True, text=True).stdout.strip()
    check = parser.parse_args().check
    text = table(version)
    if not check:
        TABLE.write_text(text)
    elif TABLE.read_text() != text:
        sys.exit(f"{TABLE} differs from what `python3 tools/facts/std_facts.py` writes with {version}")


if __name__ == "__main__":
    main()
