"""Packs the command for a release, with its checksum.

    python tools/release/archive.py --target x86_64-unknown-linux-gnu --binary target/dist/typeloom --shared shared --output dist

writes `dist/typeloom-TARGET.tar.gz` (`.zip` for Windows) and `dist/typeloom-TARGET.tar.gz.sha256`, which `sha256sum --check` reads.
The archive contains the folder `typeloom-TARGET` with the command, the licences, the README and the files that `shared.py` wrote;
`cargo binstall` and the action expect this form. The same files give the same archive. A command of more than 20 MB is an error.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

#: Maximum size of the command in bytes.
MAX_BYTES = 20_000_000
#: Files next to the command.
TEXTS = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"]
#: 1980-01-01, the first date of a zip file.
DATE = (1980, 1, 1, 0, 0, 0)
SECONDS = 315_532_800


def files(target: str, binary: Path, shared: Path) -> list[tuple[str, bytes, int]]:
    """Name, content and permissions of the files in the archive."""
    folder = f"typeloom-{target}"
    command = "typeloom.exe" if "windows" in target else "typeloom"
    texts = [(f"{folder}/{name}", (ROOT / name).read_bytes(), 0o644) for name in TEXTS]
    for path in sorted(path for path in shared.rglob("*") if path.is_file()):
        texts.append((f"{folder}/{path.relative_to(shared).as_posix()}", path.read_bytes(), 0o644))
    return [(f"{folder}/{command}", binary.read_bytes(), 0o755), *texts]


def tar_gz(content: list[tuple[str, bytes, int]]) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data, mode in content:
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = len(data), mode, SECONDS
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(plain.getvalue(), mtime=0)


def zipped(content: list[tuple[str, bytes, int]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data, mode in content:
            entry = zipfile.ZipInfo(name, DATE)
            entry.external_attr = mode << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(description="Packs the command for a release.")
    parser.add_argument("--target", required=True)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    size = arguments.binary.stat().st_size
    if size > MAX_BYTES:
        print(f"error: {arguments.binary} has {size} bytes, more than {MAX_BYTES}", file=sys.stderr)
        return 1
    content = files(arguments.target, arguments.binary, arguments.shared)
    is_windows = "windows" in arguments.target
    data = zipped(content) if is_windows else tar_gz(content)
    name = f"typeloom-{arguments.target}.{'zip' if is_windows else 'tar.gz'}"
    arguments.output.mkdir(parents=True, exist_ok=True)
    (arguments.output / name).write_bytes(data)
    checksum = f"{hashlib.sha256(data).hexdigest()}  {name}\n"
    (arguments.output / f"{name}.sha256").write_bytes(checksum.encode())
    print(f"{name}: {len(data)} bytes, command {size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
