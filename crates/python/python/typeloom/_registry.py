"""What a registry returns: versions, subjects, and the results of pushes, comparisons and checks."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, TypeAlias

from typeloom._html import code
from typeloom._interface import Difference, differences_table

if TYPE_CHECKING:
    from typeloom.typing import RegistryMode

_Raw: TypeAlias = dict[str, Any]


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc)


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
