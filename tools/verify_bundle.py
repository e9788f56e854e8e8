#!/usr/bin/env python3
"""Verifies and prints a bundle of types, from docs/bundle-format.md alone.

Usage: verify_bundle.py [--quiet] FILE...

Needs nothing but the standard library and the `blake3` package. Exit code 0: every file is a valid bundle;
1: some file is not (the reason and the offset are printed); 2: wrong usage or an unreadable file.

Everything that can be told from the bundle alone is checked. Types that a thin bundle leaves out are taken on trust,
sorts and variables included.
"""

import itertools
import sys
import unicodedata

try:
    from blake3 import blake3
except ImportError:
    sys.stderr.write("verify_bundle.py needs the `blake3` package (pip install blake3)\n")
    sys.exit(2)

PRIMITIVES = dict(enumerate(
    "unit bool char str bytes int float byte never any duration size ordering error".split(), 1))
PRIMITIVES.update(enumerate(
    "i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f16 bf16 f32 f64 f128 complex64 complex128 f8e4m3fn "
    "f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 f6e2m3 f6e3m2 f4e2m1 i4 u4 i2 u2".split(), 16))

# tag: (kind, fixed words, repeated words, least repetitions)
KINDS = {number: (name, "", "", 0) for number, name in PRIMITIVES.items()}
KINDS.update({
    64: ("list", "T", "", 0), 65: ("option", "T", "", 0), 66: ("set", "T", "", 0), 67: ("channel", "T", "", 0),
    68: ("range", "T", "", 0), 69: ("iterator", "T", "", 0), 70: ("double_ended_iterator", "T", "", 0),
    72: ("map", "TT", "", 0), 73: ("result", "TT", "", 0), 80: ("borrowed", "TR", "", 0),
    81: ("function", "T", "T", 0), 82: ("tuple", "", "T", 0), 83: ("struct", None, None, 0),
    84: ("enum", None, None, 0), 85: ("applied", "N", "*", 0), 86: ("opaque", "N", "", 0),
    87: ("declared", "NT", "#", 0), 88: ("instance", "T", "*", 0), 89: ("named", "N", "", 0),
    90: ("scheme", "T", "#", 1), 91: ("bound", "###", "", 0), 93: ("rigid", "N", "", 0), 96: ("lifetime", "N", "", 0),
    100: ("tensor", "T", "C", 0), 101: ("tensor_unranked", "T", "", 0), 104: ("const", "##", "", 0),
    105: ("symbol", "N", "", 0), 106: ("sum", "##", "##C", 1), 107: ("product", "", "C", 2),
    108: ("floor_div", "CC", "", 0), 109: ("mod", "CC", "", 0), 110: ("min", "", "C", 2), 111: ("max", "", "C", 2),
    112: ("unknown", "", "", 0),
})
STRUCT, ENUM, DECLARED, INSTANCE, SCHEME, BOUND, GROUP = 83, 84, 87, 88, 90, 91, 127
CONST, SYMBOL, SUM, PRODUCT, FLOOR_DIV, MOD, MIN, MAX, UNKNOWN = 104, 105, 106, 107, 108, 109, 110, 111, 112
COMMUTATIVE = (SUM, PRODUCT, MIN, MAX)
SORTS = "TRC"
BINDERS = (SCHEME, DECLARED)
MAX_NAME, MAX_VARIABLE_NAME, MAX_BINDERS = 4096, 256, 200
MAX_UNORDERED, MAX_NESTING, MAX_TEXT = 5, 64, 65536


