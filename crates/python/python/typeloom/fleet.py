"""Checks many models, on one machine or on a Ray cluster.

>>> import tempfile, os, typeloom as tl, typeloom.fleet
>>> folder = tempfile.mkdtemp()
>>> for name, dim in [("good", 4), ("bad", 5)]:
...     text = f'<ir_version: 10, opset_import: ["" : 21]> g (float[N, 4] x, float[{dim}, 2] w) => (y) {{ y = MatMul(x, w) }}'
...     with open(os.path.join(folder, name + ".onnx"), "wb") as file:
...         _ = file.write(tl._core.model_from_text(text))
>>> result = tl.fleet.check(folder, progress=False)
>>> result
<FleetResult 2 models: 1 ok, 1 with errors>
>>> [os.path.basename(uri) for uri in result.failed]
['bad.onnx']

A model is a local path or an object in S3 (``s3://``), Google Cloud Storage (``gs://``) or Azure Blob Storage (``az://``). Of
objects, only the graph is read, by byte ranges, and never the weights.

Invariant: each model has exactly one row, in the order of the arguments. A model that is missing or cannot be read has a
row with the column ``error``; it raises nothing.
"""

from __future__ import annotations

import glob
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from typeloom import _core
from typeloom._api import _settings
from typeloom._html import code, counted, table
from typeloom._operators import Operators
from typeloom._types import DimLike, Type

if TYPE_CHECKING:
    from typeloom.typing import Engine

__all__ = ["DIAGNOSTIC_COLUMNS", "MODEL_COLUMNS", "FleetResult", "check"]


def __dir__() -> list[str]:
    return sorted(__all__)


_Path: TypeAlias = Union[str, "os.PathLike[str]"]
_Row: TypeAlias = dict[str, Any]
_Answer: TypeAlias = tuple[_Row, list[_Row]]
_Check: TypeAlias = Callable[[str], _Answer]
_Done: TypeAlias = Callable[[int, _Answer], None]

MODEL_COLUMNS: tuple[tuple[str, str], ...] = (
    ("uri", "string"),
    ("ok", "bool"),
    ("error", "string"),
    ("nodes", "int64"),
    ("values", "int64"),
    ("typed", "int64"),
    ("errors", "int64"),
    ("warnings", "int64"),
    ("bytes", "int64"),
    ("fetched", "int64"),
    ("requests", "int64"),
    ("seconds", "float64"),
    ("version", "string"),
)
"""Names and Arrow types of the columns of `FleetResult.models`."""

DIAGNOSTIC_COLUMNS: tuple[tuple[str, str], ...] = (
    ("uri", "string"),
    ("code", "string"),
    ("severity", "string"),
    ("message", "string"),
    ("value", "string"),
    ("node", "string"),
    ("location", "string"),
    ("text", "string"),
)
"""Names and Arrow types of the columns of `FleetResult.diagnostics`."""

_MAX_THREADS = 32
"""Default maximum number of threads for models in object stores, which wait most of the time."""

_MAX_BATCH = 64
"""Maximum number of models of one Ray task."""

_MAX_ATTEMPTS = 2
"""Number of times that Ray starts a batch before its models are checked alone."""


