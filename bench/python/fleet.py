"""Measures `typeloom.fleet`: models per second, scaling with workers, bytes fetched.

    cargo run --release -- fleet MODELS [--limit N] [--workers 1,2,4] [--latency MS] [--ray]

MODELS is a folder of ONNX files. The models are checked one by one with `typeloom.check` in this process, then by the engines, from
disk and from a local server that answers ranges as S3 does, after a latency. A generated model of 2 GB, of which the server holds
only the graph, shows the bytes that are fetched. Prints tables in Markdown for `bench/results/python.md`.

Needs no network and no credentials. Each figure is of one run; the machine must be idle.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import typeloom as tl
import typeloom.fleet

sys.path.insert(0, str(Path(__file__).parents[2] / "crates" / "python" / "tests"))

from test_fleet import large_model, options, size_of  # noqa: E402


class Store(ThreadingHTTPServer):
    """Objects by key; an object is a list of bytes and of numbers of zero bytes."""

    daemon_threads = True
    request_queue_size = 256

    def __init__(self, objects: dict[str, list[Any]], latency: float) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects = objects
        self.latency = latency
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Any

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def do_GET(self) -> None:
        time.sleep(self.server.latency)
        pieces = self.server.objects[self.path.removeprefix("/bench/")]
        total = size_of(pieces)
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        start, end = int(first), min(int(last) + 1, total)
        body, at = bytearray(), 0
        for piece in pieces:
            length = piece if isinstance(piece, int) else len(piece)
            low, high = max(start - at, 0), min(end - at, length)
            if low < high:
                body += bytes(high - low) if isinstance(piece, int) else piece[low:high]
            at += length
        self.send_response(206)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Range", f"bytes {start}-{end - 1}/{total}")
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        self.end_headers()
        self.wfile.write(body)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def line(*cells: object) -> None:
    sys.stdout.write("| " + " | ".join(str(cell) for cell in cells) + " |\n")
    sys.stdout.flush()


def table(*heads: str) -> None:
    sys.stdout.write("\n")
    line(*heads)
    line(*("---" for _ in heads))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("models", type=Path)
    parser.add_argument("--limit", type=int, default=1000)
    parser.add_argument("--workers", default="1,2,4")
    parser.add_argument("--latency", type=float, default=20.0, help="of a request to the store, in milliseconds")
    parser.add_argument("--ray", action="store_true")
    arguments = parser.parse_args()
    workers = [int(number) for number in arguments.workers.split(",")]
    paths = sorted(str(path) for path in arguments.models.rglob("*.onnx"))[: arguments.limit]
    if not paths:
        parser.error("there are no models in the folder")
    sys.stdout.write(f"{len(paths)} models, {os.cpu_count()} processors, Python {platform.python_version()}\n")

    objects = {os.path.basename(path): [Path(path).read_bytes()] for path in paths}
    store = Store(objects, arguments.latency / 1000)
    urls = [f"s3://bench/{name}" for name in objects]
    tl.check(paths[0])

    table("models", "engine", "workers", "models/s", "against one process")
    seconds, _ = timed(lambda: [bool(tl.check(path)) for path in paths])
    single = len(paths) / seconds
    line("disk", "`typeloom.check` in a loop", 1, f"{single:.0f}", "1.00")

    def run(uris: list[str], kind: str, engine: str, count: int) -> None:
        store_options = options(store.url)
        work = lambda: tl.fleet.check(  # noqa: E731
            uris, engine, workers=count, progress=False, storage_options=store_options
        )
        seconds, result = timed(work)
        unread = sum(error is not None for error in column(result.models, "error"))
        if unread:
            raise SystemExit(f"{unread} models were not read")
        rate = len(uris) / seconds
        line(kind, engine, count, f"{rate:.0f}", f"{rate / single:.2f}")

    for count in workers:
        run(paths, "disk", "threads", count)
    for count in [*workers, 4 * workers[-1]]:
        run(urls, f"store, {arguments.latency:g} ms", "threads", count)
    if arguments.ray:
        import ray

        # The start of the cluster and of its processes is not measured.
        ray.init(num_cpus=workers[-1], include_dashboard=False, log_to_driver=False)
        tl.fleet.check(paths, "ray", progress=False)
        for count in workers:
            run(paths, "disk", "ray", count)
        ray.shutdown()

    table("model", "tensors", "size", "bytes fetched", "requests", "seconds")
    for layers, width in ((2, 16384), (32, 4096), (220, 1600)):
        pieces = large_model(layers, width)
        store.objects["large"] = pieces
        result = tl.fleet.check("s3://bench/large", progress=False, storage_options=options(store.url))
        row = {name: column(result.models, name)[0] for name in ("ok", "bytes", "fetched", "requests", "seconds")}
        if not row["ok"]:
            raise SystemExit("the large model has errors")
        size, fetched = f"{row['bytes'] / 1e9:.2f} GB", f"{row['fetched'] / 1e3:.0f} kB"
        line(f"{layers} layers", 2 * layers + 1, size, fetched, row["requests"], f"{row['seconds']:.2f}")


def column(rows: Any, name: str) -> list[Any]:
    return [row[name] for row in (rows if isinstance(rows, list) else rows.to_pylist())]


if __name__ == "__main__":
    main()
