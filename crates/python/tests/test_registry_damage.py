"""Stores that something else than a registry changed: verification and reading detect it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import blake3
import pytest

from registry_stores import Bucket, Folder, Server, Store
from registry_worker import interface
from typeloom.registry import CorruptError, NotFoundError, Registry, RegistryError, Verification

SEED = 5
VERSIONS = 6
LOG = "subjects/net/_log"
HEAD = "subjects/net/_head.json"
MARKER = "registry.json"


@pytest.fixture(params=["folder", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """A registry with two subjects."""
    if request.param == "folder":
        store: Store = Folder(tmp_path / "registry")
    else:
        store = Bucket(request.getfixturevalue("s3"), f"damage-{request.node.name}")
    registry = store.registry()
    for content in range(1, VERSIONS + 1):
        registry.push(interface(content), "net", alias="production" if content == 3 else ())
    registry.push(interface(2), "other/net")
    registry.push(interface(7), "other/net")
    assert registry.verify()
    return store


def entry(number: int, subject: str = "net") -> str:
    return f"subjects/{subject}/_log/{number:010}.json"


def load(store: Store, key: str) -> Any:
    return json.loads(store.read(key))


def dump(value: Any) -> bytes:
    """JSON in the notation of the format, so that only the content is wrong."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def hash_of(data: bytes) -> str:
    return blake3.blake3(data).hexdigest()


def bundle(store: Store, number: int) -> str:
    """The object with the bundle of a version."""
    return f"subjects/net/_bundles/{load(store, entry(number))['change']['push']['bundle']}"


def pull_all(registry: Registry) -> None:
    """Reads every version of the subject that the tests damage."""
    for number in range(1, VERSIONS + 1):
        assert registry.pull(f"net@{number}").digest == interface(number).digest


def errors(verification: Verification) -> list[str]:
    return [problem.object for problem in verification.problems if problem.severity == "error"]


def snapshot(store: Store) -> dict[str, bytes]:
    return {key: store.read(key) for key in store.keys()}


def restore(store: Store, objects: dict[str, bytes]) -> None:
    found = snapshot(store)
    for key in found.keys() - objects.keys():
        store.delete(key)
    for key, data in objects.items():
        if found.get(key) != data:
            store.write(key, data)


def assert_detected(store: Store, key: str | None = None) -> None:
    """Verification names the object, and a reader gets an error."""
    verification = store.registry().verify()
    assert not verification and verification.checkpoint is None
    if key is not None:
        assert any(name.endswith(key) for name in errors(verification)), verification
    with pytest.raises(CorruptError) as caught:
        pull_all(store.registry())
    assert caught.value.object and caught.value.problem