class FleetResult:
    """The outcome of a check of many models. It is true if all of them are free of errors.

    Attributes:
        seconds: the time from the first to the last model.
    """

    __slots__ = ("_diagnostics", "_models", "seconds")

    def __init__(self, models: list[_Row], diagnostics: list[_Row], seconds: float) -> None:
        self._models = models
        self._diagnostics = diagnostics
        self.seconds = seconds

    @property
    def ok(self) -> bool:
        """Whether every model was read and has no errors. Warnings do not count."""
        return all(row["ok"] for row in self._models)

    @property
    def failed(self) -> list[str]:
        """The URIs of models that have errors or could not be read."""
        return [row["uri"] for row in self._models if not row["ok"]]

    @property
    def models(self) -> Any:
        """One row for each model: a ``pyarrow.Table``, or a list of dictionaries if pyarrow is not installed.

        Columns: ``uri``; ``ok``; ``error``: the reason if the model could not be read, else null; ``nodes``: of the main
        graph; ``values`` and ``typed``: see `typeloom.Coverage`; ``errors`` and ``warnings``: numbers of diagnostics;
        ``bytes``: size of the file; ``fetched`` and ``requests``: bytes and requests to an object store; ``seconds``;
        ``version``: the entity tag of an object, or the time of modification of a file in nanoseconds.
        """
        return _table(self._models, MODEL_COLUMNS)

    @property
    def diagnostics(self) -> Any:
        """One row for each problem, in the order of the models: a table as `models` is.

        Columns: ``uri``; ``code``, ``severity``, ``message``, ``value``, ``node``, ``text``: see `typeloom.Diagnostic`;
        ``location``: the location in JSON. Byte offsets of objects are those of the part that was read.
        """
        return _table(self._diagnostics, DIAGNOSTIC_COLUMNS)

    def write_parquet(self, folder: _Path) -> None:
        """Writes ``models.parquet`` and ``diagnostics.parquet`` to a folder, which is created if it does not exist.

        Raises:
            ImportError: pyarrow is not installed.
            OSError: a file cannot be written.
        """
        from importlib import import_module

        parquet: Any = import_module("pyarrow.parquet")
        os.makedirs(folder, exist_ok=True)
        for name, table in (("models", self.models), ("diagnostics", self.diagnostics)):
            path = os.path.join(folder, f"{name}.parquet")
            parquet.write_table(table, f"{path}.new")
            os.replace(f"{path}.new", path)

    def __bool__(self) -> bool:
        return self.ok

    def __len__(self) -> int:
        return len(self._models)

    def _summary(self) -> str:
        unread = sum(row["error"] is not None for row in self._models)
        good = sum(row["ok"] for row in self._models)
        count = len(self._models)
        parts = [f"{good} ok"]
        if count - good - unread:
            parts.append(f"{count - good - unread} with errors")
        if unread:
            parts.append(f"{unread} not read")
        return f"{counted(count, 'model')}: {', '.join(parts)}"

    def __repr__(self) -> str:
        return f"<FleetResult {self._summary()}>"

    def _repr_html_(self) -> str:
        from collections import Counter

        # Models that are not ok come first, because the table of many models is cut.
        models = sorted(self._models, key=lambda row: row["ok"])
        rows = (
            (code(row["uri"]), "ok" if row["ok"] else code(row["error"] or counted(row["errors"], "error")), str(row["warnings"]))
            for row in models
        )
        codes = Counter((row["severity"], row["code"]) for row in self._diagnostics).most_common()
        problems = ((code(name), severity, str(count)) for (severity, name), count in codes)
        return (
            f"<p>{self._summary()}</p>"
            + table(("code", "severity", "number"), problems, len(codes), "code")
            + table(("model", "result", "warnings"), rows, len(models), "model")
        )


def _table(rows: list[_Row], columns: tuple[tuple[str, str], ...]) -> Any:
    from importlib import import_module

    try:
        pyarrow: Any = import_module("pyarrow")
    except ImportError:
        return [dict(row) for row in rows]
    schema = pyarrow.schema([(name, pyarrow.type_for_alias(ty)) for name, ty in columns])
    return pyarrow.Table.from_pylist(rows, schema=schema)


