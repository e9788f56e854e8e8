#!/usr/bin/env python3
"""Write measurements of single nodes on a device as decision trees, in the format of `crates/targets/src/measured/table.rs`.

A *row* is one measured node: an operator, a version, its properties, and what happened.

    {"operator": "ai.onnx::Relu", "version": 14, "properties": {"type.X": "float", "rank.X": "4"}, "outcome": "+"}

All rows of one operator have the same properties. Rows of all versions of an operator make one tree, because the same node often
behaves alike in each version.

A tree is exact on its rows. What it says about nodes that were not measured:

- A property has a value that no row has: nothing.
- A leaf has as many rows as `ENOUGH` says, or more: their outcome, if each property has a value that it has in one of them.
- A leaf has fewer rows: nothing. It is split until each part is a full product of values.

`held_out` measures these rules: it builds trees from nine tenths of the rows and compares them with the last tenth.
"""

import random
import zlib
from collections import Counter, defaultdict
from pathlib import Path

import numpy

FOLDER = Path(__file__).resolve().parents[2] / "crates" / "targets" / "data"
# The largest compressed file.
LARGEST = 300_000

OUTCOMES = "+~-?"
# The number of rows from which on a leaf speaks for nodes between its rows. Held-out rows justify it; see docs/targets.md.
ENOUGH = {"+": 64, "~": 64, "-": 64, "?": 1}


class Operator:
    """The rows of one operator as a matrix: one column per property, values as numbers in the order of `values`."""

    def __init__(self, name: str, rows: list[dict]) -> None:
        self.name = name
        self.rows = len(rows)
        self.names = ["version", *rows[0]["properties"]]
        columns = [[str(row["version"]) for row in rows]]
        for key in self.names[1:]:
            columns.append([row["properties"][key] for row in rows])
        self.values = [sorted(set(column), key=order) for column in columns]
        numbers = [{value: number for number, value in enumerate(values)} for values in self.values]
        coded = [[known[value] for value in column] for known, column in zip(numbers, columns)]
        matrix = numpy.array(coded, dtype=numpy.int32).T
        outcomes = numpy.array([OUTCOMES.index(row["outcome"]) for row in rows])
        self.matrix, self.outcomes = unique(matrix, outcomes)

    def text(self) -> str:
        lines = [f"op {self.name} {self.rows}"]
        lines += [f"  {name} {' '.join(values)}" for name, values in zip(self.names, self.values)]
        lines.append(f"  tree {self.tree(numpy.arange(len(self.outcomes)))}")
        return "\n".join(lines)

    def tree(self, rows: numpy.ndarray) -> str:
        """The tree of some rows. A leaf ends the recursion; each test has two branches, since a branch for each value would leave too few
        rows in a leaf to decide anything.
        """
        outcomes = self.outcomes[rows]
        if (outcomes == outcomes[0]).all():
            return self.leaf(rows)
        number, left = best_test(self.matrix[rows], outcomes)
        column = self.matrix[rows, number]
        inside = numpy.isin(column, left)
        return f"{{{number}:{self.branch(rows[inside], number)}{self.branch(rows[~inside], number)}}}"

    def branch(self, rows: numpy.ndarray, number: int) -> str:
        """The values of a property that some rows have, and the tree of these rows."""
        tree, outcomes = self.tree(rows), self.outcomes[rows]
        if (outcomes == outcomes[0]).all():
            tree = without(tree, number)
        return ",".join(map(str, numpy.unique(self.matrix[rows, number]))) + tree

    def leaf(self, rows: numpy.ndarray) -> str:
        """Tests that admit what rows of one outcome prove, then the outcome."""
        matrix = self.matrix[rows]
        seen = [numpy.unique(column) for column in matrix.T]
        size = 1
        for column in seen:
            size *= len(column)
        outcome = OUTCOMES[self.outcomes[rows[0]]]
        is_enough = len(rows) >= ENOUGH[outcome]
        if not is_enough and size != len(rows):
            varied = [number for number, column in enumerate(seen) if len(column) > 1]
            return self.split(rows, min(varied, key=lambda number: len(seen[number])), self.leaf)
        text = outcome
        for number, column in reversed(list(enumerate(seen))):
            if len(column) < len(self.values[number]):
                text = f"{{{number}:{','.join(map(str, column))}{text}}}"
        return text

    def split(self, rows: numpy.ndarray, number: int, part) -> str:
        column = self.matrix[rows, number]
        branches: dict[str, list[int]] = {}
        for value in numpy.unique(column):
            branches.setdefault(without(part(rows[column == value]), number), []).append(int(value))
        if len(branches) == 1 and len(next(iter(branches.values()))) == len(self.values[number]):
            return next(iter(branches))
        return f"{{{number}:{''.join(','.join(map(str, values)) + text for text, values in branches.items())}}}"


def without(text: str, number: int) -> str:
    """A chain of tests without the test of a property that was decided before."""
    chain = []
    while text.startswith("{"):
        head, rest = text[1:].split(":", 1)
        at = 0
        while rest[at].isdigit() or rest[at] == ",":
            at += 1
        inner = rest[at:-1]
        if not is_one_node(inner):
            break
        if int(head) != number:
            chain.append(f"{{{head}:{rest[:at]}")
        text = inner
    return "".join(chain) + text + "}" * len(chain)


def is_one_node(text: str) -> bool:
    """Whether a text is one tree and not the end of a list of branches."""
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return at == len(text) - 1
    return False