class Bad(Exception):
    def __init__(self, offset, reason):
        super().__init__(f"{reason} (at byte {offset})")


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise Bad(self.at, "the bundle ends too early")
        self.at += count
        return self.data[self.at - count:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        start, value, shift = self.at, 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if value >= 1 << 32 or shift > 28:
                raise Bad(start, "an integer is too large")
            if byte < 0x80:
                if byte == 0 and shift > 0:
                    raise Bad(start, "an integer is not written in as few bytes as possible")
                return value
            shift += 7

    def count(self, least):
        start = self.at
        count = self.varint()
        if count * least > len(self.data) - self.at:
            raise Bad(start, f"a count of {count} is more than the bundle can hold")
        return count

    def name(self):
        start = self.at
        raw = self.take(self.count(1))
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise Bad(start, "a name must be UTF-8") from None
        if not name or len(raw) > MAX_NAME or any(unicodedata.category(c) == "Cc" for c in name):
            raise Bad(start, "a name is empty, too long, or has control characters")
        return name


class Type:
    """A type as read: `words` are (role, value); children are item numbers, or ("m", place) inside a group."""

    def __init__(self, tag, words, offset):
        self.tag, self.words, self.offset = tag, words, offset
        self.group = None  # (first item, number of members)

    def children(self):
        return [value for role, value in self.words if role in "TRC*"]

    def sort(self):
        if self.tag == BOUND:
            return SORTS[self.words[2][1]]
        if self.tag == 96:
            return "R"
        return "C" if self.tag >= 104 else "T"


def roles(tag, count, numbers):
    """Yields the role of each of `count` words; `numbers` is the list of values read so far."""
    kind, fixed, repeated, least = KINDS[tag]
    if fixed is not None:
        rest = count - len(fixed)
        if rest < 0 or (rest and not repeated) or (repeated and rest % len(repeated)):
            raise ValueError
        if repeated and rest // len(repeated) < least:
            raise ValueError
        yield from fixed
        for at in range(rest):
            yield repeated[at % len(repeated)]
        return
    done = 0
    if tag == ENUM:
        yield "N"
        done = 1
    parts = 0
    while done < count:
        if tag == STRUCT and parts == 1:
            raise ValueError
        if count - done < 2:
            raise ValueError
        yield "N"
        yield "#"
        done += 2
        parts += 1
        header = numbers[-1]
        fields, named = header >> 1, header & 1
        if header == 1 or fields * (1 + named) > count - done:
            raise ValueError
        for _ in range(fields):
            if named:
                yield "N"
            yield "T"
        done += fields * (1 + named)
    if done < count or (tag == STRUCT and parts != 1) or (tag == ENUM and done == 0):
        raise ValueError


class Bundle:
    def __init__(self, data):
        self.reader = reader = Reader(data)
        if reader.take(4) != b"TLPB":
            raise Bad(0, "not a bundle: the first bytes are wrong")
        version = reader.byte()
        if version not in (2, 3):
            raise Bad(4, "the format version is not supported")
        if reader.byte() != 1:
            raise Bad(5, "the hash suite is not supported")
        if reader.take(2) != b"\0\0":
            raise Bad(6, "reserved bytes must be zero")
        self.strings = [reader.name() for _ in range(reader.count(2))]
        if len(set(self.strings)) != len(self.strings):
            raise Bad(8, "a string is in the table twice")
        self.imports = [reader.take(32) for _ in range(reader.count(32))]
        if any(a >= b for a, b in zip(self.imports, self.imports[1:])):
            raise Bad(reader.at, "imports are not in ascending order")
        self.next_string = 0
        self.items = [None] * len(self.imports)
        count = reader.count(1)
        end = len(self.items) + count
        while len(self.items) < end:
            self.read_entry(end)
        if self.next_string < len(self.strings):
            raise Bad(reader.at, f"the string `{self.strings[self.next_string]}` is not used")
        self.roots = []
        for _ in range(reader.count(34)):
            start = reader.at
            label = reader.name()
            item = reader.varint()
            if item >= len(self.items):
                raise Bad(start, "a reference to a type that is not there")
            self.roots.append((label, item, reader.take(32), start))
        labels = [label.encode() for label, *_ in self.roots]
        if any(a >= b for a, b in zip(labels, labels[1:])):
            raise Bad(reader.at, "root labels are not in ascending order")
        names_at = reader.at
        self.names = [self.read_variable_names() if version == 3 else [] for _ in self.roots]
        end = reader.at
        if blake3(data[:end]).digest() != reader.take(32):
            raise Bad(end, "the digest at the end is not that of the bundle")
        if reader.at != len(data):
            raise Bad(reader.at, "bytes follow the end of the bundle")
        self.check_types()
        self.check_order()
        self.compute_digests()
        self.compute_free()
        self.check_scopes()
        for label, item, digest, start in self.roots:
            if self.digests[item] != digest:
                raise Bad(start, f"the digest of root `{label}` is not that of its type")
        if version == 3:
            self.check_variable_names(names_at)

    def read_variable_names(self):
        reader, names = self.reader, []
        for _ in range(reader.count(1)):
            start = reader.at
            if reader.data[start:start + 1] == b"\0":
                reader.byte()
                names.append("")
                continue
            names.append(reader.name())
            if len(names[-1].encode()) > MAX_VARIABLE_NAME:
                raise Bad(start, "the name of a variable is too long")
        return names

    def check_variable_names(self, at):
        if not any(self.names):
            raise Bad(at, "version 3 without names of variables")
        if self.imports:
            raise Bad(at, "a bundle with imports has names of variables")
        symbols = {ty.words[0][1] for ty in self.items if ty.tag == SYMBOL}
        for (label, item, *_), names in zip(self.roots, self.names):
            ty, given = self.items[item], [name for name in names if name]
            variables = len(ty.words) - 1 if ty.tag == SCHEME else 0
            if names and (len(names) != variables or not given):
                raise Bad(at, f"root `{label}` has {len(given)} names in {len(names)} places for {variables} variables")
            if len(set(given)) != len(given) or symbols & set(given):
                raise Bad(at, f"a name of a variable of root `{label}` has another meaning too")

    def read_entry(self, end):
        reader, start = self.reader, self.reader.at
        first = len(self.items)
        if reader.data[start:start + 1] != bytes([GROUP]):
            self.items.append(self.read_type(first, None))
            return
        reader.byte()
        count = reader.count(1)
        if count == 0 or count > end - first:
            raise Bad(start, "a group has no members, or more than there are types")
        members = [self.read_type(first, count) for _ in range(count)]
        for member in members:
            member.group = (first, count)
        self.items.extend(members)

    def read_type(self, item, group):
        reader, start = self.reader, self.reader.at
        tag = reader.byte()
        if tag not in KINDS:
            raise Bad(start, f"{tag} is not a kind of type that can travel here")
        _, fixed, repeated, _ = KINDS[tag]
        count = len(fixed) if fixed is not None and not repeated else reader.count(1)
        words, values = [], []
        try:
            for role in roles(tag, count, values):
                at = reader.at
                value = reader.varint()
                values.append(value)
                if role == "N":
                    if value >= len(self.strings) or value > self.next_string:
                        raise Bad(at, "a string is not there, or not in the order of first use")
                    self.next_string = max(self.next_string, value + 1)
                    value = self.strings[value]
                elif role in "TRC*":
                    value = self.resolve(value, item, group, at)
                words.append((role, value))
        except ValueError:
            raise Bad(start, f"the content of `{KINDS[tag][0]}` does not follow its layout") from None
        return Type(tag, words, start)

    def resolve(self, value, item, group, at):
        if group is not None:
            if value & 1:
                if value >> 1 >= group:
                    raise Bad(at, "a reference to a type that is not there")
                return ("m", value >> 1)
            value >>= 1
        if value == 0:
            raise Bad(at, "a reference to a type that comes later")
        if value > item:
            raise Bad(at, "a reference to a type that is not there")
        return item - value

    def absolute(self, ty, child):
        return ty.group[0] + child[1] if isinstance(child, tuple) else child

    def check_types(self):
        for ty in self.items:
            if ty is None:
                continue
            kind = KINDS[ty.tag][0]
            if ty.tag in (SCHEME, DECLARED, BOUND):
                sorts = [ty.words[2]] if ty.tag == BOUND else [w for w in ty.words if w[0] == "#"]
                if any(value > 2 for _, value in sorts):
                    raise Bad(ty.offset, f"a `{kind}` with a sort that is not there")
            if ty.tag == BOUND and ty.words[0][1] >= MAX_BINDERS:
                raise Bad(ty.offset, "too many binders around a variable")
        for ty in self.items:
            if ty is None:
                continue
            for role, value in ty.words:
                if role in "TRC":
                    child = self.items[self.absolute(ty, value)]
                    if child is not None and child.sort() != role:
                        raise Bad(ty.offset, f"a child of `{KINDS[ty.tag][0]}` has the wrong sort")
            if ty.tag in (STRUCT, ENUM):
                self.check_part_names(ty)
            if ty.tag == INSTANCE:
                self.check_instance(ty)
            if ty.group and ty.sort() == "C" and ty.tag != BOUND:
                raise Bad(ty.offset, "a constant in a group")
            if ty.tag in COMMUTATIVE and len(ty.children()) > 256:
                raise Bad(ty.offset, "more than 256 operands")
            if ty.tag in (SUM, PRODUCT, FLOOR_DIV, MOD, MIN, MAX) and not self.is_normal(ty):
                raise Bad(ty.offset, "a constant is not in normal form")

    @staticmethod
    def integers(ty):
        """The 64-bit integers of a const or sum: its own, then the coefficients."""
        numbers = [value for role, value in ty.words if role == "#"]
        integers = [low | high << 32 for low, high in zip(numbers[::2], numbers[1::2])]
        return [value - (1 << 64) if value >> 63 else value for value in integers]

    def is_normal(self, ty):
        # An operand that is left out of a thin bundle (None) could be an atom.
        operands = [self.items[child] for child in ty.children()]
        tags = [operand.tag if operand else SYMBOL for operand in operands]
        if UNKNOWN in tags:
            return False
        if ty.tag == SUM:
            integers = self.integers(ty)
            return 0 not in integers[1:] and integers != [0, 1] and CONST not in tags and SUM not in tags
        if ty.tag == PRODUCT:
            return not {CONST, SUM, PRODUCT} & set(tags)
        if ty.tag in (MIN, MAX):
            return ty.tag not in tags and tags.count(CONST) <= 1
        if tags[1] != CONST:
            return True
        dividend, divisor = operands[0], self.integers(operands[1])[0]
        if tags[0] == CONST or divisor == 0:
            return False
        coefficients = self.integers(dividend) if tags[0] == SUM else [1]
        return any(coefficient % divisor for coefficient in coefficients)

    def check_part_names(self, ty):
        variants, fields, after = [], [], 0
        words = ty.words if ty.tag == STRUCT else ty.words[1:]
        at = 0
        while at < len(words):
            variants.append(words[at][1])
            count, named = words[at + 1][1] >> 1, words[at + 1][1] & 1
            at += 2
            part = words[at:at + count * (1 + named)]
            fields = [value for role, value in part if role == "N"]
            at += len(part)
            if len(set(fields)) != len(fields):
                raise Bad(ty.offset, "a field name occurs twice")
        if len(set(variants)) != len(variants):
            raise Bad(ty.offset, "a variant name occurs twice")

    def check_instance(self, ty):
        declaration = self.items[self.absolute(ty, ty.words[0][1])]
        if declaration is None:
            return
        if declaration.tag != DECLARED:
            raise Bad(ty.offset, "an instance of something that is not declared")
        params = [SORTS[value] for role, value in declaration.words if role == "#"]
        args = [self.items[self.absolute(ty, value)] for role, value in ty.words if role == "*"]
        if len(params) != len(args):
            raise Bad(ty.offset, "an instance with the wrong number of arguments")
        if any(arg is not None and arg.sort() != param for param, arg in zip(params, args)):
            raise Bad(ty.offset, "an argument of the wrong sort")

    def unit(self, item):
        ty = self.items[item]
        return ty.group if ty is not None and ty.group else (item, 1)

    def outside(self, first, count):
        """The children of a unit that lie outside of it, in order."""
        return [child for ty in self.items[first:first + count] for child in ty.children()
                if not isinstance(child, tuple)]

    def check_order(self):
        entered, expected = set(), len(self.imports)
        for _, root, _, _ in self.roots:
            stack = [(root, False)]
            while stack:
                item, done = stack.pop()
                first, count = self.unit(item)
                if done:
                    if first != expected:
                        raise Bad(self.items[first].offset, "the types are not in canonical order")
                    expected += count
                elif first not in entered:
                    entered.add(first)
                    if first >= len(self.imports):
                        stack.append((first, True))
                        stack.extend((child, False) for child in reversed(self.outside(first, count)))
        if any(item not in entered for item in range(len(self.imports))):
            raise Bad(8, "an import is not used")
        if expected != len(self.items):
            raise Bad(self.items[expected].offset, "a type is not reached by any root")

    # Messages (part 2 of the specification).

    @staticmethod
    def message(kind, tag, payload):
        message = b"TL" + bytes([1, 0, kind, tag, 0, 0]) + len(payload).to_bytes(4, "little") + payload
        return blake3(message + bytes(-len(message) % 64)).digest()

    def words_bytes(self, words, child):
        out = bytearray()
        for role, value in words:
            if role == "N":
                raw = value.encode()
                out += len(raw).to_bytes(4, "little") + raw
            elif role == "#":
                out += value.to_bytes(4, "little")
            else:
                out += child(value)
        return bytes(out)

    def compute_digests(self):
        self.digests = list(self.imports)
        seen = set(self.imports)
        item = len(self.imports)
        while item < len(self.items):
            ty = self.items[item]
            if ty.group:
                new = self.group_digests(*ty.group)
            else:
                if ty.tag in COMMUTATIVE:
                    order = [self.digests[child] for child in ty.children()]
                    strict = ty.tag != PRODUCT
                    if any(a > b or (strict and a == b) for a, b in zip(order, order[1:])):
                        raise Bad(ty.offset, "operands are not in the order of their digests")
                new = [self.message(0, ty.tag, self.words_bytes(ty.words, lambda child: self.digests[child]))]
            for digest in new:
                if digest in seen:
                    raise Bad(ty.offset, "a type occurs twice")
                seen.add(digest)
            self.digests += new
            item += len(new)
        self.check_unfoldings()

    def member_bytes(self, ty, place):
        def child(value):
            if isinstance(value, tuple):
                return b"\1" + place(value[1]).to_bytes(4, "little")
            return b"\0" + self.digests[value]
        return bytes([ty.tag]) + len(ty.words).to_bytes(4, "little") + self.words_bytes(ty.words, child)

    def group_digests(self, first, count):
        members = self.items[first:first + count]
        inner = [[child[1] for child in ty.children() if isinstance(child, tuple)] for ty in members]
        self.check_connected(members, inner)
        keys = [self.member_bytes(ty, lambda _: 0) for ty in members]
        ranks = self.refine(keys, inner)
        if len(set(ranks)) != count:
            raise Bad(members[0].offset, "a recursive group is not minimal")
        if ranks != sorted(ranks):
            raise Bad(members[0].offset, "the members of a recursive group are not in canonical order")
        payload = count.to_bytes(4, "little")
        for ty in members:
            payload += self.member_bytes(ty, lambda at: at)
        group = self.message(1, 0, payload)
        return [self.message(2, 0, group + at.to_bytes(4, "little")) for at in range(count)]

    @staticmethod
    def refine(keys, inner):
        def rank(keys):
            first = {}
            for at, key in enumerate(sorted(keys)):
                first.setdefault(key, at)
            return [first[key] for key in keys]
        ranks = rank(keys)
        while True:
            new = rank([(own, *(ranks[child] for child in children)) for own, children in zip(ranks, inner)])
            if new == ranks:
                return ranks
            ranks = new

    @staticmethod
    def check_connected(members, inner):
        def reached(edges):
            seen, stack = {0}, [0]
            while stack:
                for to in edges[stack.pop()]:
                    if to not in seen:
                        seen.add(to)
                        stack.append(to)
            return len(seen)
        back = [[] for _ in members]
        for at, children in enumerate(inner):
            for child in children:
                back[child].append(at)
        if not inner[0] or reached(inner) < len(members) or reached(back) < len(members):
            raise Bad(members[0].offset, "a recursive group is not one cycle")

    def check_unfoldings(self):
        """No type outside of a group equals a member: all items unfold to different trees."""
        if not any(ty is not None and ty.group for ty in self.items):
            return
        keys, inner = [], []
        for item, ty in enumerate(self.items):
            if ty is None:
                keys.append((-1, self.imports[item]))
                inner.append([])
            else:
                own = self.words_bytes(ty.words, lambda _: b"")
                keys.append((ty.tag, len(ty.words).to_bytes(4, "little") + own))
                inner.append([self.absolute(ty, child) for child in ty.children()])
        ranks = self.refine(keys, inner)
        if len(set(ranks)) != len(ranks):
            twice = next(at for at, rank in enumerate(ranks) if ranks.index(rank) != at)
            raise Bad(self.items[twice].offset, "a type occurs twice, as an unfolding of another")

    # Variables.

    def binds(self, ty, at):
        """Whether the child at a word is inside of the binder that the type is."""
        return (ty.tag == SCHEME and at == 0) or (ty.tag == DECLARED and at == 1)

    def inner(self, item, level):
        """The children of an item, with the number of binders around each."""
        ty = self.items[item]
        return [(self.absolute(ty, value), level + self.binds(ty, at))
                for at, (role, value) in enumerate(ty.words) if role in "TRC*"]

    def compute_free(self):
        """How many binders outside of it an item reaches with its variables; the least solution for groups. And whether it
        reaches a type that is left out, whose variables are not known."""
        self.free = [0] * len(self.items)
        self.thin = [ty is None for ty in self.items]
        item = len(self.imports)
        while item < len(self.items):
            first, count = self.unit(item)
            changed = True
            while changed:
                changed = False
                for at in range(first, first + count):
                    ty = self.items[at]
                    free = ty.words[0][1] + 1 if ty.tag == BOUND else max(
                        (self.free[child] - level for child, level in self.inner(at, 0)), default=0)
                    if free > self.free[at]:
                        self.free[at], changed = free, count > 1 or ty.group is not None
            below = [child for at in range(first, first + count) for child, _ in self.inner(at, 0)]
            self.thin[first:first + count] = [any(self.thin[child] for child in below)] * count
            item += count

    def check_scopes(self):
        for _, root, _, start in self.roots:
            if self.free[root]:
                raise Bad(start, "a root has unbound variables")
        for ty in self.items:
            if ty is None or ty.tag not in BINDERS:
                continue
            body = self.absolute(ty, next(value for role, value in ty.words if role == "T"))
            sorts = [value for role, value in ty.words if role == "#"]
            uses, operands = self.walk(body)
            alone = []
            for operand in operands:
                self.uses_inside(operand, alone)
            if any(index >= len(sorts) or sorts[index] != sort for index, sort in uses + alone):
                raise Bad(ty.offset, "a variable that its binder does not have")
            if ty.tag == SCHEME and not self.thin[body]:
                ordered = [index for index, _ in uses]
                rest = sorted({index for index, _ in alone} - set(ordered))
                if ordered + rest != list(range(len(sorts))):
                    raise Bad(ty.offset, "a scheme's variables are not in the order of first use")
                if len(rest) > 1:
                    self.check_numbering(ty, ordered, rest, operands)

    def walk(self, body):
        """The uses of the binder around `body` and the operands, in the order of the walk."""
        uses, operands = [], []

        def enter(item, level):
            ty = self.items[item]
            if ty.tag == BOUND:
                depth, index, sort = (value for _, value in ty.words)
                if depth == level and (index, sort) not in uses:
                    uses.append((index, sort))
                return []
            if ty.tag in COMMUTATIVE and len(ty.children()) > 1:
                operands.append((item, level))
                return []
            return [(child, at) for child, at in self.inner(item, level) if self.free[child] > at]

        start = [(body, 0)] if self.free[body] else []
        if self.is_infinite(start):
            seen, distance = set(), start
            while distance:
                further = []
                for item, level in distance:
                    while self.items[item].tag == SCHEME and (item, level) not in seen:
                        seen.add((item, level))
                        item, level = self.inner(item, level)[0]
                    if self.free[item] > level and (item, level) not in seen:
                        seen.add((item, level))
                        further += enter(item, level)
                distance = further
        else:
            seen, stack = set(), start
            while stack:
                at = stack.pop()
                if at not in seen:
                    seen.add(at)
                    stack += reversed(enter(*at))
        return uses, operands

    def is_infinite(self, start):
        """Whether types with free variables make an infinite path: one is met again while it is being walked."""
        walking, stack = {}, [(at, False) for at in start]
        while stack:
            at, done = stack.pop()
            if done:
                walking[at] = False
            elif walking.get(at):
                return True
            elif at not in walking:
                walking[at] = True
                stack.append((at, True))
                stack += [(child, False) for child in self.inner(*at) if self.free[child[0]] > child[1]]
        return False

    def uses_inside(self, start, uses):
        seen, stack = set(), [start]
        while stack:
            item, level = stack.pop()
            ty = self.items[item]
            if ty is None or (item, level) in seen:
                continue
            seen.add((item, level))
            if ty.tag == BOUND and ty.words[0][1] == level:
                uses.append((ty.words[1][1], ty.words[2][1]))
            stack += self.inner(item, level)

    def check_numbering(self, scheme, ordered, rest, operands):
        if len(rest) > MAX_UNORDERED:
            raise Bad(scheme.offset, f"more than {MAX_UNORDERED} variables occur in operands alone")
        texts, entangled = {}, False
        for candidate in itertools.permutations(rest):
            place = {index: at for at, index in enumerate(ordered + list(candidate))}
            self.text_left, text = MAX_TEXT, b""
            for item, level in operands:
                mentions = set()
                text += self.key(scheme, item, level, place, set(rest), mentions, 0) + b";"
                entangled = entangled or {"rest", "inside"} <= mentions
            texts[candidate] = text
        smallest = min(texts.values())
        if texts[tuple(rest)] != smallest:
            raise Bad(scheme.offset, "a scheme's variables are not in the order that makes its text smallest")
        if entangled and list(texts.values()).count(smallest) > 1:
            raise Bad(scheme.offset, "nothing but variables of binders inside tells a scheme's variables apart")

    def key(self, scheme, item, level, place, rest, mentions, nesting):
        ty = self.items[item]
        self.text_left -= 1
        if nesting > MAX_NESTING or self.text_left < 0:
            raise Bad(scheme.offset, "the operands of a scheme are too many or nest too deep")
        if ty.tag == BOUND:
            depth, index = ty.words[0][1], ty.words[1][1]
            if depth < level:
                mentions.add("inside")
                return b"b-%d" % (level - depth)
            if depth > level:
                return b"b%d.%d" % (depth - level, index)
            if index in rest:
                mentions.add("rest")
            return b"v%d" % place[index]
        keys = [self.key(scheme, child, level, place, rest, mentions, nesting + 1) for child in ty.children()]
        if ty.tag == CONST:
            keys = [b"%d" % self.integers(ty)[0]]
        elif ty.tag == SYMBOL:
            name = ty.words[0][1]
            self.text_left -= len(name.encode())
            if self.text_left < 0:
                raise Bad(scheme.offset, "the operands of a scheme are too many or nest too deep")
            keys = [('"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"').encode()]
        elif ty.tag == SUM:
            constant, *coefficients = self.integers(ty)
            terms = sorted(b"%d*%s" % term for term in zip(coefficients, keys))
            keys = [b"%d" % constant] + terms
        elif ty.tag in COMMUTATIVE:
            keys.sort()
        return KINDS[ty.tag][0].encode() + b"(" + b",".join(keys) + b")"

    # Printing.

    def line(self, item):
        ty = self.items[item]
        if ty is None:
            return f"import {self.imports[item].hex()}"
        words = []
        for role, value in ty.words:
            if role == "N":
                words.append(value)
            elif role == "#":
                words.append(str(value))
            else:
                words.append(f"%{self.absolute(ty, value)}")
        group = f"  (group of {ty.group[1]} at %{ty.group[0]})" if ty.group else ""
        return " ".join([KINDS[ty.tag][0]] + words) + group

    def print(self):
        for item in range(len(self.items)):
            print(f"%{item} = {self.line(item)}")
        for (label, item, digest, _), names in zip(self.roots, self.names):
            print(f"root {label} = %{item} {digest.hex()}" + (f" names {names}" if names else ""))


def main(arguments):
    quiet = "--quiet" in arguments
    files = [argument for argument in arguments if argument != "--quiet"]
    if not files or any(file.startswith("-") for file in files):
        sys.stderr.write(__doc__)
        return 2
    status = 0
    for file in files:
        try:
            with open(file, "rb") as handle:
                data = handle.read()
        except OSError as error:
            sys.stderr.write(f"{file}: {error.strerror}\n")
            return 2
        try:
            bundle = Bundle(data)
        except Bad as bad:
            print(f"{file}: invalid: {bad}")
            status = 1
            continue
        if not quiet:
            bundle.print()
        print(f"{file}: valid: {len(bundle.items) - len(bundle.imports)} types, {len(bundle.imports)} imports, "
              f"{len(bundle.roots)} roots")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