def check(
    uris: _Path | Iterable[_Path],
    engine: Engine = "threads",
    *,
    workers: int | None = None,
    progress: bool = True,
    storage_options: Mapping[str, str] | None = None,
    max_fetch: int = 128 << 20,
    strict: bool = True,
    seeds: Mapping[str, str | Type] | None = None,
    assume: Mapping[str, DimLike] | None = None,
    merge_symbols: bool = False,
    operators: Operators | None = None,
    external_data: bool = True,
) -> FleetResult:
    """Checks many models.

    >>> import typeloom.fleet
    >>> result = typeloom.fleet.check("missing.onnx", progress=False)
    >>> result
    <FleetResult 1 model: 0 ok, 1 not read>

    Args:
        uris: paths and URLs of models, globs and folders. A folder means all files ``*.onnx`` in it and in the folders in
            it; the URL of a folder ends in ``/``. In globs, ``*`` and ``?`` do not match ``/``, and ``**`` matches any number
            of folders. A model that several of these name is checked once.
        engine: ``threads``, or ``ray`` for a Ray cluster (the extra ``ray``). Ray connects to the cluster of
            ``ray.init``, or starts on this machine. Workers need access to the same paths and stores, and their own
            environment variables.
        workers: number of threads, or of Ray tasks at a time. By default one for each processor; four, up to 32, if there
            are models in object stores; with Ray, as many as the cluster has processors.
        progress: show the progress on standard error, if that is a terminal. With the package `tqdm`, a notebook shows it too.
        storage_options: options of object stores, such as ``aws_endpoint``, ``aws_region``, ``aws_skip_signature``,
            ``google_service_account``, ``azure_storage_account_name``, and ``max_retries`` and ``retry_timeout`` (seconds)
            for requests that a store throttles. They take precedence over environment variables.
        max_fetch: maximum number of bytes to read of a model in an object store. A model that needs more has a row with
            an error. Memory per worker is a small multiple of it.
        strict: see `typeloom.check`, also for the other arguments.

    Returns:
        One row for each model and one for each diagnostic.

    Raises:
        TypeloomError: an option is wrong.
        ImportError: the engine is not installed.
        ValueError: there is no such engine, or `workers` is not positive.
    """
    if workers is not None and workers < 1:
        raise ValueError("workers must be at least 1")
    checker = _Checker(
        storage_options=dict(storage_options or {}),
        max_fetch=max_fetch,
        external_data=external_data,
        strict=strict,
        seeds={name: str(ty) for name, ty in (seeds or {}).items()},
        assume={symbol: str(dim) for symbol, dim in (assume or {}).items()},
        merge_symbols=merge_symbols,
        operators=operators,
    )
    listed = [uris] if isinstance(uris, (str, os.PathLike)) else list(uris)
    entries = _expand([os.fspath(uri) for uri in listed], checker.fleet)
    return _run(entries, engine, checker, workers, progress)


class _Checker:
    """Checks one model, and is sent to other processes with its options."""

    def __init__(self, **options: Any) -> None:
        self._options = options
        self._settings = _settings(
            options["strict"],
            options["seeds"],
            options["assume"],
            options["merge_symbols"],
            options["operators"],
            external_data=options["external_data"],
        )
        stores = [(key, str(value)) for key, value in options["storage_options"].items()]
        self.fleet = _core.Fleet(stores, options["max_fetch"])

    def __reduce__(self) -> tuple[Any, ...]:
        return (_restore, (self._options,))

    def __call__(self, uri: str) -> _Answer:
        start = time.perf_counter()
        try:
            answer = self.fleet.check(uri, self._settings)
        except Exception as error:
            return _unread(uri, _reason(error), time.perf_counter() - start)
        report, nodes, size, fetched, requests, version = answer
        problems = report.diagnostics()
        errors = sum(problem["severity"] == "error" for problem in problems)
        values, typed, *_ = report.coverage
        row = {
            "uri": uri,
            "ok": errors == 0,
            "error": None,
            "nodes": nodes,
            "values": values,
            "typed": typed,
            "errors": errors,
            "warnings": len(problems) - errors,
            "bytes": size,
            "fetched": fetched,
            "requests": requests,
            "seconds": time.perf_counter() - start,
            "version": version,
        }
        return row, [_problem(uri, problem) for problem in problems]