def order(value: str):
    """Numbers by value, then words."""
    try:
        return (0, float(value), value)
    except ValueError:
        return (1, 0.0, value)


def unique(matrix: numpy.ndarray, outcomes: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Each row once. Rows that contradict each other have the outcome `?`."""
    rows, inverse = numpy.unique(matrix, axis=0, return_inverse=True)
    inverse = inverse.ravel()
    low = numpy.full(len(rows), len(OUTCOMES))
    high = numpy.full(len(rows), -1)
    numpy.minimum.at(low, inverse, outcomes)
    numpy.maximum.at(high, inverse, outcomes)
    return rows, numpy.where(low == high, low, OUTCOMES.index("?"))


def best_test(matrix: numpy.ndarray, outcomes: numpy.ndarray) -> tuple[int, numpy.ndarray]:
    """The property, and the values of one of two branches, with the largest information gain. Values are ordered by the share of the most
    frequent outcome; for two outcomes the best of all subsets is then a prefix (Breiman et al., Classification and Regression Trees, 1984).
    """
    kinds, outcomes = numpy.unique(outcomes, return_inverse=True)
    most = numpy.bincount(outcomes).argmax()
    best, found = -numpy.inf, (-1, matrix[0])
    total = numpy.bincount(outcomes)
    for number, column in enumerate(matrix.T):
        counts = numpy.bincount(column * len(kinds) + outcomes, minlength=(column.max() + 1) * len(kinds)).reshape(-1, len(kinds))
        values = numpy.flatnonzero(counts.sum(1))
        if len(values) == 1:
            continue
        counts = counts[values]
        order = numpy.argsort(counts[:, most] / counts.sum(1), kind="stable")
        left = numpy.cumsum(counts[order], 0)[:-1]
        right = total - left
        # The entropy before the test is the same for all.
        gains = -(left.sum(1) * entropy(left) + right.sum(1) * entropy(right))
        at = int(numpy.argmax(gains))
        if gains[at] > best + 1e-9:
            best, found = gains[at], (number, values[order[: at + 1]])
    return found


def entropy(counts: numpy.ndarray) -> numpy.ndarray:
    """The entropy of each row of counts, in bits."""
    parts = counts / counts.sum(1, keepdims=True)
    return -(parts * numpy.log2(numpy.where(parts > 0, parts, 1))).sum(1)


def grouped(rows: list[dict]) -> dict[str, list[dict]]:
    found = defaultdict(list)
    for row in rows:
        found[row["operator"]].append(row)
    return dict(sorted(found.items()))


def compile(rows: list[dict], head: dict[str, str]) -> str:  # noqa: A001: the name says what it does
    """The text of a table. `head` has the lines before the operators: `source`, `device`, `through`, `fixed`."""
    lines = ["typeloom-measured 1", *(f"{key} {value}".rstrip() for key, value in head.items())]
    lines += [Operator(name, own).text() for name, own in grouped(rows).items()]
    return "\n".join(lines) + "\n"


def store(name: str, text: str, check: bool) -> bool:
    """Writes a table, compressed by zlib, or compares it with the file. Returns whether it differs from the file that was there."""
    path = FOLDER / f"{name}.measured"
    changed = not path.exists() or zlib.decompress(path.read_bytes()).decode() != text
    packed = zlib.compress(text.encode(), 9)
    print(f"{name}: {len(text)} bytes, {len(packed)} compressed{', changed' if changed else ''}", flush=True)
    if len(packed) > LARGEST:
        raise SystemExit(f"{name} has more than {LARGEST} bytes")
    if changed and not check:
        path.write_bytes(packed)
    return changed and check


def read_tree(text: str, at: int = 0):
    """The tree at a position of a text, and the position after it. A tree is an outcome, or a property and the trees of its values."""
    if text[at] != "{":
        return text[at], at + 1
    end = text.index(":", at)
    number, at = int(text[at + 1 : end]), end + 1
    branches = {}
    while text[at] != "}":
        start = at
        while text[at].isdigit() or text[at] == ",":
            at += 1
        tree, after = read_tree(text, at)
        branches.update(dict.fromkeys(map(int, text[start:at].split(",")), tree))
        at = after
    return (number, branches), at + 1


def lookup(tree, values: list[list[str]], row: list[str]) -> str:
    """The outcome of a row in a tree of `read_tree`, `?` if the tree does not know it."""
    if any(value not in known for known, value in zip(values, row)):
        return "?"
    return walk(tree, [known.index(value) for known, value in zip(values, row)])


def walk(tree, numbers) -> str:
    """The outcome of a row by the numbers of its values."""
    while not isinstance(tree, str):
        number, branches = tree
        tree = branches.get(int(numbers[number]), "?")
    return tree


def held_out(rows: list[dict], seed: int, tenth: int = 0) -> Counter:
    """How trees of nine tenths of the rows decide the last tenth: pairs of the decided and the measured outcome, which is `?` for rows that
    contradict each other.
    """
    found = Counter()
    for name, own in grouped(rows).items():
        operator = Operator(name, own)
        every = numpy.arange(len(operator.outcomes))
        chance = random.Random(f"{seed} {name}")
        parts = numpy.array([chance.randrange(10) for _ in every])
        known, others = every[parts != tenth], every[parts == tenth]
        tree = read_tree(operator.tree(known))[0] if len(known) else "?"
        for row in others:
            found[walk(tree, operator.matrix[row]), OUTCOMES[operator.outcomes[row]]] += 1
    return found
