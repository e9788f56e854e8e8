"""Bundles: the portable byte strings of `typeloom.pool`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from typeloom import _core
from typeloom._descriptor import Digest
from typeloom._errors import TypeloomError

__all__ = ["Bundle", "BundleError", "Root"]


class BundleError(TypeloomError, ValueError):
    """A bundle is invalid, or omits types that a pool does not have.

    Attributes:
        offset: the byte at which the error is, if one is known.
        missing: the digests of the omitted types. If there are some, the import succeeds after an import of these types.
    """

    __module__ = "typeloom.pool"
    offset: int | None
    missing: tuple[Digest, ...]

    def __init__(self, message: str, offset: int | None = None, missing: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.offset = offset
        self.missing = tuple(Digest(digest) for digest in missing)

    def __reduce__(self) -> tuple[type[BundleError], tuple[str, int | None, tuple[Digest, ...]]]:
        return (BundleError, (str(self), self.offset, self.missing))


class Root:
    """A labelled type of a bundle.

    Attributes:
        label: the label.
        digest: the digest that the bundle states. `Bundle.verify` and imports recompute it.
    """

    __slots__ = ("digest", "label")

    def __init__(self, label: str, digest: Digest) -> None:
        self.label = label
        self.digest = digest

    def __repr__(self) -> str:
        return f"<Root {self.label}: {self.digest}>"


class Bundle:
    """Labelled types with everything that they refer to, as one canonical byte string.

    >>> import typeloom as tl
    >>> pool = tl.Pool()
    >>> bundle = pool.export({"numbers": pool.list(pool.primitive("int"))})
    >>> again = tl.pool.Bundle.from_bytes(bundle.to_bytes())
    >>> again.verify()
    >>> [root.label for root in again.roots], again == bundle
    (['numbers'], True)

    Bytes from elsewhere are checked by `verify` and by imports, and not by `from_bytes`. `docs/bundle-format.md` specifies the format.
    """

    __slots__ = ("_bytes",)

    def __init__(self, data: bytes) -> None:
        self._bytes = bytes(data)

    @classmethod
    def from_bytes(cls, data: bytes) -> Bundle:
        """The bundle with these bytes, which are not checked.

        >>> import typeloom as tl
        >>> interface = tl.describe('''<ir_version: 10, opset_import: ["" : 21]>
        ... g (float[N] x) => (y) { y = Relu(x) }''')
        >>> bundle = tl.pool.Bundle.from_bytes(interface.to_bundle())
        >>> bundle.roots[0].digest == interface.digest
        True
        """
        return cls(data)

    @classmethod
    def from_json(cls, text: str) -> Bundle:
        """The bundle with a JSON view.

        >>> from typeloom.pool import Bundle, Pool
        >>> bundle = Pool().export({})
        >>> Bundle.from_json(bundle.to_json()) == bundle
        True

        Raises:
            BundleError: the text is no such view.
        """
        try:
            return cls(_core.bundle_from_json(text))
        except TypeloomError as error:
            raise BundleError(str(error)) from None

    @staticmethod
    def is_like(data: bytes) -> bool:
        """Whether bytes start like a bundle.

        >>> from typeloom.pool import Bundle
        >>> Bundle.is_like(b"TLPB"), Bundle.is_like(b"ONNX")
        (True, False)
        """
        return data.startswith(b"TLPB")

    def to_bytes(self) -> bytes:
        """The bytes."""
        return self._bytes

    def to_json(self) -> str:
        """The JSON view: the same content, item by item.

        Raises:
            BundleError: the bytes cannot be decoded.
        """
        try:
            return _core.bundle_to_json(self._bytes)
        except TypeloomError as error:
            raise BundleError(str(error)) from None

    @property
    def roots(self) -> list[Root]:
        """The labelled types in order of labels.

        Raises:
            BundleError: the bytes cannot be decoded.
        """
        return [Root(root["label"], Digest(root["digest"])) for root in self._view()["roots"]]

    @property
    def imports(self) -> list[Digest]:
        """The digests of types that the bundle omits: a receiver needs them.

        Raises:
            BundleError: the bytes cannot be decoded.
        """
        return [Digest(digest) for digest in self._view()["imports"]]

    def _view(self) -> dict[str, Any]:
        view: dict[str, Any] = json.loads(self.to_json())
        return view

    def verify(self) -> None:
        """Checks everything: the form of every type, the canonical order, and all digests.

        >>> import typeloom as tl
        >>> bundle = tl.Pool().export({})
        >>> bundle.verify()
        >>> tl.pool.Bundle.from_bytes(bundle.to_bytes()[:-1]).verify()
        Traceback (most recent call last):
            ...
        typeloom.pool.BundleError: the bundle ends too early (at byte 12)

        Raises:
            BundleError: the bundle is invalid. A bundle that omits types is checked by an import into a pool that has them; the
                error lists the omitted types.
        """
        _, error = _core.Pool().import_(self._bytes)
        if error is not None:
            raise BundleError(*error)

    def __bytes__(self) -> bytes:
        return self._bytes

    def __len__(self) -> int:
        return len(self._bytes)

    def __eq__(self, other: object) -> bool:
        return self._bytes == other._bytes if isinstance(other, Bundle) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __repr__(self) -> str:
        return f"<Bundle of {len(self)} bytes>"
