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
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union

from typeloom import _core
from typeloom._api import _interface_of, _settings
from typeloom._bundle import Bundle
from typeloom._errors import ModelError, TypeloomError
from typeloom._interface import Diff, Interface
from typeloom._items import items
from typeloom._model import ModelLike, form_of
from typeloom._operators import Operators
from typeloom._registry import (
    Collected,
    Comparison,
    Problem,
    Pushed,
    Source,
    Subject,
    Verdict,
    Verification,
    Version,
)
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

        A model that cannot be pushed does not stop the others: its result has the error. The models are those of the command: without
        hidden ones, and those that ``.gitignore`` names.

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
        for path, name in _core.models_in(root):
            subject = "/".join(filter(None, (prefix.strip("/"), name)))
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


def _restore(url: str, options: dict[str, str]) -> Registry:
    return Registry(url, **options)


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
