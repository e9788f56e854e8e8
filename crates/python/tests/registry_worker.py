"""Processes that use a registry and may be killed, as a program.

The program reads jobs, one JSON object in each line, and runs each in a fork of itself. The job prints its process id and one line
for each event; the program prints `end` with its exit code. A fork is fast, and shows that registries work after one.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import typeloom as tl
from typeloom.registry import NotFoundError, Registry, RejectedError, UnconfirmedError

HEAD = '<ir_version: 10, opset_import: ["" : 21]> '


def model(content: int) -> str:
    """A model with so many outputs. It can replace, for existing callers, those with at most as many."""
    names = [f"y{at}" for at in range(content)]
    body = " ".join(f"{name} = Relu(x)" for name in names)
    return HEAD + f"g (float[N, 4] x) => ({', '.join(names)}) {{ {body} }}"


CONTENTS = 60
"""The number of contents that jobs push."""

_interfaces: dict[int, tl.Interface] = {}


def interface(content: int) -> tl.Interface:
    if content not in _interfaces:
        _interfaces[content] = tl.describe(model(content))
    return _interfaces[content]


def emit(value: Any) -> None:
    """Prints a line at once, so that a kill leaves it whole or absent."""
    os.write(1, (json.dumps(value) + "\n").encode())


def outcome(registry: Registry, operation: dict[str, Any]) -> dict[str, Any]:
    """The outcome of an operation."""
    subject = operation["subject"]
    try:
        if operation["do"] == "push":
            version = registry.push(
                interface(operation["content"]), subject, source=operation["source"], alias=operation["alias"]
            )
            return {"did": "push", "number": version.number, "new": version.new, "digest": version.digest}
        if operation["do"] == "set":
            return {"did": "set", "versions": registry.set(subject, aliases={"moved": "latest"}).versions}
        assert operation["do"] == "gc"
        return {"did": "gc", "deleted": sum(len(one.bundles) for one in registry.gc(subject, older_than=0))}
    except RejectedError as error:
        verdict = error.verdict
        differences = [[it.version, [one.path for one in it.differences], it.removed] for it in verdict.versions]
        return {
            "did": "rejected",
            "mode": verdict.mode,
            "compared": verdict.compared,
            "violated": verdict.violated,
            "differences": differences,
            "nearest": verdict.nearest,
        }
    except UnconfirmedError as error:
        return {"did": "unconfirmed", "text": str(error)}
    except NotFoundError as error:
        return {"did": "absent", "text": str(error)}
    except OSError as error:
        return {"did": "failed", "text": str(error)}


def write(job: dict[str, Any]) -> None:
    """Runs operations, and prints each before it starts and its outcome after it ended."""
    options = {key: value.replace("PID", str(os.getpid())) for key, value in job["options"].items()}
    registry = Registry(job["url"], **options)
    for operation in job["operations"]:
        emit({"start": operation})
        emit(outcome(registry, operation))


def read(job: dict[str, Any]) -> None:
    """Reads all subjects until the file `stop` exists, and prints what is wrong. What was read once must stay."""
    registry = Registry(job["url"], **job["options"])
    digests: dict[tuple[str, int], str] = {}
    rounds = 0
    while not os.path.exists(job["stop"]):
        try:
            subjects = registry.subjects()
        except NotFoundError:
            assert not digests, "the registry disappeared"
            continue
        for subject in subjects:
            if subject.versions:
                latest = registry.show(subject.name)
                assert latest.number >= subject.versions, f"{latest} after {subject}"
                registry.pull(f"{subject.name}@{1 + rounds % latest.number}")
                versions = registry.versions(subject.name)
                assert [one.number for one in versions] == list(range(1, len(versions) + 1)), versions
                assert len(versions) >= latest.number, f"{len(versions)} versions after {latest}"
                for one in versions:
                    known = digests.setdefault((subject.name, one.number), one.digest)
                    assert known == one.digest, f"{one} changed"
                known_versions = sum(name == subject.name for name, _ in digests)
                assert known_versions == len(versions), f"{len(versions)} of {known_versions} in {subject}"
            verification = registry.verify(subject.name)
            assert verification.ok and not verification.problems, verification
        rounds += 1
    emit({"rounds": rounds})


def run(job: dict[str, Any]) -> None:
    emit({"pid": os.getpid()})
    try:
        write(job) if job["role"] == "write" else read(job)
    except BaseException as error:
        emit({"wrong": f"{type(error).__name__}: {error}"})
        os._exit(1)
    os._exit(0)


def main() -> None:
    for content in range(1, CONTENTS + 1):
        interface(content)
    # A job that a signal ends must not end the program.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            run(json.loads(line))
        _, status = os.waitpid(pid, 0)
        emit({"end": os.waitstatus_to_exitcode(status)})


if __name__ == "__main__":
    main()
