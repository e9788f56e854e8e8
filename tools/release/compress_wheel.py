#!/usr/bin/env python3
"""Writes a wheel with better compression: `compress_wheel.py WHEEL FOLDER`.

The members are compressed by libdeflate at its highest level, in the format that every tool for zip files reads (method 8 of the
ZIP specification, APPNOTE.TXT 6.3). Names, contents, times and permissions are those of the wheel, so its `RECORD` holds. The result
is read back and compared before it gets its name. Needs the package `deflate`.
"""

from __future__ import annotations

import argparse
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import deflate

LEVEL = 12
# Bit 11 of the general purpose flags: names are UTF-8.
UTF8 = 1 << 11
DEFLATED = 8
VERSION = 20


def member(info: zipfile.ZipInfo, data: bytes, offset: int) -> tuple[bytes, bytes]:
    """A member with its local header, and its record in the directory."""
    packed = deflate.deflate_compress(data, LEVEL)
    name = info.filename.encode()
    year, month, day, hour, minute, second = info.date_time
    time = hour << 11 | minute << 5 | second // 2
    date = (year - 1980) << 9 | month << 5 | day
    common = struct.pack(
        "<5H3L2H", VERSION, UTF8, DEFLATED, time, date, zlib.crc32(data), len(packed), len(data), len(name), 0
    )
    made_by = info.create_system << 8 | VERSION
    record = struct.pack("<4sH", b"PK\1\2", made_by) + common
    record += struct.pack("<3H2L", 0, 0, info.internal_attr, info.external_attr, offset) + name
    return b"PK\3\4" + common + name + packed, record


def compress(wheel: Path) -> bytes:
    """The wheel with all members compressed again."""
    body, directory = bytearray(), bytearray()
    with zipfile.ZipFile(wheel) as source:
        members = source.infolist()
        for info in members:
            content, record = member(info, source.read(info), len(body))
            body += content
            directory += record
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return bytes(body + directory + end)


def differences(old: Path, new: Path) -> list[str]:
    """The members whose names, order, contents, times or permissions differ."""
    with zipfile.ZipFile(old) as first, zipfile.ZipFile(new) as second:
        before, after = first.infolist(), second.infolist()
        if [info.filename for info in before] != [info.filename for info in after]:
            return ["the list of members"]
        facts = [(info.date_time, info.external_attr, info.create_system) for info in before]
        kept = [(info.date_time, info.external_attr, info.create_system) for info in after]
        return [
            info.filename
            for info, fact, other in zip(before, facts, kept, strict=True)
            if fact != other or first.read(info) != second.read(info.filename)
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    target = options.folder / options.wheel.name
    if target.exists() and target.samefile(options.wheel):
        parser.error("the folder is that of the wheel")
    draft = target.with_suffix(".tmp")
    draft.write_bytes(compress(options.wheel))
    if found := differences(options.wheel, draft):
        draft.unlink()
        print(f"{options.wheel}: not reproduced: {', '.join(found)}", file=sys.stderr)
        return 1
    draft.replace(target)
    print(f"{target}: {options.wheel.stat().st_size:,} -> {target.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