_restored: dict[str, _Checker] = {}


def _restore(options: dict[str, Any]) -> _Checker:
    """The checker of this process for some options: its connections serve all tasks."""
    key = f"{os.getpid()} {json.dumps(options, sort_keys=True)}"
    if key not in _restored:
        _restored.clear()
        _restored[key] = _Checker(**options)
    return _restored[key]


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror is not None:
        return f"`{error.filename}`: {error.strerror}"
    return str(error) if isinstance(error, (OSError, _core.TypeloomError)) else f"{type(error).__name__}: {error}"


def _unread(uri: str, error: str, seconds: float) -> _Answer:
    """The row of a model that was not checked."""
    row: _Row = {name: None for name, _ in MODEL_COLUMNS}
    # A name of a file may have bytes that are not UTF-8, which tables cannot hold.
    uri, error = (text.encode(errors="replace").decode() for text in (uri, error))
    row.update(uri=uri, ok=False, error=error, errors=0, warnings=0, fetched=0, requests=0, seconds=seconds)
    return row, []


def _problem(uri: str, raw: _Row) -> _Row:
    snippets = raw["snippets"]
    return {
        "uri": uri,
        "code": raw["code"],
        "severity": raw["severity"],
        "message": raw["message"],
        "value": raw["value"],
        "node": snippets[0]["text"] if snippets else None,
        "location": json.dumps(raw["place"]),
        "text": raw["text"],
    }


def _expand(uris: Sequence[str], fleet: _core.Fleet) -> dict[str, str | None]:
    """The models that URIs, folders and globs name, each once; with an error for what names none."""
    entries: dict[str, str | None] = {}
    for uri in uris:
        try:
            found: Iterable[str] = _remote(uri, fleet) if _is_remote(uri) else _local(uri)
            error = "there is no model in the folder" if uri.endswith("/") else "no model matches"
        except (OSError, _core.TypeloomError) as problem:
            found, error = (), _reason(problem)
        count = 0
        for model in found:
            entries.setdefault(model, None)
            count += 1
        if count == 0:
            entries.setdefault(uri, error)
    return entries


def _is_remote(uri: str) -> bool:
    return "://" in uri and _core.Fleet.is_remote(uri)


def _local(uri: str) -> list[str]:
    if os.path.isdir(uri):
        pattern = os.path.join(glob.escape(uri), "**", "*.onnx")
    elif os.path.exists(uri) or not glob.has_magic(uri):
        return [uri]
    else:
        pattern = uri
    return sorted(path for path in glob.iglob(pattern, recursive=True) if not os.path.isdir(path))


