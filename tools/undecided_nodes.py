#!/usr/bin/env python3
"""Count the nodes of models about which targets are undecided, with the most frequent reasons.

    python3 tools/undecided_nodes.py --typeloom target/debug/typeloom --target qnn-npu --target openvino models/

Only targets with measured nodes are counted: a device, or a group of devices. A node that is a constant for the target has no place and
does not count. Models without a verdict, such as those that are no ONNX files, are listed.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

FILES_PER_COMMAND = 100
# More problems than a model has nodes.
MAX_PROBLEMS = 1_000_000
PLACES = ("device", "cpu", "rejected", "undecided")


def main() -> int:
    arguments = argparse.ArgumentParser(description="count the undecided nodes of models")
    arguments.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER")
    arguments.add_argument("--typeloom", default="typeloom", help="the command")
    arguments.add_argument("--target", action="append", default=[], metavar="NAME", help="a target or a group; can be repeated")
    arguments.add_argument("--targets", action="append", default=[], metavar="FILE", help="a file of a measured target; can be repeated")
    arguments.add_argument("--reasons", type=int, default=10, metavar="NUMBER", help="show this many reasons of each target")
    arguments.add_argument("--models", type=int, default=0, metavar="NUMBER", help="show this many models with the most undecided nodes")
    options = arguments.parse_args()
    wanted = [f"--target={name}" for name in options.target] + [f"--targets={file}" for file in options.targets]
    if not wanted:
        arguments.error("name a target: --target NAME or --targets FILE")
    files = [file for path in options.paths for file in (sorted(path.rglob("*.onnx")) if path.is_dir() else [path])]
    records = []
    for start in range(0, len(files), FILES_PER_COMMAND):
        records += check([options.typeloom, "check", *wanted], files[start : start + FILES_PER_COMMAND])
    for file in sorted({str(file) for file in files} - {record["file"] for record in records if record.get("placements")}):
        print(f"{file}: no verdict")
    nodes, reasons, models = counts(records)
    print(f"{'target':28}{'models':>8}{'nodes':>9}{'undecided':>11}{'share':>9}")
    for target, own in nodes.items():
        total = sum(own.values())
        print(f"{target:28}{len(models[target]):8}{total:9}{own['undecided']:11}{100 * own['undecided'] / max(total, 1):8.2f}%")
    for target, own in reasons.items():
        for reason, number in own.most_common(options.reasons):
            print(f"{target}: {number} {reason}")
    for target, own in models.items():
        for file, number in own.most_common(options.models):
            print(f"{target}: {number} in {file}")
    return 0


def check(command: list[str], files: list[Path]) -> list[dict]:
    """The records of `check --format json`."""
    line = [*command, "--format", "json", "--max-problems", str(MAX_PROBLEMS), *map(str, files)]
    output = subprocess.run(line, capture_output=True, text=True, check=False).stdout
    return [json.loads(record) for record in output.splitlines()]


def counts(records: list[dict]) -> tuple[dict[str, Counter], dict[str, Counter], dict[str, Counter]]:
    """By target: the nodes by place, the undecided nodes by reason, and those by model."""
    nodes, reasons, models = defaultdict(Counter), defaultdict(Counter), defaultdict(Counter)
    for record in records:
        for target, placement in record.get("placements", {}).items():
            nodes[target].update({place: placement[place] for place in PLACES})
            models[target][record["file"]] += placement["undecided"]
        for diagnostic in record.get("diagnostics", []):
            if diagnostic["code"] == "target-undecided":
                target, reason, number = reason_of(diagnostic["message"])
                reasons[target][reason] += number
    return nodes, reasons, models


def reason_of(message: str) -> tuple[str, str, int]:
    """The target, the reason with the operator, and the number of nodes that a message is about."""
    found = re.fullmatch(r"it is undecided whether (\S+) runs (.*?)(?: \((\d+) nodes\))?", message, re.DOTALL)
    return (found[1], found[2], int(found[3] or 1)) if found else ("other", message, 1)


if __name__ == "__main__":
    sys.exit(main())
