"""Tests of `typeloom.fleet`: files, an S3 server, throttling, large models, a Ray cluster.

moto and Ray are optional: tests that need them skip without them, and fail if `CI` is set.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import typeloom as tl
import typeloom.fleet
from s3_server import S3Server
from typeloom import _core
from typeloom.fleet import DIAGNOSTIC_COLUMNS, MODEL_COLUMNS, _Checker, _expand, _matches, _run

HEAD = '<ir_version: 10, opset_import: ["" : 21]> '
GOOD = _core.model_from_text(HEAD + "g (float[N, 4] x, float[4, 2] w) => (y) { y = MatMul(x, w) }")
BAD = _core.model_from_text(HEAD + "g (float[N, 4] x, float[5, 2] w) => (y) { y = MatMul(x, w) }")
BROKEN = b"\x3a\xff\xff\xff\x7fnot a model"
BOUND = 1 << 20
"""Maximum number of bytes to fetch of a model of 2 GB."""


def needs(*modules: str) -> None:
    """Skips a test if a module is missing; with `CI`, fails it."""
    missing = [module for module in modules if find_spec(module) is None]
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"not installed: {missing}")
    if missing:
        pytest.skip(f"not installed: {missing}")


def rows(table: Any) -> list[dict[str, Any]]:
    return table if isinstance(table, list) else table.to_pylist()


def column(table: Any, name: str) -> list[Any]:
    return [row[name] for row in rows(table)]


def options(endpoint: str, **more: str) -> dict[str, str]:
    return {
        "aws_endpoint": endpoint,
        "aws_allow_http": "true",
        "aws_region": "us-east-1",
        "aws_access_key_id": "test",
        "aws_secret_access_key": "test",
        **more,
    }


# Protobuf without a library: a file is a list of bytes and of numbers of zero bytes.

Piece = bytes | int


def varint(number: int) -> bytes:
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    parts.append(number)
    return bytes(parts)


def size_of(pieces: list[Piece]) -> int:
    return sum(piece if isinstance(piece, int) else len(piece) for piece in pieces)


def field(number: int, value: int | bytes | list[Piece]) -> list[Piece]:
    """A record: a number, bytes or a message."""
    if isinstance(value, int):
        return [varint(number << 3) + varint(value)]
    pieces: list[Piece] = [value] if isinstance(value, bytes) else value
    return [varint(number << 3 | 2) + varint(size_of(pieces)), *pieces]


def large_model(layers: int, width: int, *, declared: int | None = None) -> list[Piece]:
    """A chain of `MatMul` with square weights of `width`, a few biases, and a shape that an initializer decides."""
    graph: list[Piece] = []
    for at in range(layers):
        for op, data, other, result in (
            (b"MatMul", f"h{at}", f"model.layers.{at}.attention.weight", f"m{at}"),
            (b"Add", f"m{at}", f"model.layers.{at}.attention.bias", f"h{at + 1}"),
        ):
            node = field(1, data.encode()) + field(1, other.encode()) + field(2, result.encode()) + field(4, op)
            graph += field(1, node)
    last = field(1, f"h{layers}".encode()) + field(1, b"shape") + field(2, b"y") + field(4, b"Reshape")
    graph += field(1, last)
    graph += field(2, b"g")
    for at in range(layers):
        square = field(1, declared or width) + field(1, width)
        for name, dims, elements in (
            ("weight", square, width * width),
            ("bias", field(1, width), width),
        ):
            tensor = dims + field(2, 1) + field(8, f"model.layers.{at}.attention.{name}".encode())
            graph += field(5, tensor + field(9, [4 * elements]))
    graph += field(5, field(1, 2) + field(2, 7) + field(8, b"shape") + field(7, varint(width) + varint(8)))
    shape = field(1, field(1, 8)) + field(1, field(1, width))
    value = field(1, b"h0") + field(2, field(1, field(1, 1) + field(2, shape)))
    graph += field(11, value) + field(12, field(1, b"y"))
    return field(1, 10) + field(7, graph) + field(8, field(1, b"") + field(2, 21))


class Server(ThreadingHTTPServer):
    """An HTTP server on a free port, on a thread."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        self.lock = threading.Lock()
        self.requests = 0
        self.sent = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Closed connections are expected."""


class Quiet(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Any

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        with self.server.lock:
            self.server.sent += len(body)
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@contextlib.contextmanager
def virtual(pieces: list[Piece]) -> Iterator[Server]:
    """A store with one object, of which only the requested ranges exist in memory."""
    total = size_of(pieces)

    class Handler(Quiet):
        def do_GET(self) -> None:
            first, last = self.headers["Range"].removeprefix("bytes=").split("-")
            start, end = int(first), min(int(last) + 1, total)
            body, at = bytearray(), 0
            for piece in pieces:
                length = piece if isinstance(piece, int) else len(piece)
                low, high = max(start - at, 0), min(end - at, length)
                if low < high:
                    body += bytes(high - low) if isinstance(piece, int) else piece[low:high]
                at += length
            with self.server.lock:
                self.server.requests += 1
            ends = {"ETag": '"v"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}
            self.answer(206, bytes(body), {"Content-Range": f"bytes {start}-{end - 1}/{total}", **ends})

    server = Server(Handler)
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


MOTO = (
    "import sys; from moto.server import ThreadedMotoServer; "
    "server = ThreadedMotoServer('127.0.0.1', 0, verbose=False); server.start(); "
    "sys.stdout.write(str(server.get_host_and_port()[1]) + chr(10)); sys.stdout.flush(); sys.stdin.read()"
)


@pytest.fixture(scope="module")
def moto() -> Iterator[S3Server]:
    needs("moto", "flask")
    server = S3Server("-c", MOTO)
    try:
        server.put("/models")
        for at in range(12):
            server.put(f"/models/many/m{at:02}.onnx", BAD if at % 4 == 3 else GOOD)
        server.put("/models/other/deep/good.onnx", GOOD)
        server.put("/models/other/broken.onnx", BROKEN)
        server.put("/models/other/empty.onnx", b"")
        server.put("/models/other/notes.txt", b"text")
        yield server
    finally:
        server.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "good.onnx").write_bytes(GOOD)
    (tmp_path / "a" / "b" / "bad.onnx").write_bytes(BAD)
    (tmp_path / "a" / "broken.onnx").write_bytes(BROKEN)
    (tmp_path / "a" / "notes.txt").write_bytes(b"text")
    return tmp_path


def test_every_local_model_has_one_row_in_order(folder: Path) -> None:
    good, bad = str(folder / "a" / "good.onnx"), folder / "a" / "b" / "bad.onnx"
    missing = str(folder / "missing.onnx")
    result = tl.fleet.check([missing, bad, good, good, str(folder / "a")], progress=False)
    broken = str(folder / "a" / "broken.onnx")
    assert column(result.models, "uri") == [missing, str(bad), good, broken]
    assert column(result.models, "ok") == [False, False, True, False]
    assert [error is None for error in column(result.models, "error")] == [False, True, True, True]
    assert column(result.models, "nodes")[1:3] == [1, 1]
    assert column(result.models, "errors") == [0, 1, 0, 1]
    assert set(column(result.diagnostics, "uri")) == {str(bad), broken}
    assert "dim-mismatch" in column(result.diagnostics, "code")
    assert json.loads(column(result.diagnostics, "location")[0])
    assert not result and not result.ok and len(result) == 4
    assert result.failed == [missing, str(bad), broken]
    assert repr(result) == "<FleetResult 4 models: 1 ok, 2 with errors, 1 not read>"


def test_globs_and_folders_name_models(folder: Path) -> None:
    def found(pattern: str) -> list[str]:
        result = tl.fleet.check(str(folder / pattern), progress=False)
        return [Path(uri).relative_to(folder).as_posix() for uri in column(result.models, "uri")]

    assert found("a/*.onnx") == ["a/broken.onnx", "a/good.onnx"]
    assert found("**/b*.onnx") == ["a/b/bad.onnx", "a/broken.onnx"]
    assert found("a/[g]*.onnx") == ["a/good.onnx"]
    assert found("a/x*.onnx") == ["a/x*.onnx"]
    empty = folder / "empty"
    empty.mkdir()
    result = tl.fleet.check(empty, progress=False)
    assert len(result) == 1 and not result.ok


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text elsewhere")
def test_a_name_that_is_no_text_is_a_row(folder: Path) -> None:
    with open(os.fsencode(folder) + b"/a/\xff.onnx", "wb") as file:
        file.write(GOOD)
    result = tl.fleet.check(folder, progress=False)
    assert len(result) == len(rows(result.models)) == 4
    assert column(result.models, "uri")[-1].endswith("?.onnx")
    assert [error is None for error in column(result.models, "error")] == [True, True, True, False]


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a/*.onnx", "a/b.onnx", True),
        ("a/*.onnx", "a/b/c.onnx", False),
        ("a/**/*.onnx", "a/c.onnx", True),
        ("a/**/*.onnx", "a/b/b/c.onnx", True),
        ("**/**/**/x", "x", True),
        ("a/**", "a/b/c", True),
        ("a/?", "a/bc", False),
        ("a/[bc]", "a/c", True),
    ],
)
def test_patterns_of_objects(pattern: str, path: str, expected: bool) -> None:
    assert _matches(pattern.split("/"), path.split("/")) is expected


def test_tables_have_fixed_schemas(folder: Path) -> None:
    needs("pyarrow")
    import pyarrow.parquet as parquet

    for result in (
        tl.fleet.check(folder, progress=False),
        tl.fleet.check([], progress=False),
        tl.fleet.check(str(folder / "missing"), progress=False),
    ):
        result.write_parquet(folder / "out")
        for name, table, columns in (
            ("models", result.models, MODEL_COLUMNS),
            ("diagnostics", result.diagnostics, DIAGNOSTIC_COLUMNS),
        ):
            assert table.schema.names == [column for column, _ in columns]
            assert parquet.read_table(folder / "out" / f"{name}.parquet") == table


def test_without_pyarrow_tables_are_lists(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = tl.fleet.check(folder, progress=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert isinstance(result.models, list) and list(result.models[0]) == [name for name, _ in MODEL_COLUMNS]
    with pytest.raises(ImportError):
        result.write_parquet(folder / "out")


def test_options_reach_the_check(folder: Path) -> None:
    bad = str(folder / "a" / "b" / "bad.onnx")
    result = tl.fleet.check(bad, progress=False, seeds={"x": "float[N, 5]"}, strict=False)
    assert result.ok == tl.check(bad, seeds={"x": "float[N, 5]"}, strict=False).ok
    with pytest.raises(tl.TypeloomError):
        tl.fleet.check(bad, seeds={"x": "no type"})
    with pytest.raises(tl.TypeloomError):
        tl.fleet.check(bad, storage_options={"aws_endpiont": "x"})
    with pytest.raises(ValueError, match="engine"):
        tl.fleet.check(bad, "spark")
    with pytest.raises(ValueError, match="workers"):
        tl.fleet.check(bad, workers=0)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("package", ["tqdm", None])
def test_a_terminal_shows_the_progress(
    package: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if package is None:
        # The import of the package fails then.
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    else:
        pytest.importorskip("tqdm.auto")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    tl.fleet.check(folder)
    shown = terminal.getvalue()
    assert "3/3" in shown and "2 not ok" in shown
    for stream, options in ((terminal, {"progress": False}), (io.StringIO(), {})):
        monkeypatch.setattr(sys, "stderr", stream)
        stream.truncate(0)
        stream.seek(0)
        tl.fleet.check(folder, **options)
        assert stream.getvalue() == ""
    monkeypatch.setattr(sys, "stderr", terminal)
    tl.fleet.check([])
    assert terminal.getvalue() == ""


def test_an_interrupt_ends_the_check(folder: Path) -> None:
    def interrupted(uri: str) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _run({"a": None, "b": None}, "threads", interrupted, 1, False)


@pytest.mark.stores
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_an_interrupt_ends_waiting_for_a_store() -> None:
    # A process whose parent ignores interrupts, such as a job in the background, would ignore them too.
    script = """
