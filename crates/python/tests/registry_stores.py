"""Stores and processes for the tests of registries."""

from __future__ import annotations

import json
import queue
import re
import subprocess
import sys
import threading
import urllib.parse
from pathlib import Path
from typing import Any

from conftest import LIMIT
from s3_server import S3Server
from typeloom.registry import Registry

HERE = Path(__file__).parent
BUCKET = "registries"


def options(endpoint: str, key: str = "test", **more: str) -> dict[str, str]:
    """Options of a client of an S3 server, which repeats requests a few times only."""
    return {
        "aws_endpoint": endpoint,
        "aws_allow_http": "true",
        "aws_region": "us-east-1",
        "aws_access_key_id": key,
        "aws_secret_access_key": "test",
        "max_retries": "3",
        "timeout": "3s",
        **more,
    }


class Folder:
    """A local folder."""

    kind = "folder"

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = str(root)
        self.options: dict[str, str] = {}

    def registry(self) -> Registry:
        return Registry(self.url)

    def keys(self) -> list[str]:
        found = (path for path in self.root.rglob("*") if path.is_file())
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def read(self, key: str) -> bytes:
        return (self.root / key).read_bytes()

    def write(self, key: str, data: bytes) -> None:
        path = self.root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def delete(self, key: str) -> None:
        (self.root / key).unlink()


class Server(S3Server):
    """The program `faulty_s3.py` with a bucket."""

    def __init__(self) -> None:
        super().__init__(str(HERE / "faulty_s3.py"))
        self.put(f"/{BUCKET}")

    def count(self, key: str) -> int:
        """The number of requests that counted for the plan of an access key."""
        return int(self.request("GET", f"/count?{key}")[1])


class Bucket:
    """A folder in the bucket of a server."""

    kind = "s3"

    def __init__(self, server: Server, folder: str) -> None:
        self.server = server
        self.folder = folder
        self.url = f"s3://{BUCKET}/{folder}"
        self.options = options(server.url)
        self._registry = Registry(self.url, **self.options)

    def registry(self) -> Registry:
        """A new client reads certificates, which takes longer than most tests, so there is one."""
        return self._registry

    def _path(self, key: str) -> str:
        return f"/{BUCKET}/{self.folder}/{urllib.parse.quote(key)}"

    def keys(self) -> list[str]:
        found: list[str] = []
        after = ""
        while True:
            query = urllib.parse.urlencode({"list-type": 2, "prefix": f"{self.folder}/", "start-after": after})
            status, data = self.server.request("GET", f"/{BUCKET}?{query}")
            assert status == 200
            page = re.findall(r"<Key>([^<]*)</Key>", data.decode())
            if not page:
                return found
            found += [key.removeprefix(f"{self.folder}/") for key in page]
            after = page[-1]

    def read(self, key: str) -> bytes:
        status, data = self.server.request("GET", self._path(key))
        assert status == 200, (key, status)
        return data

    def write(self, key: str, data: bytes) -> None:
        assert self.server.request("PUT", self._path(key), data)[0] == 200

    def delete(self, key: str) -> None:
        assert self.server.request("DELETE", self._path(key))[0] == 204


Store = Folder | Bucket


class Worker:
    """The program `registry_worker.py`, which runs one job at a time."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "registry_worker.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put({"end": "the program ended"})

    def start(self, job: dict[str, Any]) -> int:
        """Starts a job; returns its process id."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        return int(self.next()["pid"])

    def next(self) -> Any:
        """The next event."""
        return self.lines.get(timeout=LIMIT)

    def rest(self) -> list[Any]:
        """The events up to the end of the job, which is the last one."""
        events = [self.next()]
        while "end" not in events[-1]:
            events.append(self.next())
        return events

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=LIMIT)
