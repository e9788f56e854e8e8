"""Writers of a registry that are killed, and whose requests fail, at every step.

Contents are numbers of outputs, so a slow model of compatibility is a comparison of numbers. Each push names a file of its own as its
source, so a version shows which push created it.

`TYPELOOM_REGISTRY_PUSHES` is the number of pushes to each of the two kinds of store; the run of a release has 5000. A seed for other
runs is `TYPELOOM_REGISTRY_SEED`; the seed is printed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from registry_stores import Bucket, Folder, Server, Store, Worker, options
from registry_worker import CONTENTS, interface
from typeloom.registry import Registry, RejectedError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed")

PUSHES = int(os.environ.get("TYPELOOM_REGISTRY_PUSHES", "100"))
SEED = int(os.environ.get("TYPELOOM_REGISTRY_SEED", "20"))
ROUND = 500
"""Maximum number of pushes to one registry: listings of the server take longer with each object."""
WRITERS = 4
SEARCHED = 100
"""Number of versions before the compared ones among which a verdict names the nearest compatible one."""

WEIGHTS = [8, 3, 3, 3, 3, 1, 1]
MODES = ["none", "backward", "backward_transitive", "forward", "forward_transitive", "full", "full_transitive"]
FITS: dict[str, Callable[[int, int], bool]] = {
    "none": lambda old, new: True,
    "backward": lambda old, new: new >= old,
    "forward": lambda old, new: new <= old,
    "full": lambda old, new: new == old,
}
"""Whether new content fulfils a mode with respect to old content."""


def fits(mode: str, old: int, new: int) -> bool:
    return FITS[mode.removesuffix("_transitive")](old, new)


@dataclass
class Attempt:
    """A push and its outcome; `None` if the process ended before."""

    token: str
    subject: str
    content: int
    writer: int
    alias: bool
    is_started: bool = False
    outcome: dict[str, Any] | None = None


@dataclass
class Run:
    """One registry with its writers."""

    store: Store
    folder: Path
    random: random.Random
    attempts: list[Attempt] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def source(self, token: str) -> str:
        path = self.folder / token
        path.touch()
        return str(path)


def start_of(mode: str) -> int:
    return {"backward": 3, "forward": CONTENTS - 3}.get(mode.removesuffix("_transitive"), CONTENTS // 2)


def content_for(random: random.Random, subject: str, last: dict[str, int]) -> int:
    """Content near that of the last version that the writer knows, so that many pushes are accepted and many are not."""
    mode = subject.rsplit("/", 1)[1].removesuffix("_transitive")
    if mode == "none":
        return random.randint(1, CONTENTS)
    step = {"backward": 1, "forward": -1, "full": 0}[mode]
    content = last.get(subject, start_of(mode)) + random.choice([-step, 0, step, step, step])
    return min(max(content + (mode == "full") * random.choice([-1, 0, 1]), 1), CONTENTS)


def plan(random: random.Random) -> str:
    """The access key of a client with a fault, see `faulty_s3.py`."""
    fault = random.choices(["kill", "drop", "error", "busy", "late", "hang"], [12, 4, 3, 3, 3, 1])[0]
    when = random.choice(["before", "after"])
    scope = random.choice(["once", "rest"]) if fault in ("drop", "late") else "once"
    kinds = random.choice(["any", "write"])
    # A push has four writes and about ten requests.
    step = random.randint(1, 40 if kinds == "any" else 12)
    return f"{fault}.{when}.{scope}.{kinds}.{step}.PID"


def job_of(run: Run, writer: int, random: random.Random, count: int, last: dict[str, int]) -> list[dict[str, Any]]:
    operations: list[dict[str, Any]] = []
    for _ in range(count):
        subject = f"soak/{random.choices(MODES, WEIGHTS)[0]}"
        with run.lock:
            token = f"t{len(run.attempts):05}"
            attempt = Attempt(token, subject, content_for(random, subject, last), writer, random.random() < 0.3)
            run.attempts.append(attempt)
        operation = {
            "do": "push",
            "subject": subject,
            "content": attempt.content,
            "token": token,
            "source": run.source(token),
            "alias": [f"writer-{writer}"] if attempt.alias else [],
        }
        operations.append(operation)
        if random.random() < 0.15:
            operations.append({"do": random.choice(["set", "gc"]), "subject": subject})
    return operations


def kill_at_random(random: random.Random, worker: Worker, pid: int, operations: int) -> list[Any]:
    """Kills the process of a job at a random time after a random number of operations; returns its events so far."""
    events: list[Any] = []
    for _ in range(random.randrange(2 * operations)):
        events.append(worker.next())
        if "end" in events[-1]:
            return events
    threading.Event().wait(random.random() * random.choice([0.002, 0.02, 0.1]))
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    return events


def writer_of(run: Run, writer: int, seed: int, pushes: int) -> None:
    """Runs jobs until there were enough pushes."""
    chance = random.Random(f"{seed} {writer}")
    last: dict[str, int] = {}
    worker = Worker()
    try:
        while pushes > 0:
            count = min(pushes, chance.randint(1, 8))
            pushes -= count
            client = dict(run.store.options)
            is_killed = False
            if isinstance(run.store, Bucket) and chance.random() < 0.75:
                client["aws_access_key_id"] = plan(chance)
            else:
                is_killed = chance.random() < 0.6
            operations = job_of(run, writer, chance, count, last)
            job = {"role": "write", "url": run.store.url, "options": client, "operations": operations}
            pid = worker.start(job)
            events = kill_at_random(chance, worker, pid, len(operations)) if is_killed else []
            if not events or "end" not in events[-1]:
                events += worker.rest()
            record(run, events, last)
            # Pushes that a killed process did not start are made up for.
            pushes += sum(not run.attempts[int(one["token"][1:])].is_started for one in operations if one["do"] == "push")
    finally:
        worker.close()


def record(run: Run, events: list[Any], last: dict[str, int]) -> None:
    """Assigns the outcomes of a job to its pushes."""
    started: dict[str, Any] | None = None
    for event in events:
        assert "wrong" not in event, event
        with run.lock:
            if "start" in event:
                started = event["start"]
                if started["do"] == "push":
                    run.attempts[int(started["token"][1:])].is_started = True
            elif "did" in event:
                assert started is not None
                run.counts[event["did"]] += 1
                if started["do"] == "push":
                    run.attempts[int(started["token"][1:])].outcome = event
                    if event["did"] == "push":
                        last[started["subject"]] = started["content"]
            elif "end" in event:
                assert event["end"] in (0, -signal.SIGKILL), event
                run.counts["killed"] += event["end"] != 0


def check_rejection(contents: list[int], attempt: Attempt, outcome: dict[str, Any]) -> None:
    """A rejection is that of the model for a state of the log during the push."""
    mode = outcome["mode"]
    violated = [version for version, _, _ in outcome["differences"]]
    assert violated and violated == sorted(violated, reverse=True), outcome
    is_transitive = mode.endswith("_transitive")
    latest = outcome["compared"] if is_transitive else violated[0]
    lowest = 1 if is_transitive else latest

    def violates(version: int) -> bool:
        return not fits(mode, contents[version - 1], attempt.content)

    expected = [version for version in range(latest, lowest - 1, -1) if violates(version)]
    assert outcome["violated"] == len(expected) > 0, (attempt, contents)
    assert violated == expected[:3], (attempt, contents)
    searched = range(latest, max(lowest - SEARCHED, 1) - 1, -1)
    nearest = next((version for version in searched if not violates(version)), None)
    assert outcome["nearest"] == nearest, (attempt, contents)
    for version, paths, removed in outcome["differences"]:
        low, high = sorted([contents[version - 1], attempt.content])
        assert sorted(paths) == sorted(f"outputs.y{at}" for at in range(low, high)) and not removed, outcome


def check(run: Run) -> None:
    """The registry is what the outcomes imply."""
    registry = run.store.registry()
    by_digest = {interface(content).digest: content for content in range(1, CONTENTS + 1)}
    attempts = {attempt.token: attempt for attempt in run.attempts}
    seen: Counter[str] = Counter()
    for mode in MODES:
        subject = registry.subject(f"soak/{mode}")
        versions = registry.versions(subject.name)
        assert [one.number for one in versions] == list(range(1, subject.versions + 1))
        contents = [by_digest[one.types["main"]] for one in versions]
        for at, one in enumerate(versions):
            token = Path(one.source.name).name
            seen[token] += 1
            if at == 0:
                continue
            attempt = attempts[token]
            assert (attempt.subject, attempt.content) == (subject.name, contents[at])
            before = contents[:at] if mode.endswith("_transitive") else contents[at - 1 : at]
            assert all(fits(mode, old, contents[at]) for old in before), (mode, contents[: at + 1])
        for attempt in (one for one in run.attempts if one.subject == subject.name):
            if not attempt.is_started:
                assert seen[attempt.token] == 0, attempt
                continue
            outcome = attempt.outcome or {"did": "unknown"}
            if outcome["did"] == "push":
                version = versions[outcome["number"] - 1]
                assert contents[outcome["number"] - 1] == attempt.content
                assert seen[attempt.token] == outcome["new"], attempt
                if outcome["new"]:
                    assert (Path(version.source.name).name, version.digest) == (attempt.token, outcome["digest"])
            elif outcome["did"] == "rejected":
                assert outcome["mode"] == mode
                check_rejection(contents, attempt, outcome)
                assert seen[attempt.token] == 0, attempt
            elif outcome["did"] == "failed":
                assert seen[attempt.token] == 0, attempt
            else:
                assert outcome["did"] in ("unknown", "unconfirmed"), attempt
                run.counts[f"{outcome['did']}, {'present' if seen[attempt.token] else 'absent'}"] += 1
        for writer in range(WRITERS):
            name = f"writer-{writer}"
            own = [it for it in run.attempts if (it.subject, it.writer, it.alias) == (subject.name, writer, True)]
            done = [it.outcome["number"] for it in own if it.outcome is not None and it.outcome["did"] == "push"]
            assert subject.aliases.get(name, 0) >= max(done, default=0), (subject, name)
    assert set(seen.values()) == {1}
    run.counts["versions"] += sum(seen.values())
    check_objects(run.store, registry, run.counts)
    for mode in MODES:
        contents = [by_digest[one.types["main"]] for one in registry.versions(f"soak/{mode}")]
        for content in (1, CONTENTS):
            old = contents if mode.endswith("_transitive") else contents[-1:]
            try:
                registry.push(interface(content), f"soak/{mode}")
                contents.append(content)
                is_accepted = True
            except RejectedError:
                is_accepted = False
            assert is_accepted == all(fits(mode, one, content) for one in old), (mode, content)
    assert registry.verify().ok


def check_objects(store: Store, registry: Registry, counts: Counter[str]) -> None:
    """Everything verifies, and a collection deletes exactly the bundles that no version refers to."""
    verification = registry.verify()
    assert verification.ok and not verification.problems, verification
    unreferenced = sum(verification.unreferenced.values())
    counts["unreferenced"] += unreferenced
    before = set(store.keys())
    dry = {name for one in registry.gc(older_than=0, dry_run=True) for name in one.bundles}
    assert set(store.keys()) == before
    deleted = {name for one in registry.gc(older_than=0) for name in one.bundles}
    assert dry == deleted and len(deleted) == unreferenced
    after = set(store.keys())
    gone = {key.rsplit("/", 1)[1] for key in before - after if "#" not in key}
    assert gone == deleted
    again = registry.verify(checkpoint=verification.checkpoint)
    assert again.ok and not again.problems and set(again.unreferenced.values()) <= {0}
    assert again.versions == verification.versions
    # A killed writer of a folder can leave an incomplete file, whose name contains `#`.
    assert sum("/_bundles/" in key and "#" not in key for key in after) == sum(again.versions.values())
    for subject in registry.subjects():
        for number in range(1, subject.versions + 1):
            registry.pull(f"{subject.name}@{number}")


def soak(store: Store, folder: Path, seed: int, pushes: int) -> Counter[str]:
    """One registry: writers and a reader at the same time, then all checks."""
    (folder / "sources").mkdir(parents=True)
    run = Run(store, folder / "sources", random.Random(seed))
    registry = store.registry()
    for mode in MODES:
        source = run.source(f"first-{mode}")
        registry.push(interface(start_of(mode)), f"soak/{mode}", mode=mode, source=source)
    stop = folder / "stop"
    reader = Worker()
    reader.start({"role": "read", "url": store.url, "options": store.options, "stop": str(stop)})
    try:
        with ThreadPoolExecutor(WRITERS) as pool:
            parts = [pushes // WRITERS + (at < pushes % WRITERS) for at in range(WRITERS)]
            writers = [pool.submit(writer_of, run, at, seed, part) for at, part in enumerate(parts)]
            for writer in writers:
                writer.result()
    finally:
        stop.touch()
        events = reader.rest()
        reader.close()
    assert events[-1] == {"end": 0}, events
    run.counts["reader rounds"] += events[0]["rounds"]
    run.counts["pushes"] += sum(attempt.is_started for attempt in run.attempts)
    check(run)
    return run.counts


def run_all(kind: str, store_of: Callable[[int], Store], folder: Path) -> None:
    counts: Counter[str] = Counter()
    left = PUSHES
    at = 0
    while left > 0:
        seed = SEED + at
        print(f"{kind}: seed {seed}", flush=True)
        counts += soak(store_of(at), folder / f"{at}", seed, min(left, ROUND))
        left -= ROUND
        at += 1
        print(dict(sorted(counts.items())), flush=True)
    # The run was one of the intended kind.
    assert counts["pushes"] == PUSHES
    assert counts["killed"] > 0 and counts["unknown, absent"] > 0
    assert counts["push"] > 0 and counts["rejected"] > 0


def test_killed_writers_of_a_folder_lose_nothing(tmp_path: Path) -> None:
    run_all("folder", lambda at: Folder(tmp_path / f"registry-{at}"), tmp_path / "runs")


def test_killed_writers_of_s3_lose_nothing(s3: Server, tmp_path: Path) -> None:
    run_all("s3", lambda at: Bucket(s3, f"soak-{at}"), tmp_path / "runs")
