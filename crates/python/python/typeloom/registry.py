"""A registry of interfaces in a folder or an object store.

>>> import tempfile, typeloom as tl
>>> from typeloom.registry import Registry
>>> registry = Registry(tempfile.mkdtemp())
>>> head = '<ir_version: 10, opset_import: ["" : 21]> '
>>> registry.push(head + "g (float[N, 3] x) => (y) { y = Relu(x) }", "vision/net", alias="production")
<Version vision/net@1 (production)>
>>> registry.push(head + "g (float[N, 4] x) => (y) { y = Relu(x) }", "vision/net")
Traceback (most recent call last):
    ...
typeloom.registry.RejectedError: `vision/net` has mode backward, which the new version violates
  version 1: inputs.x.shape[1]: 3 -> 4 (breaks both ways)
  version 1: outputs.y.shape[1]: 3 -> 4 (breaks both ways)
  the latest version is not compatible
>>> print(registry.pull("vision/net@production"))
(x: float[N, 3]) -> (y: float[N, 3])
>>> bool(registry.verify())
True

A subject has numbered versions, aliases and a compatibility mode. There is no server: writers of a store agree by conditional
writes, and readers verify all that they read. `docs/registry.md` specifies the layout.

A version is named ``subject@7``, ``subject@production`` or ``subject@latest``; ``subject`` alone means the latest version.

Registries can be used from several threads, and after a fork. Errors of the store are ``OSError``: ``FileNotFoundError`` for a missing
bucket, ``PermissionError`` for refused access.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union

from typeloom import _core
from typeloom._api import _interface_of, _settings
from typeloom._bundle import Bundle
from typeloom._errors import ModelError, TypeloomError
from typeloom._html import code
from typeloom._interface import Diff, Difference, Interface, differences_table
from typeloom._items import items
from typeloom._model import ModelLike, form_of
from typeloom._operators import Operators
from typeloom._report import Diagnostic

if TYPE_CHECKING:
    from typeloom.typing import Mode, RegistryMode

__all__ = [
    "Collected",
    "Comparison",
    "CorruptError",
    "NotFoundError",
    "Problem",
    "Pushed",
    "Registry",
    "RegistryError",
    "RejectedError",
    "Source",
    "Subject",
    "UnconfirmedError",
    "Verdict",
    "Verification",
    "Version",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_Path: TypeAlias = Union[str, "os.PathLike[str]"]
_Content: TypeAlias = Union[ModelLike, Interface, Bundle]
_Raw: TypeAlias = dict[str, Any]
_Changes: TypeAlias = tuple[str | None, bool | None, list[tuple[str, str]], list[str]]
_Bundled: TypeAlias = tuple[bytes, tuple[str, int, str]]
_T = TypeVar("_T")

VARIABLE = "TYPELOOM_REGISTRY"
_DEFAULT = ".typeloom-registry"

_abandoned: list[_core.Registry] = []
"""Registries of the process that this one was forked from. Their threads do not exist here, so they are never used or closed."""


class RegistryError(TypeloomError):
    """Error of a registry."""


class NotFoundError(RegistryError, LookupError):
    """There is no such registry, subject, version or alias."""


class CorruptError(RegistryError):
    """An object in the store is not as it was written.

    Attributes:
        object: its URL or path.
        problem: the problem in one sentence.
    """

    object: str
    problem: str


class UnconfirmedError(RegistryError):
    """It is unknown whether a write reached the store. Push again: a version that exists already is not pushed twice in a row.

    Attributes:
        object: the URL or path of the entry.
    """

    object: str


class RejectedError(RegistryError):
    """A push violates the compatibility mode of its subject.

    Attributes:
        verdict: the differences from each violated version, and the nearest compatible version.
    """

    verdict: Verdict


class Comparison:
    """The comparison with one version. It is true if the new content fulfils the mode with respect to that version.

    Attributes:
        version: the number of the version.
        compatible: whether no difference breaks the mode.
        equal: whether both are the same.
        removed: labels of interfaces that only the version has.
        added: labels of interfaces that only the new content has.
        differences: the differences of the interfaces that both have.
        error: the reason if they cannot be compared, such as an interface with a type; else `None`.
    """

    __slots__ = ("added", "compatible", "differences", "equal", "error", "removed", "version")

    def __init__(self, raw: _Raw) -> None:
        self.version: int = raw["version"]
        self.compatible: bool = raw["compatible"]
        self.equal: bool = raw.get("equal", False)
        self.removed: list[str] = raw.get("removed", [])
        self.added: list[str] = raw.get("added", [])
        self.differences = [Difference(one) for one in raw.get("differences", [])]
        self.error: str | None = raw.get("error")

    def __bool__(self) -> bool:
        return self.compatible

    def _lines(self) -> list[str]:
        lines = [difference.message for difference in self.differences]
        lines += [f"{label}: removed" for label in self.removed] + [f"{label}: added" for label in self.added]
        return lines if self.error is None else [self.error]

    def __repr__(self) -> str:
        return "\n".join([*self._lines(), self._verdict])

    @property
    def _verdict(self) -> str:
        if self.equal:
            return f"the same as version {self.version}"
        return "compatible" if self.compatible else "not compatible"

    def _repr_html_(self) -> str:
        others = self._lines()[len(self.differences) if self.error is None else 0 :]
        listed = "".join(f"<p>{code(line)}</p>" for line in others)
        return f"<p>version {self.version}: {self._verdict}</p>{listed}{differences_table(self.differences)}"


class Verdict:
    """The comparison of a model with versions of a subject. It is true if the model fulfils the compatibility mode.

    Attributes:
        subject: the name of the subject.
        mode: the compatibility mode that was applied.
        by_name: whether callers bind inputs and outputs by name alone.
        compared: the number of versions that were compared.
        violated: the number of versions that violate the mode.
        versions: the comparisons with the violated versions, the latest one first, at most three; without violations, with the
            latest version.
        nearest: the latest version that the model is compatible with, if there are violations; `None` if there is none.
    """

    __slots__ = ("by_name", "compared", "mode", "nearest", "subject", "versions", "violated")

    def __init__(self, raw: _Raw) -> None:
        self.subject: str = raw["subject"]
        self.mode: RegistryMode = raw["mode"]
        self.by_name: bool = raw["ports"] == "name"
        self.compared: int = raw["compared"]
        self.violated: int = raw["violated"]
        self.versions = [Comparison(one) for one in raw["versions"]]
        nearest: _Raw | None = raw["nearest"]
        self.nearest: int | None = None if nearest is None else nearest.get("version")

    @property
    def compatible(self) -> bool:
        """Whether no version violates the mode."""
        return self.violated == 0

    @property
    def differences(self) -> list[Difference]:
        """The differences of all listed versions."""
        return [difference for one in self.versions for difference in one.differences]

    def __bool__(self) -> bool:
        return self.compatible

    def __repr__(self) -> str:
        lines = [f"{self.subject}@{one.version}: {line}" for one in self.versions for line in one._lines()]
        return "\n".join([*lines, self._result])

    @property
    def _result(self) -> str:
        if self.compatible:
            return f"compatible with {self.subject} ({self.mode})"
        nearest = "none" if self.nearest is None else f"{self.subject}@{self.nearest}"
        return f"not compatible with {self.subject} ({self.mode}); nearest compatible version: {nearest}"

    def _repr_html_(self) -> str:
        return f"<p>{code(self._result)}</p>" + "".join(one._repr_html_() for one in self.versions)


class Source:
    """The file that a version was created from.

    Attributes:
        name: its name as the writer gave it.
        size: its size in bytes.
        digest: the BLAKE3 hash of its bytes.
    """

    __slots__ = ("digest", "name", "size")

    def __init__(self, raw: _Raw) -> None:
        self.name: str = raw["name"]
        self.size: int = raw["size"]
        self.digest: str = raw["digest"]

    def __repr__(self) -> str:
        return f"<Source {self.name}: {self.size} bytes>"


class Version:
    """The record of a version.

    Attributes:
        subject: the name of the subject.
        number: the number of the version, from 1.
        aliases: its aliases.
        new: whether a push created it; false if the latest version had the same content already.
        time: the time of the push by the clock of the writer.
        source: the file that it was created from.
        tool: the program that pushed it.
        size: the size of its bundle in bytes.
        bundle: the BLAKE3 hash of its bundle.
        types: the digests of its interfaces or types by label, at most 16.
        mode: the compatibility mode of the subject at that time.
        entry: the number of the entry in the log of the subject.
        digest: the hash of that entry, which commits to all entries before.
    """

    __slots__ = (
        "aliases",
        "bundle",
        "digest",
        "entry",
        "mode",
        "new",
        "number",
        "size",
        "source",
        "subject",
        "time",
        "tool",
        "types",
    )

    def __init__(self, raw: _Raw) -> None:
        self.subject: str = raw["subject"]
        self.number: int = raw["version"]
        self.aliases: list[str] = raw["aliases"]
        self.new: bool = raw.get("new", False)
        self.time = _time(raw["time"])
        self.source = Source(raw["source"])
        self.tool: str = raw["tool"]
        self.size: int = raw["size"]
        self.bundle: str = raw["bundle"]
        self.types: dict[str, str] = {root["label"]: root["digest"] for root in raw["types"]}
        self.mode: RegistryMode = raw["mode"]
        self.entry: int = raw["entry"]
        self.digest: str = raw["digest"]

    @property
    def reference(self) -> str:
        """The name of the version, such as ``vision/net@7``."""
        return f"{self.subject}@{self.number}"

    def __repr__(self) -> str:
        aliases = f" ({', '.join(self.aliases)})" if self.aliases else ""
        return f"<Version {self.reference}{aliases}>"


class Subject:
    """The state of a subject.

    Attributes:
        name: its name.
        versions: the number of versions.
        mode: the compatibility mode.
        by_name: whether callers bind inputs and outputs by name alone.
        aliases: the versions of the aliases.
        time: the time of the last change.
        entry: the number of the last entry of its log.
        digest: the hash of that entry.
    """

    __slots__ = ("aliases", "by_name", "digest", "entry", "mode", "name", "time", "versions")

    def __init__(self, raw: _Raw) -> None:
        self.name: str = raw["subject"]
        self.versions: int = raw["versions"]
        self.mode: RegistryMode = raw["mode"]
        self.by_name: bool = raw["ports"] == "name"
        self.aliases: dict[str, int] = raw["aliases"]
        self.time = _time(raw["time"])
        self.entry: int = raw["entry"]
        self.digest: str = raw["digest"]

    def __repr__(self) -> str:
        count = f"{self.versions} version{'' if self.versions == 1 else 's'}"
        aliases = "".join(f", {alias}={version}" for alias, version in self.aliases.items())
        return f"<Subject {self.name}: {count}, {self.mode}{' by name' if self.by_name else ''}{aliases}>"


class Problem:
    """A problem that a verification found.

    Attributes:
        severity: ``error`` if the registry is not as it was written; ``warning`` for an object that is not part of the format.
        object: the URL or path of the object.
        message: the problem in one sentence.
    """

    __slots__ = ("message", "object", "severity")

    def __init__(self, raw: _Raw) -> None:
        self.severity: str = raw["severity"]
        self.object: str = raw["object"]
        self.message: str = raw["problem"]

    def __repr__(self) -> str:
        return f"<{self.severity}: {self.object} {self.message}>"


class Verification:
    """The outcome of a verification. It is true if the registry is as it was written.

    Attributes:
        problems: all problems, warnings included.
        versions: the number of versions of each subject, up to the last entry that can be read.
        unreferenced: the number of bundles that no entry refers to, by subject; `Registry.gc` deletes them.
        checkpoint: the heads of all subjects, for a later verification; `None` if the registry is damaged.
    """

    __slots__ = ("checkpoint", "problems", "unreferenced", "versions")

    def __init__(self, raw: _Raw) -> None:
        subjects: list[_Raw] = raw["subjects"]
        findings = [*raw["findings"], *(one for subject in subjects for one in subject["findings"])]
        self.problems = [Problem(one) for one in findings]
        self.versions: dict[str, int] = {one["subject"]: one["versions"] for one in subjects}
        self.unreferenced: dict[str, int] = {one["subject"]: one["unreferenced"]["bundles"] for one in subjects}
        text: str | None = raw["checkpoint"]
        self.checkpoint: bytes | None = text.encode() if text is not None and self.ok else None

    @property
    def ok(self) -> bool:
        """Whether there are no errors."""
        return not any(problem.severity == "error" for problem in self.problems)

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return "\n".join([*map(repr, self.problems), f"<Verification {'ok' if self.ok else 'damaged'}: {self.versions}>"])


class Collected:
    """The objects of a subject that a collection deleted, or would delete.

    Attributes:
        subject: the name of the subject.
        bundles: the names of the bundles.
        bytes: their size.
        interrupted: the files of interrupted writes in a local folder.
    """

    __slots__ = ("bundles", "bytes", "interrupted", "subject")

    def __init__(self, raw: _Raw) -> None:
        self.subject: str = raw["subject"]
        self.bundles: list[str] = raw["bundles"]
        self.bytes: int = raw["bytes"]
        self.interrupted: list[str] = raw["interrupted"]

    def __repr__(self) -> str:
        return f"<Collected {self.subject}: {len(self.bundles)} bundles, {self.bytes} bytes>"


class Pushed:
    """The result for one model of `Registry.push_all`. It is true if the model was pushed, or would be.

    Attributes:
        file: the path of the model.
        subject: the name of the subject; not a valid one if that is the error.
        number: the number of the version; `None` with an error.
        new: whether the version is, or would be, a new one.
        version: the record of the version; `None` with an error, and with ``dry_run``.
        error: the reason if the model was not pushed, such as a `RejectedError` or a `ModelError`; else `None`.
    """

    __slots__ = ("error", "file", "new", "number", "subject", "version")

    def __init__(self, file: str, subject: str) -> None:
        self.file = file
        self.subject = subject
        self.number: int | None = None
        self.new = False
        self.version: Version | None = None
        self.error: Exception | None = None

    def __bool__(self) -> bool:
        return self.error is None

    def __repr__(self) -> str:
        if self.error is not None:
            return f"<Pushed {self.file}: {type(self.error).__name__}>"
        return f"<Pushed {self.file} -> {self.subject}@{self.number}{'' if self.new else ', unchanged'}>"


class Registry:
    """A registry. Nothing is read or written before its first use; the first push creates it.

    >>> import tempfile
    >>> from typeloom.registry import Registry
    >>> registry = Registry(tempfile.mkdtemp())
    >>> relu = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }'
    >>> registry.push(relu, "net", mode="full").new, registry.push(relu, "net").new
    (True, False)
    >>> registry.subjects()
    [<Subject net: 1 version, full>]

    Args:
        url: a folder, or ``s3://BUCKET/FOLDER``, ``gs://...``, ``az://...``. By default, the environment variable
            ``TYPELOOM_REGISTRY``, or else the folder ``.typeloom-registry``.
        options: options of the object store, such as ``aws_endpoint``, ``aws_region``, and ``max_retries`` and ``retry_timeout``
            (seconds) for requests that it fails or throttles. They take precedence over environment variables.

    Raises:
        TypeloomError: there is no such option.
    """

    __slots__ = ("_opened", "_options", "url")

    def __init__(self, url: _Path | None = None, **options: object) -> None:
        location = os.fspath(url) if url is not None else os.environ.get(VARIABLE) or _DEFAULT
        #: The URL, or the absolute path.
        self.url: str = location if "://" in location else os.path.abspath(location)
        self._options = {name: str(value) for name, value in options.items()}
        self._opened = self._open()

    def _open(self) -> tuple[int, _core.Registry]:
        return os.getpid(), _core.Registry(self.url, list(self._options.items()))

    @property
    def _current(self) -> _core.Registry:
        pid, core = self._opened
        if pid != os.getpid():
            _abandoned.append(core)
            self._opened = self._open()
        return self._opened[1]

    def __reduce__(self) -> tuple[Callable[..., Registry], tuple[str, dict[str, str]]]:
        return (_restore, (self.url, self._options))

    def __repr__(self) -> str:
        return f"<Registry {self.url}>"

    def push(
        self,
        content: _Content,
        subject: str,
        *,
        alias: str | Iterable[str] = (),
        mode: RegistryMode | None = None,
        by_name: bool | None = None,
        source: _Path | None = None,
        operators: Operators | None = None,
    ) -> Version:
        """Adds the interface of a model as a new version.

        If the latest version has the same content, that version is returned, and its attribute ``new`` is false.

        An interrupted push may still succeed.

        Args:
            content: a model, a compiled model, an interface or a bundle; also the path of one.
            subject: the name of the subject, such as ``vision/net``.
            alias: aliases to set to the version, such as ``production``.
            mode: the compatibility mode from now on, which the version has to fulfil already: ``none``, ``backward``, ``forward``,
                ``full``, ``backward_transitive``, ``forward_transitive`` or ``full_transitive``. That of a new subject is
                ``backward``.
            by_name: whether callers bind inputs and outputs by name alone from now on, so that their order does not matter.
            source: the file to record as the origin, if `content` is not its path.
            operators: operators of other domains.

        Raises:
            RejectedError: the version violates the mode.
            ModelError: the model has errors.
            UnconfirmedError: it is unknown whether the version was written.
            CorruptError: an object in the store is not as it was written.
            TypeloomError: a name or an option is wrong.
            OSError: the store or a file cannot be accessed.
        """
        bundle, recorded = _bundled(content, operators)
        if source is not None:
            with open(source, "rb") as file:
                data = file.read()
            recorded = (os.fspath(source), len(data), _core.registry_digest(data))
        changes: _Changes = (mode, by_name, [(name, "latest") for name in items(alias)], [])
        return Version(_value(self._current.push(subject, bundle, recorded, changes, _now())))

    def push_all(
        self,
        folder: _Path,
        *,
        prefix: str = "",
        alias: str | Iterable[str] = (),
        mode: RegistryMode | None = None,
        by_name: bool | None = None,
        dry_run: bool = False,
        operators: Operators | None = None,
    ) -> list[Pushed]:
        """Pushes all models of a folder. The subject of a model is its path in the folder without the extension.

        A model that cannot be pushed does not stop the others: its result has the error. Hidden files and folders are left out.

        >>> import pathlib, tempfile, typeloom as tl
        >>> from typeloom.registry import Registry
        >>> registry, models = Registry(tempfile.mkdtemp()), pathlib.Path(tempfile.mkdtemp())
        >>> relu = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }'
        >>> (models / "vision").mkdir()
        >>> _ = (models / "vision" / "net.onnx").write_bytes(tl.model_from_text(relu))
        >>> [(one.subject, one.number) for one in registry.push_all(models, prefix="team")]
        [('team/vision/net', 1)]

        Args:
            folder: the folder.
            prefix: the first segments of all subjects.
            alias: as for `push`; for each model.
            mode: as for `push`; for each model.
            by_name: as for `push`; for each model.
            dry_run: write nothing; the results have the numbers that the versions would have.
            operators: operators of other domains.

        Raises:
            NotADirectoryError: there is no such folder.
            TypeloomError: a name or an option is wrong.
        """
        root = os.fspath(folder)
        if not os.path.isdir(root):
            raise NotADirectoryError(f"`{root}` is no folder")
        aliases = items(alias)
        results: list[Pushed] = []
        known: dict[str, str] = {}
        for path in _models(root):
            name = os.path.relpath(path, root).replace(os.sep, "/")
            suffix = next(suffix for suffix in _SUFFIXES if name.endswith(suffix))
            subject = "/".join(filter(None, (prefix.strip("/"), name.removesuffix(suffix))))
            result = Pushed(path, subject)
            results.append(result)
            try:
                if subject in known:
                    raise TypeloomError(f"`{known[subject]}` has the subject `{subject}` too")
                known[subject] = path
                if dry_run:
                    result.number, result.new = self._preview(path, subject, (mode, by_name, aliases), operators)
                    continue
                pushed = self.push(
                    path, subject, alias=aliases, mode=mode, by_name=by_name, operators=operators
                )
                result.version, result.number, result.new = pushed, pushed.number, pushed.new
            except (TypeloomError, OSError) as error:
                result.error = error
        return results

    def _preview(
        self,
        path: str,
        subject: str,
        changes: tuple[str | None, bool | None, list[str]],
        operators: Operators | None,
    ) -> tuple[int, bool]:
        """The number that the version of a push would have, and whether it would be new."""
        mode, by_name, aliases = changes
        bundle, recorded = _bundled(path, operators)
        state: _Changes = (mode, by_name, [(name, "latest") for name in aliases], [])
        try:
            raw = _value(self._current.preview(subject, bundle, recorded, state))
        except NotFoundError:
            # The first push creates the registry.
            return 1, True
        return raw["version"], raw["new"]

    def diff(
        self,
        old: _Content | Version,
        new: _Content | Version,
        *,
        mode: Mode = "backward",
        by_name: bool = False,
        label: str | None = None,
        operators: Operators | None = None,
    ) -> Diff:
        """The differences between two versions, or between a version and a model, as `typeloom.diff`.

        >>> import tempfile
        >>> from typeloom.registry import Registry
        >>> registry = Registry(tempfile.mkdtemp())
        >>> head = '<ir_version: 10, opset_import: ["" : 21]> '
        >>> registry.push(head + "g (float[batch, 3] x) => (y) { y = Relu(x) }", "net", alias="production", mode="none").number
        1
        >>> registry.push(head + "g (float[2, 3] x) => (y) { y = Relu(x) }", "net").number
        2
        >>> registry.diff("net@production", "net")
        inputs.x.shape[0]: batch -> 2 (breaks backward)
        outputs.y.shape[0]: batch -> 2 (breaks backward)
        not backward compatible

        Args:
            old: a version by its name, such as ``vision/net@7``, or its record; or as for `typeloom.diff`. A file of that name is
                preferred to a version.
            new: the same.
            mode: as for `typeloom.diff`.
            by_name: as for `typeloom.diff`.
            label: the label of the interface, if a version has several.
            operators: operators of other domains.

        Raises:
            NotFoundError: there is no such registry, subject, version or alias.
            CorruptError: an object in the store is not as it was written.
            ModelError: a model has errors.
        """

        def interface(side: _Content | Version) -> Interface:
            if isinstance(side, Version):
                side = side.reference
            if isinstance(side, Bundle):
                return Interface.from_bundle(side.to_bytes(), label)
            is_name = isinstance(side, str) and not os.path.exists(side)
            if isinstance(side, str) and is_name and _core.registry_reference(side) is not None:
                return self.pull(side, label=label)
            return _interface_of(side, operators)

        return interface(old).diff(interface(new), mode=mode, by_name=by_name)

    def pull(self, reference: str, *, label: str | None = None) -> Interface:
        """The interface of a version. The entries from the head of the log to the version, and its bundle, are verified.

        >>> import tempfile, typeloom as tl
        >>> from typeloom.registry import Registry
        >>> registry = Registry(tempfile.mkdtemp())
        >>> relu = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }'
        >>> registry.push(relu, "net").reference
        'net@1'
        >>> bool(tl.diff(registry.pull("net"), relu))
        True

        Args:
            reference: the version.
            label: the label of the interface, if the version has several.

        Raises:
            NotFoundError: there is no such registry, subject, version or alias.
            CorruptError: an object in the store is not as it was written.
            TypeloomError: the version has no such interface, or the reference is malformed.
            OSError: the store cannot be accessed.
        """
        return Interface.from_bundle(_value(self._current.pull(reference))[1], label)

    def pull_bundle(self, reference: str) -> Bundle:
        """The bundle of a version, verified as in `pull`. It may have several interfaces, or other types."""
        return Bundle(_value(self._current.pull(reference))[1])

    def show(self, reference: str) -> Version:
        """The record of a version, verified as in `pull`."""
        return Version(_value(self._current.pull(reference))[0])

    def subjects(self, prefix: str = "") -> list[Subject]:
        """The subjects in order of names; with a prefix, those whose names begin with its segments.

        Raises:
            NotFoundError: there is no registry.
        """
        return [Subject(raw) for raw in _value(self._current.subjects(prefix or None))]

    def subject(self, name: str) -> Subject:
        """The state of a subject.

        Raises:
            NotFoundError: there is no such subject.
        """
        return Subject(_value(self._current.show(name, 0))["subject"])

    def versions(self, subject: str, *, limit: int | None = None) -> list[Version]:
        """The versions of a subject in order of numbers.

        Args:
            subject: the name of the subject.
            limit: the maximum number of entries of the log to read, the latest ones. Each is a request.

        Raises:
            NotFoundError: there is no such subject.
            CorruptError: an entry is not as it was written.
        """
        raw = _value(self._current.show(subject, (1 << 63) - 1 if limit is None else limit))
        return [Version(one) for one in raw["versions"]]

    def check(
        self,
        content: _Content,
        reference: str,
        *,
        mode: RegistryMode | None = None,
        operators: Operators | None = None,
    ) -> Verdict:
        """Compares a model as a push does, but writes nothing.

        >>> import tempfile
        >>> from typeloom.registry import Registry
        >>> registry = Registry(tempfile.mkdtemp())
        >>> head = '<ir_version: 10, opset_import: ["" : 21]> '
        >>> registry.push(head + "g (float[N, 3] x) => (y) { y = Relu(x) }", "net", alias="production").number
        1
        >>> registry.check(head + "g (float[N, 4] x) => (y) { y = Relu(x) }", "net@production")
        net@1: inputs.x.shape[1]: 3 -> 4 (breaks both ways)
        net@1: outputs.y.shape[1]: 3 -> 4 (breaks both ways)
        not compatible with net (backward); nearest compatible version: none

        Args:
            content: as for `push`.
            reference: a subject, for a comparison with the versions that a push would be compared with; or a version, which is
                compared alone.
            mode: the compatibility mode instead of that of the subject.
            operators: operators of other domains.

        Raises:
            ModelError: the model has errors.
            NotFoundError: there is no such subject, version or alias.
        """
        bundle, _ = _bundled(content, operators)
        return Verdict(_value(self._current.check(reference, bundle, mode)))

    def _against(self, report: _core.Report, reference: str) -> Verdict | None:
        """Adds the differences to a report. A model with errors has no interface, and is not compared."""
        if not report.has_interface:
            return None
        return Verdict(_value(self._current.against(report, reference)))

    def set(
        self,
        subject: str,
        *,
        mode: RegistryMode | None = None,
        by_name: bool | None = None,
        aliases: Mapping[str, int | str] | None = None,
        remove_aliases: str | Iterable[str] = (),
    ) -> Subject:
        """Changes the state of a subject. It concerns later pushes: existing versions are not compared.

        >>> import tempfile
        >>> from typeloom.registry import Registry
        >>> registry = Registry(tempfile.mkdtemp())
        >>> relu = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }'
        >>> registry.push(relu, "net", alias="candidate").aliases
        ['candidate']
        >>> registry.set("net", mode="full", aliases={"production": "candidate"}, remove_aliases=["candidate"])
        <Subject net: 1 version, full, production=1>

        Args:
            subject: the name of the subject.
            mode: the compatibility mode.
            by_name: whether callers bind inputs and outputs by name alone.
            aliases: the aliases to set; each to a number, to the version of another alias, or to ``latest``.
            remove_aliases: the aliases to remove.

        Raises:
            NotFoundError: there is no such subject, version or alias.
        """
        pairs = [(alias, str(version)) for alias, version in (aliases or {}).items()]
        changes: _Changes = (mode, by_name, pairs, items(remove_aliases))
        return Subject(_value(self._current.set(subject, changes, _now())))

    def verify(self, subject: str | None = None, *, checkpoint: bytes | None = None) -> Verification:
        """Recomputes all digests and comparisons.

        Only a checkpoint reveals that a log was replaced as a whole by an older or another valid one.

        >>> import tempfile
        >>> from typeloom.registry import Registry
        >>> registry = Registry(tempfile.mkdtemp())
        >>> relu = '<ir_version: 10, opset_import: ["" : 21]> g (float[N] x) => (y) { y = Relu(x) }'
        >>> registry.push(relu, "net").entry
        1
        >>> checkpoint = registry.verify().checkpoint
        >>> registry.verify(checkpoint=checkpoint)
        <Verification ok: {'net': 1}>

        Args:
            subject: the subject; all by default.
            checkpoint: the checkpoint of an earlier verification of this registry, kept elsewhere.

        Raises:
            NotFoundError: there is no registry.
            TypeloomError: the checkpoint is malformed.
            OSError: the store cannot be accessed.
        """
        return Verification(_value(self._current.verify(subject, checkpoint)))

    def gc(
        self, subject: str | None = None, *, older_than: int = 3600, dry_run: bool = False
    ) -> list[Collected]:
        """Deletes bundles that no version refers to, such as those of interrupted pushes.

        Args:
            subject: the subject; all by default.
            older_than: the age in seconds from which bundles are deleted, by the clock of the store. A shorter time is safe too,
                but pushes in progress may have to upload again.
            dry_run: delete nothing.

        Raises:
            CorruptError: an object in the store is not as it was written.
            OSError: the store cannot be accessed.
        """
        raw = _value(self._current.gc(subject, older_than, dry_run, _now()))
        return [Collected(one) for one in raw]


_SUFFIXES = (".onnx", ".onnxtxt", ".onnxtext", ".onnx.txt")


def _models(folder: str) -> list[str]:
    """The models in a folder and in the folders in it, in the order of names, without hidden ones."""
    found: list[str] = []
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        models = (name for name in files if name.endswith(_SUFFIXES) and not name.startswith("."))
        found += [os.path.join(parent, name) for name in models]
    return sorted(found)


def _restore(url: str, options: dict[str, str]) -> Registry:
    return Registry(url, **options)


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)


def _now() -> int:
    """The time of a new entry. ``SOURCE_DATE_EPOCH`` replaces the clock, as in reproducible builds."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())