def _remote(uri: str, fleet: _core.Fleet) -> Iterable[str]:
    is_folder = uri.endswith("/") or uri.count("/") == 2
    if is_folder:
        folder = uri.rstrip("/")
        return [model for model in fleet.list(folder) if model.endswith(".onnx")]
    if not glob.has_magic(uri):
        return [uri]
    pattern = uri.split("/")
    # The scheme and the bucket are no pattern.
    depth = next((at for at, part in enumerate(pattern) if at > 2 and glob.has_magic(part)), len(pattern))
    folder = "/".join(pattern[:depth])
    return [model for model in fleet.list(folder) if _matches(pattern, model.split("/"))]


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern, in time proportional to the product of their numbers."""

    def closed(states: set[int]) -> set[int]:
        for state in sorted(states):
            while state < len(pattern) and pattern[state] == "**":
                state += 1
                states.add(state)
        return states

    states = closed({0})
    for part in parts:
        following: set[int] = set()
        for state in states:
            if state < len(pattern):
                if pattern[state] == "**":
                    following.add(state)
                elif fnmatchcase(part, pattern[state]):
                    following.add(state + 1)
        states = closed(following)
    return len(pattern) in states


def _run(
    entries: Mapping[str, str | None], engine: str, checker: _Check, workers: int | None, progress: bool
) -> FleetResult:
    """Checks the models without an error with an engine. `checker` answers each of them."""
    engines = {"threads": _threads, "ray": _ray}
    if engine not in engines:
        raise ValueError(f"there is no engine {engine!r}: use 'threads' or 'ray'")
    start = time.perf_counter()
    uris = list(entries)
    answers: list[_Answer | None] = [None] * len(uris)
    bar = _bar(len(uris)) if progress and uris else None

    def done(at: int, answer: _Answer) -> None:
        # A task that runs again after its worker ended answers again.
        if answers[at] is None:
            answers[at] = answer
            if bar is not None:
                bar.advance(answer[0]["ok"])

    for at, error in enumerate(entries.values()):
        if error is not None:
            done(at, _unread(uris[at], error, 0.0))
    open_ones = [(at, uri) for at, uri in enumerate(uris) if answers[at] is None]
    try:
        if open_ones:
            engines[engine](open_ones, checker, workers, done)
    finally:
        if bar is not None:
            bar.close()
    models: list[_Row] = []
    diagnostics: list[_Row] = []
    for at, answer in enumerate(answers):
        row, problems = answer or _unread(uris[at], "the engine returned no answer", 0.0)
        models.append(row)
        diagnostics.extend(problems)
    return FleetResult(models, diagnostics, time.perf_counter() - start)


def _bar(total: int) -> _Bar | _Tqdm | None:
    """A progress bar, if there is a place for one."""
    from importlib import import_module

    try:
        auto: Any = import_module("tqdm.auto")
    except ImportError:
        return _Bar(total) if sys.stderr is not None and sys.stderr.isatty() else None
    return _Tqdm(auto.tqdm(total=total, unit="model", disable=None))


class _Tqdm:
    """The bar of tqdm, which shows itself on terminals and in notebooks."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._failed = 0

    def advance(self, ok: bool) -> None:
        self._failed += not ok
        self._bar.set_postfix_str(f"{self._failed} not ok", refresh=False)
        self._bar.update()

    def close(self) -> None:
        self._bar.close()


class _Bar:
    """A progress bar on standard error."""

    _WIDTH = 30
    _INTERVAL = 0.1

    def __init__(self, total: int) -> None:
        self._total = total
        self._count = 0
        self._failed = 0
        self._start = self._last = time.monotonic()

    def advance(self, ok: bool) -> None:
        self._count += 1
        self._failed += not ok
        now = time.monotonic()
        if now - self._last >= self._INTERVAL:
            self._last = now
            self._draw(now)

    def _draw(self, now: float) -> None:
        filled = self._WIDTH * self._count // self._total
        rate = self._count / max(now - self._start, 1e-9)
        sys.stderr.write(
            f"\r[{'#' * filled}{'.' * (self._WIDTH - filled)}] {self._count}/{self._total} models, "
            f"{self._failed} not ok, {rate:.0f}/s "
        )
        sys.stderr.flush()

    def close(self) -> None:
        self._draw(time.monotonic())
        sys.stderr.write("\n")
        sys.stderr.flush()


def _threads(models: Sequence[tuple[int, str]], checker: _Check, workers: int | None, done: _Done) -> None:
    """Checks on a pool of threads. Checks release the interpreter, so they run in parallel."""
    from queue import SimpleQueue
    from threading import Event, Lock, Thread

    if workers is None:
        workers = os.cpu_count() or 1
        if any(_is_remote(uri) for _, uri in models):
            workers = min(_MAX_THREADS, 4 * workers)
    waiting = iter(models)
    lock = Lock()
    stopped = Event()
    answers: SimpleQueue[tuple[int, _Answer | BaseException]] = SimpleQueue()

    def work() -> None:
        while not stopped.is_set():
            with lock:
                following = next(waiting, None)
            if following is None:
                return
            at, uri = following
            try:
                answers.put((at, checker(uri)))
            except BaseException as error:
                answers.put((at, error))

    # An interrupt ends the call at once; the threads end after their current model.
    threads = [Thread(target=work, name="typeloom-fleet", daemon=True) for _ in range(min(workers, len(models)))]
    try:
        for thread in threads:
            thread.start()
        for _ in models:
            at, answer = answers.get()
            if isinstance(answer, BaseException):
                raise answer
            done(at, answer)
    finally:
        stopped.set()
    for thread in threads:
        thread.join()


