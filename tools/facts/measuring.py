"""What `openvino_probes.py` and `tract_probes.py` have in common: they generate probes of each operator, ask a runtime about them in
other processes, and write a table.

Some models crash a runtime or never end. The process is replaced after that, and the model counts as rejected.
"""

import argparse
import json
import multiprocessing
import os
import resource
import threading
from collections import defaultdict
from pathlib import Path

import measured
import node_probes
from node_probes import Row, Signature

# The time for one model, and more for each further one.
SECONDS = 12
# The number of models that a judge gets at once.
TOGETHER = 64
MAX_MEMORY = 8 << 30
# Attributes whose values follow from the shapes of inputs, so that no probe changes them alone.
SHAPED = {f"attribute.{name}" for name in "hidden_size K N num_heads kv_num_heads q_num_heads num_groups groups group sample_size".split()}
# Operators that fail for some constants of integers when they are computed before the run, as for a division by zero.
VALUES = {"ai.onnx::BitShift", "ai.onnx::Div", "ai.onnx::Mod"}
# Operators of most models.
FREQUENT = {
    f"ai.onnx::{name}"
    for name in "AveragePool BatchNormalization Clip Concat Conv ConvTranspose Div Expand Gather Gemm MatMul LayerNormalization MaxPool ReduceMean Reshape Resize Slice Softmax Split Squeeze Transpose Unsqueeze".split()
}
# From this number of pairs that differ in one property only, all with one outcome, the property does not matter.
PAIRS = 8
MOST_PROPERTIES = 60
# The same for numbers that are not integers, such as an epsilon.
FRACTION_PAIRS = 3


