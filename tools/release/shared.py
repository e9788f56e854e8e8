"""Writes the files that an archive of a release has in addition to the command: manual pages and completions.

    python tools/release/shared.py --binary target/dist/typeloom --output shared

writes `shared/man/man1/typeloom.1`, a page for each subcommand, and `shared/completions` with one file for each shell, under the
names by which the shells find them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

#: The names of the completions of each shell.
COMPLETIONS = {
    "bash": "typeloom.bash",
    "elvish": "typeloom.elv",
    "fish": "typeloom.fish",
    "powershell": "_typeloom.ps1",
    "zsh": "_typeloom",
}


def write(binary: Path, output: Path) -> None:
    """Writes all files into the folder."""
    subprocess.run([binary, "man", "--output", output / "man" / "man1"], check=True, stdout=subprocess.DEVNULL)
    completions = output / "completions"
    completions.mkdir(parents=True, exist_ok=True)
    for shell, name in COMPLETIONS.items():
        script = subprocess.run([binary, "completions", shell], check=True, capture_output=True).stdout
        (completions / name).write_bytes(script)


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes manual pages and completions.")
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    write(arguments.binary.resolve(), arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