def _ray(models: Sequence[tuple[int, str]], checker: _Check, workers: int | None, done: _Done) -> None:
    """Checks with Ray Data. Models of batches that end their worker again and again are checked alone, each in its own
    task."""
    from importlib import import_module

    try:
        ray: Any = import_module("ray")
        data: Any = import_module("ray.data")
        exceptions: Any = import_module("ray.exceptions")
    except ImportError as error:
        raise ImportError("the engine `ray` needs the package Ray Data: `pip install 'ray[data]' pyarrow`") from error
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    parallel = workers or max(int(ray.cluster_resources().get("CPU", 1)), 1)
    size = max(1, min(_MAX_BATCH, -(-len(models) // (4 * parallel))))
    items = [{"index": at, "uri": uri} for at, uri in models]
    rest = dict(models)

    def answered(at: int, answer: str) -> None:
        if answer and rest.pop(at, None) is not None:
            row, problems = json.loads(answer)
            done(at, (row, problems))

    attempts = ray.remote(num_cpus=0)(_Attempts).remote()
    dataset = data.from_items(items, override_num_blocks=-(-len(items) // size)).map_batches(
        _batch, fn_args=(checker, attempts), batch_size=None, batch_format="numpy", concurrency=parallel
    )
    # The progress of models is shown, rather than that of Ray's operators.
    dataset.context.enable_progress_bars = False
    for row in dataset.iter_rows():
        answered(int(row["index"]), str(row["answer"]))
    if not rest:
        return
    task = ray.remote(max_retries=1)(_alone)
    shared = ray.put(checker)
    waiting = iter(list(rest.items()))
    running: dict[Any, tuple[int, str]] = {}
    while rest:
        while len(running) < parallel and (following := next(waiting, None)) is not None:
            running[task.remote(shared, following[1])] = following
        ready, _ = ray.wait(list(running), num_returns=1)
        at, uri = running.pop(ready[0])
        try:
            answer = ray.get(ready[0])
        except exceptions.RayTaskError:
            # An exception in a worker is an error of the set-up, such as a missing package, that repeats for every model.
            raise
        except exceptions.RayError as error:
            reason = f"the worker process ended while it checked the model ({type(error).__name__})"
            answer = json.dumps(_unread(uri, reason, 0.0))
        answered(at, answer)


class _Attempts:
    """Counts how often batches were started. Ray runs a task again without limit if its worker ended."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def start(self, batch: int) -> int:
        """Counts an attempt, and returns the number of attempts."""
        self._counts[batch] = self._counts.get(batch, 0) + 1
        return self._counts[batch]


def _batch(batch: Mapping[str, Any], checker: _Check, attempts: Any) -> dict[str, list[Any]]:
    """The answers for a batch of Ray Data; empty ones after too many attempts."""
    from importlib import import_module

    ray: Any = import_module("ray")
    indices = [int(at) for at in batch["index"]]
    attempt: int = ray.get(attempts.start.remote(indices[0])) if indices else 0
    if attempt > _MAX_ATTEMPTS:
        return {"index": indices, "answer": [""] * len(indices)}
    return {"index": indices, "answer": [_alone(checker, str(uri)) for uri in batch["uri"]]}


def _alone(checker: _Check, uri: str) -> str:
    """The answer for one model, in JSON."""
    return json.dumps(checker(uri))