import signal, sys, typeloom.fleet
signal.signal(signal.SIGINT, signal.default_int_handler)
store = {"aws_endpoint": sys.argv[1], "aws_allow_http": "true", "aws_skip_signature": "true"}
typeloom.fleet.check([f"s3://b/{at}.onnx" for at in range(100)], storage_options=store)
"""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(60)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = subprocess.Popen(
            [sys.executable, "-c", script, url], stderr=subprocess.PIPE, text=True
        )
        # A connection shows that the check waits for its answer.
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        connection.close()
    assert "KeyboardInterrupt" in errors
    assert process.returncode != 0


@pytest.mark.stores
def test_objects_are_checked_like_files(moto: S3Server) -> None:
    uris = [
        "s3://models/many/m00.onnx",
        "s3://models/other/broken.onnx",
        "s3://models/other/missing.onnx",
        "s3://nobucket/m.onnx",
        "s3://models/many/m03.onnx",
        "s3://models/other/empty.onnx",
        "s3://nobucket/",
    ]
    result = tl.fleet.check(uris, progress=False, storage_options=options(moto.url))
    models = rows(result.models)
    assert [model["uri"] for model in models] == uris
    assert [model["ok"] for model in models][:5] == [True, False, False, False, False]
    assert [model["error"] is not None for model in models] == [False, False, True, True, False, False, True]
    assert models[0]["bytes"] == models[0]["fetched"] == len(GOOD)
    assert models[0]["requests"] == 1 and models[0]["version"]
    assert "not there" in models[2]["error"]
    expected = tl.check(BAD).diagnostics[0]
    found = next(row for row in rows(result.diagnostics) if row["uri"] == uris[4])
    assert (found["code"], found["message"], found["node"]) == (expected.code, expected.message, expected.node)


@pytest.mark.stores
def test_objects_are_listed(moto: S3Server) -> None:
    def found(uri: str) -> list[str]:
        result = tl.fleet.check(uri, progress=False, storage_options=options(moto.url))
        return [uri.removeprefix("s3://models/") for uri in column(result.models, "uri")]

    many = [f"many/m{at:02}.onnx" for at in range(12)]
    other = ["other/broken.onnx", "other/deep/good.onnx", "other/empty.onnx"]
    assert found("s3://models/many/") == many
    assert found("s3://models/") == found("s3://models") == many + other
    assert found("s3://models/many/m0[0-2].onnx") == many[:3]
    assert found("s3://models/**/good.onnx") == ["other/deep/good.onnx"]
    assert found("s3://models/other/*.onnx") == ["other/broken.onnx", "other/empty.onnx"]
    assert found("s3://models/none*") == ["none*"]


@pytest.mark.stores
def test_options_come_from_the_environment(moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in options(moto.url).items():
        monkeypatch.setenv(name.upper(), value)
    assert tl.fleet.check("s3://models/many/m00.onnx", progress=False)


@pytest.mark.stores
def test_tensors_in_other_objects_are_looked_for(moto: S3Server) -> None:
    entry = field(1, b"location") + field(2, b"w.bin")
    tensor = field(1, 4) + field(2, 1) + field(8, b"w") + field(13, entry) + field(14, 1)
    node = field(1, b"w") + field(2, b"y") + field(4, b"Neg")
    graph = field(1, node) + field(2, b"g") + field(5, tensor) + field(12, field(1, b"y"))
    pieces = field(1, 10) + field(7, graph) + field(8, field(2, 21))
    moto.put("/models/side/m.onnx", b"".join(piece for piece in pieces if isinstance(piece, bytes)))

    def found(**more: Any) -> list[str]:
        uri = "s3://models/side/m.onnx"
        result = tl.fleet.check(uri, progress=False, storage_options=options(moto.url), **more)
        return column(result.diagnostics, "code")

    assert found() == ["missing-external-data"]
    assert found(external_data=False) == []
    moto.put("/models/side/w.bin", bytes(15))
    assert found() == ["missing-external-data"]
    moto.put("/models/side/w.bin", bytes(16))
    assert found() == []


@pytest.mark.stores
def test_throttled_requests_are_repeated(moto: S3Server) -> None:
    refused = 9

    class Proxy(Quiet):
        def do_GET(self) -> None:
            with self.server.lock:
                self.server.requests += 1
                number = self.server.requests
            if number <= refused:
                code = 503 if number % 3 else 429
                body = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
                self.answer(code, body, {"Content-Type": "application/xml"})
                return
            connection = http.client.HTTPConnection("127.0.0.1", moto.port, timeout=60)
            connection.request("GET", self.path, headers=dict(self.headers.items()))
            response = connection.getresponse()
            body = response.read()
            skipped = {"content-length", "connection", "transfer-encoding", "date", "server"}
            headers = {name: value for name, value in response.getheaders() if name.lower() not in skipped}
            connection.close()
            self.answer(response.status, body, headers)

    server = Server(Proxy)
    try:
        uris = [f"s3://models/many/m{at:02}.onnx" for at in range(12)]
        result = tl.fleet.check(uris, progress=False, workers=4, storage_options=options(server.url))
        assert column(result.models, "uri") == uris
        assert column(result.models, "error") == [None] * 12
        assert column(result.models, "ok") == [at % 4 != 3 for at in range(12)]
        assert server.requests == 12 + refused
        # Without retries, a throttled model is a row.
        server.requests = 0
        result = tl.fleet.check(
            uris, progress=False, workers=1, storage_options=options(server.url, max_retries="0")
        )
        assert [error is None for error in column(result.models, "error")] == [at >= refused for at in range(12)]
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.stores
@pytest.mark.parametrize(("layers", "width"), [(32, 4096), (220, 1600), (2, 16384)])
def test_two_gigabytes_cost_less_than_a_megabyte(layers: int, width: int) -> None:
    pieces = large_model(layers, width)
    assert size_of(pieces) > 2 << 30
    with virtual(pieces) as server:
        result = tl.fleet.check("s3://bucket/large.onnx", progress=False, storage_options=options(server.url))
        (row,) = rows(result.models)
        assert row["ok"], rows(result.diagnostics)
        assert row["bytes"] == size_of(pieces)
        assert row["fetched"] == server.sent < BOUND
        assert row["requests"] == server.requests
        assert row["nodes"] == 2 * layers + 1
        assert row["typed"] == row["values"]


@pytest.mark.stores
@pytest.mark.parametrize(
    ("uri", "endpoint", "store"),
    [
        ("gs://bucket/large.onnx", "google_base_url", {"google_skip_signature": "true"}),
        (
            "az://container/large.onnx",
            "azure_storage_endpoint",
            {"azure_skip_signature": "true", "azure_storage_account_name": "account"},
        ),
    ],
)
def test_other_stores_read_ranges(uri: str, endpoint: str, store: dict[str, str]) -> None:
    with virtual(large_model(4, 2048)) as server:
        store = {endpoint: server.url, "allow_http": "true", **store}
        (row,) = rows(tl.fleet.check(uri, progress=False, storage_options=store).models)
        assert row["error"] is None and row["ok"]
        assert row["fetched"] == server.sent < BOUND


@pytest.mark.stores
def test_the_size_of_weights_is_checked_without_them() -> None:
    with virtual(large_model(4, 1024, declared=1023)) as server:
        result = tl.fleet.check("s3://bucket/large.onnx", progress=False, storage_options=options(server.url))
        assert not result.ok and column(result.models, "error") == [None]
        assert column(result.models, "fetched")[0] < BOUND


@pytest.mark.stores
def test_the_limit_of_a_model_is_a_row() -> None:
    with virtual(large_model(2000, 64)) as server:
        result = tl.fleet.check(
            "s3://bucket/large.onnx", progress=False, max_fetch=200_000, storage_options=options(server.url)
        )
        (row,) = rows(result.models)
        assert "200000 bytes" in row["error"]
        assert server.sent <= 200_000


@pytest.mark.stores
def test_a_large_object_of_a_real_server(moto: S3Server) -> None:
    pieces = large_model(12, 2048)
    body = b"".join(bytes(piece) if isinstance(piece, int) else piece for piece in pieces)
    assert len(body) > 200_000_000
    moto.put("/models/large/m.onnx", body)
    uri = "s3://models/large/m.onnx"
    (row,) = rows(tl.fleet.check(uri, progress=False, storage_options=options(moto.url)).models)
    assert row["ok"] and row["bytes"] == len(body)
    assert row["fetched"] < BOUND


# Ray


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes with a processor each."""
    needs("ray", "pyarrow")
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        ray.init(address=cluster.address, log_to_driver=False)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def killing(checker: Callable[[str], Any], victim: str, marker: Path | None) -> Callable[[str], Any]:
    """A check that ends its process when it comes to a model: once, or each time if there is no marker."""

    class Killing:
        def __call__(self, uri: str) -> Any:
            if uri == victim and (marker is None or not marker.exists()):
                if marker is not None:
                    marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return checker(uri)

    return Killing()