class Judge:
    """Asks `serve(pipe)`, which answers a list of models with a list of errors, empty for a model that it takes, in another process."""

    def __init__(self, serve) -> None:
        self.serve, self.child = serve, None

    def ask(self, models: list[bytes]) -> list[str]:
        if self.child is None:
            processes = multiprocessing.get_context("fork")
            self.pipe, theirs = processes.Pipe()
            self.child = processes.Process(target=run, args=(self.serve, theirs), daemon=True)
            self.child.start()
            theirs.close()
        error = "takes too long"
        try:
            self.pipe.send(models)
            if self.pipe.poll(SECONDS + 0.6 * len(models)):
                return self.pipe.recv()
        except (EOFError, OSError):
            error = "crashed"
        self.close()
        if len(models) == 1:
            return [error]
        # A hang costs the whole time limit, so few steps lead to the model.
        part = max(1, len(models) // 8)
        return [error for start in range(0, len(models), part) for error in self.ask(models[start : start + part])]

    def close(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.join()
            self.child = None


def run(serve, pipe) -> None:
    # Crashes and warnings are expected.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    serve(pipe)


def ask_all(serve, models: list[bytes], workers: int) -> list[str]:
    """The error for each model; empty if the runtime takes it."""
    lists = [models[start : start + TOGETHER] for start in range(0, len(models), TOGETHER)]
    answers: list[list[str]] = [[]] * len(lists)

    def work(start: int) -> None:
        judge = Judge(serve)
        for at in range(start, len(lists), workers):
            answers[at] = judge.ask(lists[at])
        judge.close()

    threads = [threading.Thread(target=work, args=(start,)) for start in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [error for part in answers for error in part]


def main(parser: argparse.ArgumentParser, name: str, head: dict[str, str], make_serve, is_unknown, depends) -> int:
    """Measures all operators, and writes or compares a table.

    - `make_serve(options)`: the function that a `Judge` runs.
    - `is_unknown(error)`: whether the runtime does not know the operator.
    - `depends(operator, row)`: whether a rejection of the operator, or of one row, depends on other nodes.
    """
    parser.add_argument("--typeloom", default="typeloom", help="the command, which infers the types of the probes")
    parser.add_argument("--check", action="store_true", help="compare the committed table, write nothing")
    parser.add_argument("--output", type=Path, help="write the text to this file, as `check --targets FILE` reads it")
    parser.add_argument("--cache", type=Path, help="read and write measured rows in this file (JSON lines)")
    parser.add_argument("--workers", type=int, default=2, help="processes that generate or ask")
    parser.add_argument("--seed", type=int, default=1, help="of the choice of probes")
    parser.add_argument("--only", default="", help="measure these operators only, separated by commas, and print their tree")
    options = parser.parse_args()
    rows = measure(options, make_serve(options), is_unknown, depends)
    text = measured.compile([row for own in measured.grouped(rows).values() for row in pruned(own)], head)
    if options.only:
        print(text, end="")
        return 0
    if options.output:
        options.output.write_text(text)
        return 0
    return int(measured.store(name, text, options.check))


def measure(options, serve, is_unknown, depends) -> list[dict]:
    known = node_probes.signatures()
    if options.only:
        known = {name: known[name] for name in options.only.split(",")}
    rows = read(options.cache)
    done = {row["operator"] for row in rows}
    with open(options.cache or os.devnull, "a", encoding="utf-8") as cache:

        def add(row: Row) -> None:
            found = {"operator": row.operator, "version": row.version, "properties": row.properties, "outcome": row.outcome, "error": row.error[:300]}
            rows.append(found)
            cache.write(json.dumps(found) + "\n")

        probed = []
        rest = [versions for versions in known.values() if versions[0].operator not in done]
        smallest = [node_probes.unknown_model(one) for versions in rest for one in versions]
        errors = iter(ask_all(serve, smallest, options.workers))
        for versions in rest:
            answers = ["-" if is_unknown(next(errors)) else "" for _ in versions]
            if any(depends(one, None) for one in versions):
                answers = ["?"] * len(versions)
            elif not all(answers):
                probed.append(versions)
                continue
            for one, answer in zip(versions, answers):
                add(Row(one.operator, one.version, one.version, {}, b"", answer))
        examples = node_probes.examples(node_probes.signatures()) if probed else {}
        tasks = [(versions, examples[versions[0].operator], options.typeloom, options.seed) for versions in probed]
        with multiprocessing.get_context("fork").Pool(options.workers) as pool:
            for (versions, *_), own in zip(tasks, pool.imap(generate, tasks)):
                for row, error in zip(own, ask_all(serve, [row.model for row in own], options.workers)):
                    row.outcome, row.error = outcome(versions[0], row, error, depends), error
                    add(row)
                cache.flush()
    return [row for row in rows if not options.only or row["operator"] in known]


def outcome(operator: Signature, row: Row, error: str, depends) -> str:
    """A node that takes or makes something else than tensors may be rejected alone and accepted among others."""
    stored = all(value == "true" for name, value in row.properties.items() if name.startswith("constant."))
    if row.operator in VALUES and stored and "int" in row.properties["type.T"]:
        return "?"
    if not error:
        return "+"
    composed = any(value.startswith(("seq(", "optional(", "map(")) for value in row.properties.values())
    return "?" if composed or depends(operator, row) else "-"


def generate(task) -> list[Row]:
    versions, own, command, seed = task
    rows = node_probes.rows_of(versions, own, wanted(versions), command, seed)
    return sorted(rows, key=lambda row: row.opset)


def wanted(versions: list[Signature]) -> int:
    """More probes for operators with more versions, inputs and attributes, and for those that most models have."""
    inputs = {port.name for one in versions for port in one.inputs}
    attributes = {name for one in versions for name in one.attributes}
    count = min(700, 100 + 30 * len(versions) + 45 * len(inputs) + 10 * len(attributes))
    return 2 * count if versions[0].operator in FREQUENT else count


def read(cache: Path | None) -> list[dict]:
    if cache is None or not cache.exists():
        return []
    return [json.loads(line) for line in cache.read_text().splitlines()]


def pruned(rows: list[dict]) -> list[dict]:
    """The rows of one operator without the properties that do not matter: numbers in attributes, and numbers of inputs and outputs. Where it
    matters only whether an attribute has a value, given or by default, that is the property.
    """
    rows = [{**row, "properties": dict(row["properties"])} for row in rows]
    # A reader accepts a limited number of properties, so fewer pairs decide if there are more.
    for pairs in (PAIRS, 1):
        for name in list(rows[0]["properties"]):
            values = {row["properties"][name] for row in rows}
            tested = name in ("inputs", "outputs") or (name.startswith("attribute.") and all(map(is_number, values)))
            if tested and (pairs == PAIRS or len(rows[0]["properties"]) > MOST_PROPERTIES) and not matters(rows, name, pairs):
                for row in rows:
                    del row["properties"][name]
            elif tested and "none" in values and pairs == PAIRS:
                given = [row for row in rows if row["properties"][name] != "none"]
                if given and not matters(given, name, pairs):
                    for row in rows:
                        value = row["properties"].pop(name)
                        row["properties"][name.replace("attribute.", "has.")] = "false" if value == "none" else "true"
    return rows


def is_number(value: str) -> bool:
    try:
        float(value)
    except ValueError:
        return value == "none"
    return True


def matters(rows: list[dict], name: str, needed: int) -> bool:
    """Whether rows that are equal except for this property have different outcomes, or too few rows tell."""
    groups: dict[tuple, tuple[set, set]] = defaultdict(lambda: (set(), set()))
    for row in rows:
        key = (row["version"], *(value for other, value in row["properties"].items() if other != name))
        values, outcomes = groups[key]
        values.add(row["properties"][name])
        outcomes.add(row["outcome"])
    pairs = [outcomes for values, outcomes in groups.values() if len(values) > 1]
    if any(len(outcomes) > 1 for outcomes in pairs):
        return True
    fractions = any("." in row["properties"][name] for row in rows)
    return len(pairs) < (min(needed, FRACTION_PAIRS) if fractions else needed) and name not in SHAPED