def test_each_flipped_bit_is_detected(store: Store) -> None:
    chance = random.Random(SEED)
    objects = snapshot(store)
    own = [key for key in objects if key.startswith("subjects/net/")]
    assert len(own) == 2 * VERSIONS + 1
    for key in own:
        data = objects[key]
        for _ in range(3 if isinstance(store, Folder) else 1):
            bit = chance.randrange(8 * len(data))
            flipped = bytearray(data)
            flipped[bit // 8] ^= 1 << bit % 8
            store.write(key, bytes(flipped))
            print(f"{key}: bit {bit}")
            # A changed entry that is valid has another hash, which the entry after it or the head states.
            assert_detected(store, key if "_bundles" in key else None)
        store.write(key, data)
    pull_all(store.registry())
    assert store.registry().verify()


def test_a_damaged_marker_ends_every_operation(store: Store) -> None:
    data = store.read(MARKER)
    for bit in range(0, 8 * len(data), 97):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        store.write(MARKER, bytes(flipped))
        with pytest.raises(RegistryError):
            store.registry().pull("net")
        # A writer reads the marker once, so it has to be a new one.
        with pytest.raises(RegistryError):
            Registry(store.url, **store.options).push(interface(9), "net")
    store.write(MARKER, data.replace(b'"version":1', b'"version":2'))
    with pytest.raises(RegistryError, match="format version 2"):
        store.registry().verify()
    store.delete(MARKER)
    with pytest.raises(NotFoundError):
        store.registry().pull("net")


def swap(store: Store, a: str, b: str) -> None:
    first, second = store.read(a), store.read(b)
    store.write(a, second)
    store.write(b, first)


def no_bundle(store: Store) -> None:
    store.delete(bundle(store, 2))


def other_bundle(store: Store) -> None:
    """A bundle that is valid, but of another version."""
    store.write(bundle(store, 2), store.read(bundle(store, 5)))


def swapped_entries(store: Store) -> None:
    swap(store, entry(2), entry(3))


def swapped_bundles(store: Store) -> None:
    swap(store, bundle(store, 1), bundle(store, 6))


def swapped_logs(store: Store) -> None:
    for number in (1, 2):
        swap(store, entry(number), entry(number, "other/net"))


def entry_of_another_subject(store: Store) -> None:
    store.write(entry(2), store.read(entry(2, "other/net")))


def appended_entry_of_another_subject(store: Store) -> None:
    other = load(store, entry(2, "other/net"))
    other["entry"] = VERSIONS + 1
    store.write(entry(VERSIONS + 1), dump(other))


def missing_entry(store: Store) -> None:
    store.delete(entry(4))


def missing_tail(store: Store) -> None:
    """The head still refers to the last entry."""
    store.delete(entry(VERSIONS))


def replayed_entry(store: Store) -> None:
    store.write(entry(VERSIONS + 1), store.read(entry(2)))


def replayed_version_with_a_new_number(store: Store) -> None:
    """The links are those of the old entry."""
    replayed = load(store, entry(2))
    replayed["entry"] = VERSIONS + 1
    replayed["versions"] = VERSIONS + 1
    store.write(entry(VERSIONS + 1), dump(replayed))


def rewritten_history(store: Store) -> None:
    """An entry in the middle moves an alias; later entries have links to the original one."""
    changed = load(store, entry(3))
    changed["state"]["aliases"]["production"] = 1
    store.write(entry(3), dump(changed))


def other_notation(store: Store) -> None:
    """The same entry with other bytes."""
    store.write(entry(3), json.dumps(load(store, entry(3)), indent=1).encode())


def head_with_another_hash(store: Store) -> None:
    store.write(HEAD, dump({**load(store, HEAD), "digest": "0" * 64}))


def head_of_a_missing_entry(store: Store) -> None:
    store.write(HEAD, dump({"digest": "0" * 64, "entry": VERSIONS + 5}))


def head_with_the_hash_of_another_entry(store: Store) -> None:
    store.write(HEAD, dump({**load(store, HEAD), "entry": 2}))


def head_of_another_subject(store: Store) -> None:
    store.write(HEAD, store.read("subjects/other/net/_head.json"))


def empty_objects(store: Store) -> None:
    store.write(entry(1), b"")
    store.write(bundle(store, 2), b"")


def too_large_entry(store: Store) -> None:
    store.write(entry(2), bytes(300 << 10))


def longer_bundle(store: Store) -> None:
    store.write(bundle(store, 2), store.read(bundle(store, 2)) + b"\0")


TAMPERING: list[Callable[[Store], None]] = [
    no_bundle,
    other_bundle,
    swapped_entries,
    swapped_bundles,
    swapped_logs,
    entry_of_another_subject,
    appended_entry_of_another_subject,
    missing_entry,
    missing_tail,
    replayed_entry,
    replayed_version_with_a_new_number,
    rewritten_history,
    other_notation,
    head_with_another_hash,
    head_of_a_missing_entry,
    head_with_the_hash_of_another_entry,
    head_of_another_subject,
    empty_objects,
    too_large_entry,
    longer_bundle,
]


def test_tampering_is_detected(store: Store) -> None:
    objects = snapshot(store)
    for tamper in TAMPERING:
        print(tamper.__name__)
        tamper(store)
        assert_detected(store)
        restore(store, objects)
    assert store.registry().verify()
    pull_all(store.registry())


def test_a_writer_does_not_extend_a_damaged_log(store: Store) -> None:
    objects = snapshot(store)
    for tamper in (missing_tail, replayed_entry, head_with_another_hash, appended_entry_of_another_subject):
        tamper(store)
        before = snapshot(store)
        with pytest.raises(CorruptError):
            store.registry().push(interface(9), "net")
        after = snapshot(store)
        # The bundle is uploaded after the head is verified.
        assert after == before, tamper.__name__
        restore(store, objects)


def test_a_version_that_violates_the_mode_is_detected(store: Store) -> None:
    # A writer that ignores the mode: its own registry allows everything, and its objects are copied. So links are correct.
    objects = snapshot(store)
    registry = store.registry()
    registry.set("net", mode="none")
    registry.push(interface(1), "net")
    added = {key: data for key, data in snapshot(store).items() if key not in objects}
    forged_entry = json.loads(added[entry(VERSIONS + 2)])
    forged_entry["state"]["mode"] = "backward"
    store.write(entry(VERSIONS + 2), dump(forged_entry))
    store.write(HEAD, dump({"digest": hash_of(dump(forged_entry)), "entry": VERSIONS + 2}))
    # The chain is intact, so reading succeeds; the comparison that the push had to pass is repeated by a verification.
    assert store.registry().pull("net").digest == interface(1).digest
    verification = store.registry().verify()
    assert any("violates mode backward" in problem.message for problem in verification.problems), verification


def test_an_old_head_is_harmless(store: Store) -> None:
    objects = snapshot(store)
    for number in range(1, VERSIONS + 1):
        store.write(HEAD, dump({"digest": hash_of(objects[entry(number)]), "entry": number}))
        assert store.registry().show("net").number == VERSIONS
        assert store.registry().verify()
    store.delete(HEAD)
    assert store.registry().show("net").number == VERSIONS
    assert store.registry().push(interface(9), "net").number == VERSIONS + 1
    assert store.registry().verify()


def test_only_a_checkpoint_detects_an_older_log(store: Store) -> None:
    objects = snapshot(store)
    old = store.registry().verify().checkpoint
    assert old is not None
    store.registry().push(interface(8), "net")
    new = store.registry().verify(checkpoint=old).checkpoint
    assert new is not None and new != old
    restore(store, objects)
    assert store.registry().verify() and store.registry().verify(checkpoint=old)
    verification = store.registry().verify(checkpoint=new)
    assert [name.endswith(entry(VERSIONS + 1)) for name in errors(verification)] == [True]
    # So does the loss of a subject.
    for key in objects:
        if key.startswith("subjects/net/"):
            store.delete(key)
    assert store.registry().verify()
    assert not store.registry().verify(checkpoint=old)


def test_only_a_checkpoint_detects_another_log(store: Store) -> None:
    checkpoint = store.registry().verify().checkpoint
    objects = snapshot(store)
    for key in objects:
        if key.startswith("subjects/net/"):
            store.delete(key)
    for content in range(1, VERSIONS + 1):
        store.registry().push(interface(content), "net")
    assert store.registry().verify()
    verification = store.registry().verify(checkpoint=checkpoint)
    assert any("hash than in the checkpoint" in problem.message for problem in verification.problems)
    assert store.registry().verify("other/net", checkpoint=checkpoint)


def test_other_objects_are_warnings(store: Store) -> None:
    for key in ("note.txt", "subjects/net/note.txt", "subjects/net/_log/1.json", "subjects/net/_bundles/x"):
        store.write(key, b"text")
    verification = store.registry().verify()
    assert verification
    assert [problem.severity for problem in verification.problems] == ["warning"] * 4
    # A collection leaves what the registry did not write.
    store.registry().gc(older_than=0)
    assert store.read("subjects/net/_bundles/x") == b"text"
    pull_all(store.registry())


@pytest.mark.parametrize("text", [b"", b"{}", b"[1]", b'{"format":"x","subjects":{},"version":1}', b"\xff"])
def test_a_malformed_checkpoint_is_an_error(store: Store, text: bytes) -> None:
    with pytest.raises(Exception, match="checkpoint"):
        store.registry().verify(checkpoint=text)