def checker_for(endpoint: str) -> _Checker:
    return _Checker(
        storage_options=options(endpoint),
        max_fetch=1 << 20,
        external_data=True,
        strict=True,
        seeds={},
        assume={},
        merge_symbols=False,
        operators=None,
    )


@pytest.mark.stores
def test_ray_answers_like_threads(cluster: Any, moto: S3Server) -> None:
    uris = ["s3://models/many/", "s3://models/other/missing.onnx", "s3://models/other/", "s3://nobucket/m.onnx"]
    store = options(moto.url)
    threads = tl.fleet.check(uris, progress=False, storage_options=store)
    ray = tl.fleet.check(uris, "ray", progress=False, storage_options=store)
    drop = {"seconds"}

    def plain(table: Any) -> list[dict[str, Any]]:
        return [{name: value for name, value in row.items() if name not in drop} for row in rows(table)]

    assert len(ray) == 12 + 1 + 3 + 1
    assert plain(ray.models) == plain(threads.models)
    assert plain(ray.diagnostics) == plain(threads.diagnostics)


@pytest.mark.stores
def test_a_killed_worker_is_replaced(cluster: Any, moto: S3Server, tmp_path: Path) -> None:
    checker = checker_for(moto.url)
    entries = _expand(["s3://models/many/"], checker.fleet)
    marker = tmp_path / "killed"
    result = _run(entries, "ray", killing(checker, "s3://models/many/m05.onnx", marker), 2, False)
    assert marker.exists()
    assert column(result.models, "uri") == list(entries)
    assert column(result.models, "error") == [None] * 12
    assert column(result.models, "ok") == [at % 4 != 3 for at in range(12)]


@pytest.mark.stores
def test_a_model_that_ends_every_worker_is_a_row(cluster: Any, moto: S3Server) -> None:
    checker = checker_for(moto.url)
    entries = _expand(["s3://models/many/"], checker.fleet)
    result = _run(entries, "ray", killing(checker, "s3://models/many/m05.onnx", None), 2, False)
    assert column(result.models, "uri") == list(entries)
    errors = column(result.models, "error")
    assert "worker process ended" in errors[5]
    assert errors[:5] + errors[6:] == [None] * 11


def test_an_exception_of_the_set_up_is_raised(cluster: Any) -> None:
    def wrong(uri: str) -> Any:
        raise RuntimeError("no such package")

    with pytest.raises(Exception, match="no such package"):
        _run({"a.onnx": None}, "ray", wrong, 1, False)
