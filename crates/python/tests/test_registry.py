"""Tests of `typeloom.registry`: operations, errors, threads, forks, interrupts."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import blake3
import pytest

import typeloom as tl
from conftest import HEAD, LIMIT, interrupted
from registry_stores import BUCKET, Bucket, Folder, Server, Store, options
from registry_worker import interface, model
from typeloom.registry import NotFoundError, Registry, RegistryError, RejectedError

WRONG = HEAD + "g (float[N, 3] x, float[4, 5] w) => (y) { y = MatMul(x, w) }"


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store."""
    if request.param == "folder":
        return Folder(tmp_path / "registry")
    return Bucket(request.getfixturevalue("s3"), f"api-{request.node.name}")


@pytest.fixture
def registry(tmp_path: Path) -> Registry:
    """An empty registry in a folder."""
    return Registry(tmp_path / "registry")


def test_versions_are_pushed_and_pulled(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225599")
    registry = store.registry()
    path = tmp_path / "net.onnx"
    path.write_bytes(tl.model_from_text(model(1)))
    first = registry.push(path, "vision/net", alias=["production", "stable"])
    assert (first.reference, first.new, first.aliases) == ("vision/net@1", True, ["production", "stable"])
    assert first.time == datetime(2025, 12, 31, 23, 59, 59, tzinfo=timezone.utc)
    assert (first.source.name, first.source.size) == (str(path), path.stat().st_size)
    assert first.source.digest == blake3.blake3(path.read_bytes()).hexdigest()
    assert first.types == {"main": interface(1).digest}
    assert first.tool.startswith("typeloom ")
    second = registry.push(model(2), "vision/net", alias="production")
    assert (second.number, second.source.name) == (2, "<text>")
    assert registry.push(model(2), "other").number == 1
    assert [one.aliases for one in registry.versions("vision/net")] == [["stable"], ["production"]]
    assert [one.number for one in registry.versions("vision/net", limit=1)] == [2]
    assert [one.name for one in registry.subjects()] == ["other", "vision/net"]
    assert [repr(one) for one in registry.subjects("vision")] == [
        "<Subject vision/net: 2 versions, backward, production=2, stable=1>"
    ]
    assert registry.subjects("vis") == []
    for reference, content in [("", 2), ("@latest", 2), ("@1", 1), ("@stable", 1), ("@production", 2)]:
        pulled = registry.pull(f"vision/net{reference}")
        assert pulled == interface(content)
        assert registry.pull_bundle(f"vision/net{reference}").to_bytes() == pulled.to_bundle()
    shown = registry.show("vision/net@stable")
    assert (shown.number, shown.bundle) == (1, blake3.blake3(interface(1).to_bundle()).hexdigest())
    assert shown.size == len(interface(1).to_bundle())


def test_equal_content_is_pushed_once(store: Store) -> None:
    registry = store.registry()
    assert registry.push(model(1), "net").new
    before = store.keys()
    again = registry.push(interface(1), "net")
    assert (again.new, again.number, again.source.name) == (False, 1, "<text>")
    assert store.keys() == before
    # Settings are written nevertheless.
    assert registry.push(tl.pool.Bundle(interface(1).to_bundle()), "net", alias="a").aliases == ["a"]
    assert registry.subject("net").entry == 2


def test_names_of_symbols_come_back_as_they_were_pushed(registry: Registry) -> None:
    def of(batch: str, past: str) -> str:
        return HEAD + f"g (float[{batch}, 4, {past}, 8] x, float[?, 3] w) => (y, v) {{ y = Relu(x) v = Relu(w) }}"

    text = "(x: float[batch, 4, past, 8], w: float[?, 3]) -> (y: float[batch, 4, past, 8], v: float[?, 3])"
    first = registry.push(of("batch", "past"), "net")
    assert str(registry.pull("net")) == text
    assert str(tl.Interface.from_bundle(registry.pull_bundle("net").to_bytes())) == text
    again = registry.push(of("past", "other"), "net")
    assert (again.new, again.number, again.bundle) == (False, 1, first.bundle)
    assert str(registry.pull("net")) == text
    assert registry.pull("net") == tl.describe(of("n", "m"))
    # A bundle without names is the same content.
    assert not registry.push(tl.describe(of("A", "B")), "net").new


def test_versions_are_compared_like_models(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.push(model(1), "vision/net", alias="production", mode="none")
    latest = registry.push(model(2), "vision/net")
    expected = tl.diff(model(1), model(2))
    for old, new in [
        ("vision/net@production", "vision/net"),
        ("vision/net@1", latest),
        ("vision/net@1", model(2)),
        (interface(1), "vision/net@2"),
        (registry.pull_bundle("vision/net@1"), "vision/net@latest"),
    ]:
        assert repr(registry.diff(old, new)) == repr(expected)
    assert bool(registry.diff("vision/net@1", "vision/net@2", mode="forward")) == bool(
        tl.diff(model(1), model(2), mode="forward")
    )
    monkeypatch.chdir(tmp_path)
    Path("net@1").write_bytes(tl.model_from_text(model(2)))
    assert repr(registry.diff("net@1", "vision/net@2")) == repr(tl.diff(model(2), model(2)))
    with pytest.raises(NotFoundError, match=r"no subject `vision/nett`; did you mean `vision/net`\?"):
        registry.diff("vision/nett@1", "vision/net@2")
    with pytest.raises(NotFoundError, match=r"no alias `prodution` \(its aliases: `production`\); did you mean `production`\?"):
        registry.diff("vision/net@prodution", "vision/net@2")


def test_the_models_of_a_folder_are_pushed_each_to_its_subject(registry: Registry, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    (folder / "vision").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    files = {
        ".hidden/net.onnx": tl.model_from_text(model(1)),
        ".gitignore": b"ignored.onnx\n",
        "bad name.onnx": tl.model_from_text(model(1)),
        "broken.onnx": b"no model",
        "ignored.onnx": tl.model_from_text(model(1)),
        "vision/net.onnx": tl.model_from_text(model(1)),
        "vision/net.onnxtxt": model(1).encode(),
        "wrong.onnxtxt": WRONG.encode(),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    errors = {
        "bad name.onnx": "TypeloomError",
        "broken.onnx": "ModelError",
        "vision/net.onnx": None,
        "vision/net.onnxtxt": "TypeloomError",
        "wrong.onnxtxt": "ModelError",
    }

    def pushed(**options: Any) -> list[tl.registry.Pushed]:
        results = registry.push_all(folder, prefix="team", **options)
        names = [os.path.relpath(one.file, folder) for one in results]
        assert dict(zip(names, (type(one.error).__name__ if one.error else None for one in results))) == errors
        return [one for one in results if one]

    (preview,) = pushed(dry_run=True)
    assert (preview.subject, preview.number, preview.new, preview.version) == ("team/vision/net", 1, True, None)
    assert not os.path.exists(registry.url)
    (first,) = pushed(alias="production")
    assert first.version is not None
    assert (first.version.reference, first.version.aliases) == ("team/vision/net@1", ["production"])
    (again,) = pushed()
    assert (again.number, again.new) == (1, False)
    assert repr(again).endswith("net.onnx -> team/vision/net@1, unchanged>")
    with pytest.raises(NotADirectoryError):
        registry.push_all(folder / "none")


def test_a_violation_is_rejected_with_its_differences(store: Store) -> None:
    registry = store.registry()
    registry.push(model(1), "net", mode="backward_transitive")
    registry.push(model(3), "net")
    before = store.keys()
    with pytest.raises(RejectedError) as caught:
        registry.push(model(2), "net")
    verdict = caught.value.verdict
    assert isinstance(caught.value, (RegistryError, tl.TypeloomError))
    assert not verdict and not verdict.compatible
    assert (verdict.mode, verdict.compared, verdict.violated, verdict.nearest) == ("backward_transitive", 2, 1, 1)
    (compared,) = verdict.versions
    assert compared.version == 2 and not compared
    assert [(one.path, one.code) for one in compared.differences] == [("outputs.y2", "output-removed")]
    assert "version 2: outputs.y2" in str(caught.value)
    assert store.keys() == before
    with pytest.raises(RejectedError):
        registry.push(model(4), "net", mode="full")
    assert registry.subject("net").mode == "backward_transitive"
    clone = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(clone, RejectedError) and str(clone) == str(caught.value)


def test_the_order_of_ports_is_free_by_name(registry: Registry) -> None:
    def of(inputs: str) -> str:
        return HEAD + f"g ({inputs}) => (z) {{ z = Add(x, y) }}"

    registry.push(of("float[N] x, float[N] y"), "net", mode="full")
    with pytest.raises(RejectedError):
        registry.push(of("float[N] y, float[N] x"), "net")
    assert registry.push(of("float[N] y, float[N] x"), "net", by_name=True).number == 2
    assert registry.subject("net").by_name
    assert not registry.set("net", by_name=False).by_name


def test_a_check_writes_nothing(store: Store) -> None:
    registry = store.registry()
    registry.push(model(1), "net", alias="production")
    registry.push(model(2), "net")
    before = store.keys()
    assert not registry.check(model(1), "net")
    assert registry.check(model(1), "net@production")
    assert registry.check(model(3), "net")
    assert not registry.check(model(3), "net", mode="full")
    assert registry.check(model(1), "net", mode="forward")
    assert store.keys() == before
    assert repr(registry.check(model(1), "net")) == (
        "net@2: outputs.y1: removed, was float[N, 4] (breaks backward)\n"
        "not compatible with net (backward); nearest compatible version: net@1"
    )


def test_settings_change_without_a_version(store: Store) -> None:
    registry = store.registry()
    registry.push(model(1), "net", alias="a")
    registry.push(model(2), "net")
    changed = registry.set("net", mode="none", aliases={"b": 2, "c": "a", "d": "latest"}, remove_aliases=["a"])
    assert changed.aliases == {"b": 2, "c": 1, "d": 2} and changed.mode == "none" and changed.versions == 2
    assert registry.set("net", mode="none").entry == changed.entry
    assert registry.push(model(1), "net").number == 3
    for wrong in ({"b": 9}, {"b": "x"}):
        with pytest.raises(NotFoundError):
            registry.set("net", aliases=wrong)
    with pytest.raises(NotFoundError, match="no alias"):
        registry.set("net", remove_aliases=["x"])


def test_bundles_of_other_types_are_versions(registry: Registry) -> None:
    pool = tl.Pool()
    old = pool.export({"numbers": pool.list(pool.primitive("int"))})
    new = pool.export({"numbers": pool.list(pool.primitive("str"))})
    registry.push(old, "types")
    with pytest.raises(RejectedError) as caught:
        registry.push(new, "types")
    assert caught.value.verdict.versions[0].differences[0].path
    assert registry.pull_bundle("types") == old
    with pytest.raises(tl.TypeloomError):
        registry.pull("types")
    verdict = registry.check(model(1), "types")
    assert verdict.versions[0].error and not verdict
    with pytest.raises(RegistryError, match="not a bundle"):
        registry.push(tl.pool.Bundle(b"TLPBxx"), "types")


def test_a_compiled_model_has_the_recorded_interface(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(tl.compile(tl.model_from_text(model(2))))
    registry.push(path, "net")
    assert registry.check(model(2), "net", mode="full").versions[0].equal


def test_wrong_names_and_models_are_errors(registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(tl.ModelError):
        registry.push(WRONG, "net")
    with pytest.raises(FileNotFoundError):
        registry.push(tmp_path / "missing.onnx", "net")
    with pytest.raises(TypeError):
        registry.push(7, "net")  # type: ignore[arg-type]
    for subject in ("", "../net", "a b", "_log", "a//b"):
        with pytest.raises(tl.TypeloomError, match="name of a subject"):
            registry.push(model(1), subject)
    with pytest.raises(tl.TypeloomError, match="compatibility mode"):
        registry.push(model(1), "net", mode="backwards")
    with pytest.raises(tl.TypeloomError, match="alias"):
        registry.push(model(1), "net", alias="latest")
    assert not Path(registry.url).exists()
    for call in (registry.subjects, registry.verify, registry.gc, lambda: registry.pull("net")):
        with pytest.raises(NotFoundError, match="no registry"):
            call()
    assert not Path(registry.url).exists()
    registry.push(model(1), "net")
    for reference in ("other", "net@2", "net@x"):
        with pytest.raises(NotFoundError):
            registry.pull(reference)
    with pytest.raises(tl.TypeloomError):
        registry.pull("net@0")
    with pytest.raises(LookupError):
        registry.versions("other")


def test_the_location_comes_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TYPELOOM_REGISTRY", raising=False)
    assert Registry().url == str(tmp_path / ".typeloom-registry")
    monkeypatch.setenv("TYPELOOM_REGISTRY", "elsewhere")
    registry = Registry()
    monkeypatch.chdir("/")
    registry.push(model(1), "net")
    assert (tmp_path / "elsewhere" / "registry.json").is_file()
    assert Registry(tmp_path / "elsewhere").pull("net") == interface(1)
    assert Registry(f"file://{tmp_path}/elsewhere").pull("net") == interface(1)


def test_a_collection_leaves_what_versions_refer_to(store: Store) -> None:
    registry = store.registry()
    registry.push(model(1), "net")
    leftover = f"subjects/net/_bundles/{'0' * 64}-{'1' * 32}"
    store.write(leftover, b"interrupted")
    assert registry.verify().unreferenced == {"net": 1}
    assert [one.bundles for one in registry.gc()] == [[]]
    dry = registry.gc("net", older_than=0, dry_run=True)
    assert leftover in store.keys()
    swept = registry.gc("net", older_than=0)
    assert swept[0].bundles == [leftover.rsplit("/", 1)[1]] and swept[0].bytes == 11
    assert dry[0].bundles == swept[0].bundles
    assert leftover not in store.keys()
    assert registry.push(model(2), "net").number == 2
    assert registry.verify().unreferenced == {"net": 0}


def test_a_report_has_the_differences_from_a_version(store: Store) -> None:
    registry = store.registry()
    registry.push(model(2), "net", alias="production")
    good = tl.check(model(3), against="net@production", registry=registry)
    assert good and good.against and good.errors == []
    assert [(one.code, one.severity) for one in good.diagnostics] == [("output-added", "warning")]
    assert good.text().endswith("1 warning, backward compatible with net@production")
    bad = tl.check(model(1), against="net@production", registry=registry)
    assert not bad and not bad.ok and bad.against is not None and not bad.against
    (problem,) = bad.errors
    assert problem.code == "output-removed" and not problem.labels
    assert str(problem) == "error[output-removed]: outputs.y1: removed, was float[N, 4] (breaks backward), compared with net@1"
    assert problem.text in bad.text()
    assert bad.text().endswith("<text>: 1 error, not backward compatible with net@production")
    with pytest.raises(tl.ModelError, match="outputs.y1"):
        bad.raise_for_errors()
    assert tl.check(model(2), against="net", registry=registry).diagnostics == []
    assert tl.check(model(1)).against is None
    # A model with errors has no interface.
    wrong, right = tl.check([WRONG, model(2)], against="net", registry=registry)
    assert wrong.against is None and [one.code for one in wrong.errors] == ["dim-mismatch"]
    assert right.against and right
    with pytest.raises(NotFoundError):
        tl.check(WRONG, against="net@other", registry=registry)


def test_a_report_is_that_of_the_command(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    registry.push(model(2), "net")
    for content in (1, 2, 3):
        path.write_bytes(tl.model_from_text(model(content)))
        report = tl.check(path, against="net", registry=registry)
        arguments = ["check", str(path), "--against", "net", "--registry", registry.url]
        command = subprocess.run(
            [sys.executable, "-m", "typeloom", *arguments], capture_output=True, text=True, timeout=LIMIT
        )
        assert command.returncode == (0 if report else 1), command.stderr
        lines = [line for line in command.stdout.splitlines() if line]
        assert lines == [line for line in report.text().splitlines() if line]


def test_the_command_and_the_package_share_a_registry(registry: Registry, tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(tl.model_from_text(model(2)))
    command = [sys.executable, "-m", "typeloom", "registry", "--registry", registry.url]
    subprocess.run([*command, "push", str(path), "net"], check=True, timeout=LIMIT, stdout=subprocess.DEVNULL)
    assert not registry.push(model(2), "net").new
    assert registry.push(model(3), "net").number == 2
    assert subprocess.run([*command, "verify"], timeout=LIMIT, stdout=subprocess.DEVNULL).returncode == 0
    output = tmp_path / "bundle"
    subprocess.run([*command, "pull", "net@1", "-o", str(output)], check=True, timeout=LIMIT, stdout=subprocess.DEVNULL)
    assert tl.Interface.from_bundle(output.read_bytes()) == registry.pull("net@1")


def test_threads_share_a_registry(store: Store) -> None:
    registry = store.registry()
    contents = list(range(1, 25))
    with ThreadPoolExecutor(6) as pool:
        pushed = list(pool.map(lambda at: registry.push(interface(at), "net", mode="none"), contents))
    assert sorted(one.number for one in pushed) == contents
    versions = {one.number: one.types["main"] for one in registry.versions("net")}
    assert {one.number: interface(at).digest for at, one in zip(contents, pushed, strict=True)} == versions
    assert registry.verify()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_registry_works_after_a_fork(store: Store) -> None:
    # The parent has connections and threads, which the child does not.
    script = """
import os, sys
from typeloom.registry import Registry
from registry_worker import interface
registry = Registry(sys.argv[1], **eval(sys.argv[2]))
registry.push(interface(1), "net")
child = os.fork()
registry.push(interface(2 if child == 0 else 3), "net", mode="none")
if child:
    assert os.waitpid(child, 0)[1] == 0
    print(registry.subject("net").versions, registry.verify().ok)
os._exit(0)
"""
    arguments = [sys.executable, "-c", script, store.url, repr(store.options)]
    folder = Path(__file__).parent
    result = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=LIMIT)
    assert result.stderr == "" and result.returncode == 0
    assert store.registry().subject("net").versions == 3


def test_a_registry_is_sent_to_other_processes(store: Store) -> None:
    store.registry().push(model(1), "net")
    clone = pickle.loads(pickle.dumps(store.registry()))
    assert clone.url == store.registry().url and clone.pull("net") == interface(1)


@pytest.mark.stores
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
@pytest.mark.parametrize("call", ["push(data, 'net')", "pull('net')", "verify()", "subjects()"])
def test_an_interrupt_ends_waiting_for_a_store(call: str) -> None:
    # The first line is printed when the server has a connection, so the call waits for an answer.
    lines = interrupted(f"""
import os, socket, sys, threading
import typeloom as tl
from typeloom.registry import Registry
silent = socket.create_server(("127.0.0.1", 0))
def accept():
    connection = silent.accept()
    print("waiting", flush=True)
    silent.accept()
threading.Thread(target=accept, daemon=True).start()
store = {{"aws_endpoint": f"http://127.0.0.1:{{silent.getsockname()[1]}}", "aws_allow_http": "true", "aws_skip_signature": "true"}}
data = tl.describe('''{model(1)}''')
try:
    Registry("s3://b/r", **store).{call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
os._exit(0)
""")
    assert lines == ["waiting", "interrupted"]


def test_credentials_come_from_the_environment(s3: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in options(s3.url).items():
        if name.startswith("aws"):
            monkeypatch.setenv(name.upper(), value)
    monkeypatch.setenv("TYPELOOM_REGISTRY", f"s3://{BUCKET}/environment")
    Registry().push(model(1), "net")
    assert Registry(f"s3://{BUCKET}/environment").pull("net") == interface(1)
    assert tl.check(model(2), against="net")
    script = "import sys, typeloom.registry as r; print(r.Registry().subjects())"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=LIMIT)
    assert found.stdout == "[<Subject net: 1 version, backward>]\n", found.stderr


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(tl.TypeloomError, match="aws_endpiont"):
        Registry("s3://bucket", aws_endpiont="x")
    with pytest.raises(tl.TypeloomError, match="max_retries"):
        Registry("s3://bucket", max_retries="many")
    with pytest.raises(tl.TypeloomError, match="ftp"):
        Registry("ftp://bucket/x").subjects()


def test_a_missing_bucket_is_a_clear_error(s3: Server) -> None:
    registry = Registry("s3://missing/registry", **options(s3.url))
    for call in OPERATIONS:
        with pytest.raises(FileNotFoundError, match="the bucket of `s3://missing/registry"):
            call(registry)


@pytest.mark.stores
def test_an_unreachable_store_is_an_error_after_a_few_retries() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    # Nothing listens on the port now.
    registry = Registry("s3://bucket/registry", **options(f"http://127.0.0.1:{port}", max_retries="1"))
    for call in OPERATIONS:
        with pytest.raises(OSError, match="s3://bucket/registry") as caught:
            call(registry)
        assert not isinstance(caught.value, FileNotFoundError)


@pytest.mark.stores
def test_refused_credentials_are_a_permission_error() -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    counts = {"requests": 0}

    class Refusing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def refuse(self) -> None:
            counts["requests"] += 1
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
            self.send_response(403)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_DELETE = refuse

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        registry = Registry("s3://bucket/registry", **options(f"http://127.0.0.1:{server.server_address[1]}"))
        for call in OPERATIONS:
            with pytest.raises(PermissionError, match="no access to `s3://bucket/registry"):
                call(registry)
        # A refusal is not repeated.
        assert counts["requests"] == len(OPERATIONS)
    finally:
        server.shutdown()
        server.server_close()


OPERATIONS: list[Callable[[Registry], object]] = [
    lambda registry: registry.push(interface(1), "net"),
    lambda registry: registry.pull("net"),
    lambda registry: registry.subjects(),
    lambda registry: registry.versions("net"),
    lambda registry: registry.check(interface(1), "net"),
    lambda registry: registry.set("net", mode="full"),
    lambda registry: registry.verify(),
    lambda registry: registry.gc(),
]
"""Every operation that reads or writes a store."""


@pytest.mark.skipif(sys.platform == "win32", reason="permissions differ")
def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises((OSError, tl.TypeloomError), match="file"):
        Registry(tmp_path / "file").push(model(1), "net")
    with pytest.raises((OSError, tl.TypeloomError), match="file"):
        Registry(tmp_path / "file" / "deeper").push(model(1), "net")


def test_a_store_that_ignores_conditions_is_refused(s3: Server) -> None:
    """A proxy that removes the condition: pushes at the same time would replace each other."""
    import http.client
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    class Ignoring(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            connection = http.client.HTTPConnection("127.0.0.1", s3.port, timeout=LIMIT)
            headers = {key: value for key, value in self.headers.items() if key.lower() != "if-none-match"}
            connection.request(self.command, self.path, body=body, headers=headers)
            response = connection.getresponse()
            data = response.read()
            self.send_response(response.status)
            for key, value in response.getheaders():
                if key.lower() in ("etag", "last-modified", "content-type"):
                    self.send_header(key, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_DELETE = forward

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Ignoring)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        proxied = options(f"http://127.0.0.1:{server.server_address[1]}")
        with pytest.raises(RegistryError, match="conditional writes"):
            Registry(f"s3://{BUCKET}/ignoring", **proxied).push(model(1), "net")
    finally:
        server.shutdown()
        server.server_close()


def test_a_killed_process_leaves_a_registry_that_works(registry: Registry) -> None:
    """Signals that end a process between two pushes are harmless."""
    script = """
import sys
from typeloom.registry import Registry
from registry_worker import interface
registry = Registry(sys.argv[1])
for content in range(1, 50):
    print(registry.push(interface(content), "net").number, flush=True)
"""
    arguments = [sys.executable, "-c", script, registry.url]
    folder = Path(__file__).parent
    with subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for _ in range(5):
            acknowledged = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        acknowledged = max([acknowledged, *map(int, process.stdout.read().split())])
    versions = [one.number for one in registry.versions("net")]
    assert versions[:acknowledged] == list(range(1, acknowledged + 1)) and len(versions) <= acknowledged + 1
    assert registry.verify()
