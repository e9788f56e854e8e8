"""The page that `operators --write FILE` makes: promises and a table for each family."""

from __future__ import annotations

import os
import platform
import statistics
from collections.abc import Callable
from importlib.metadata import version

HEAD = ["case", "typeloom", "ONNX Runtime", "ratio", "memory", "difference"]

TITLES = {
    "integer": "Integer products",
    "quantised": "Quantised operators",
    "image": "Operators on images",
    "recurrent": "Recurrent operators",
    "shape": "Operators that move elements",
    "elementwise": "Elementwise operators and reductions",
    "products": "Products",
    "learned": "`ai.onnx.ml`",
    "contrib": "`com.microsoft`",
    "real": "Models from the Python package index",
    "files": "Files",
}

ABOUT = """# Performance of operators and real models

Written by the benchmark in `bench/operators/`; see its README. Both contenders run the same model in separate processes, in alternating
batches on one machine; times are medians, and only ratios are comparable between machines. *ratio* is the median over the rounds of
typeloom's time divided by that of ONNX Runtime in the same round. *memory* is the ratio of the peak memory in addition to that of the
process before loading. *difference* is the greatest difference of an element of the outputs, relative to the greatest element. It has two
known causes where it exceeds 1e-3: a result with only tiny elements (ONNX Runtime limits the argument of `Sigmoid`), and quantisation,
where a difference of rounding changes an integer by one (decision 0030).
"""


class Row:
    """What was measured for one case."""

    def __init__(self, name: str) -> None:
        self.name = name
        # Seconds of a run, for each round.
        self.ours: list[float] = []
        self.theirs: list[float] = []
        self.memory: list[float] = []
        self.difference = ""
        self.problem = ""

    def add(self, ours: list[float], theirs: list[float]) -> None:
        self.ours += ours
        self.theirs += theirs

    @property
    def ratio(self) -> float:
        return statistics.median(ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=True))

    @property
    def peak(self) -> float:
        return statistics.median(self.memory)

    def fields(self) -> list[str]:
        if self.problem:
            return [self.name, "", "", "", "", self.problem]
        times = [f"{statistics.median(them) * 1e6:,.0f} us" for them in (self.ours, self.theirs)]
        return [self.name, *times, f"{self.ratio:.2f}", f"{self.peak:.2f}", self.difference]


def page(tables: dict[str, list[Row]], arguments: list[str]) -> str:
    sections = [ABOUT, machine("operators", arguments), "## Promises\n\n" + promises(tables)]
    for family, rows in tables.items():
        sections.append(f"## {TITLES[family]}\n\n" + table(HEAD, [row.fields() for row in rows]))
    return "\n".join(sections)


def processor(name: str) -> str:
    """The first value of a field in the description of the processor; empty without one."""
    lines = (line.partition(":") for line in open("/proc/cpuinfo"))
    return next((value.strip() for key, _, value in lines if key.strip() == name), "")


def machine(benchmark: str, arguments: list[str]) -> str:
    flags = processor("flags").split()
    vectors = ["AVX-512" if "avx512f" in flags else "AVX2"] if "avx2" in flags else []
    name = ", ".join([processor("model name") or platform.machine(), *vectors])
    lines = [
        f"Machine: {name}, {os.cpu_count()} cores, {platform.system().lower()}",
        f"Command: `cargo run --release -- {' '.join([benchmark, *arguments])}` in `bench/`",
        f"ONNX Runtime: {version('onnxruntime')}",
    ]
    return "".join(f"- {line}\n" for line in lines)


def promises(tables: dict[str, list[Row]]) -> str:
    """Which limits hold, with the rows that exceed them."""
    operators = [row for family, rows in tables.items() if family not in ("real", "files") for row in rows]
    models = [row for family, rows in tables.items() if family in ("real", "files") for row in rows]
    lines = [
        limit("an operator takes at most 4 times as long as ONNX Runtime", operators, lambda row: row.ratio, 4),
        limit("a real model takes at most twice as long as ONNX Runtime", models, lambda row: row.ratio, 2),
        limit("an operator or a model uses at most 1.5 times the memory", operators + models, lambda row: row.peak, 1.5),
    ]
    return table(["promise", "rows", "kept by", "worst", "exceeded by"], [line for line in lines if line])


def limit(promise: str, rows: list[Row], figure: Callable[[Row], float], most: float) -> list[str]:
    measured = [(figure(row), row.name) for row in rows if not row.problem]
    if not measured:
        return []
    above = sorted((pair for pair in measured if pair[0] > most), reverse=True)
    names = ", ".join(f"{name} ({value:.2f})" for value, name in above)
    return [promise, str(len(measured)), str(len(measured) - len(above)), f"{max(measured)[0]:.2f}", names]


def table(head: list[str], rows: list[list[str]]) -> str:
    rule = ["---", *("---:" for _ in head[2:]), "---"]
    return "".join(f"| {' | '.join(line)} |\n" for line in [head, rule, *rows])