def _bundled(content: _Content, operators: Operators | None) -> _Bundled:
    """The bundle of a model, and the record of its file."""
    if isinstance(content, (Interface, Bundle)):
        bundle = content.to_bundle() if isinstance(content, Interface) else content.to_bytes()
        name = f"<{type(content).__name__.lower()}>"
        return bundle, (name, len(bundle), _core.registry_digest(bundle))
    form = form_of(content)
    settings = _settings(True, None, None, False, operators)
    found, problems = _core.registry_content(form.model, settings, form.name)
    if found is None:
        raise ModelError([Diagnostic(raw) for raw in problems])
    bundle, size, digest = found
    return bundle, (form.name, size, digest)


def _value(answer: tuple[_T | None, tuple[str, str, Any] | None]) -> _T:
    """The result of an operation.

    Raises:
        RegistryError: the operation failed.
    """
    value, failure = answer
    if failure is not None:
        raise _error(*failure)
    assert value is not None
    return value


def _error(kind: str, message: str, detail: Any) -> RegistryError:
    if kind == "rejected":
        rejected = RejectedError(message)
        rejected.verdict = Verdict(detail)
        return rejected
    if kind == "corrupt":
        corrupt = CorruptError(message)
        corrupt.object, corrupt.problem = detail["object"], detail["problem"]
        return corrupt
    if kind == "unconfirmed":
        unconfirmed = UnconfirmedError(message)
        unconfirmed.object = detail["object"]
        return unconfirmed
    return NotFoundError(message) if kind == "not-found" else RegistryError(message)
