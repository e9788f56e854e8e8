"""A push to S3 that fails at each of its requests, in each way.

Without `TYPELOOM_REGISTRY_PUSHES`, only some ways are tried, and only at the requests that change objects.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import pytest

from registry_stores import Bucket, Server, Worker
from registry_worker import interface

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked and killed")

MAX_STEPS = 40
"""Bound on the number of requests of the job."""

IS_FULL = "TYPELOOM_REGISTRY_PUSHES" in os.environ
KINDS = "any" if IS_FULL else "write"
FAULTS = ["kill.before.once", "kill.after.once", "drop.after.rest", "late.before.rest"]
if IS_FULL:
    FAULTS += ["drop.before.once", "drop.after.once", "drop.before.rest", "late.before.once"]
    FAULTS += ["error.after.once", "busy.before.once"]


def job(bucket: Bucket, subject: str, key: str) -> dict[str, Any]:
    """Pushes a new version with an alias, and collects."""
    push = {"do": "push", "subject": subject, "content": 2, "source": __file__, "alias": ["production"]}
    operations = [push, {"do": "gc", "subject": subject}]
    client = {**bucket.options, "aws_access_key_id": key, "max_retries": "1"}
    return {"role": "write", "url": bucket.url, "options": client, "operations": operations}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_push_that_fails_at_any_request_is_whole_or_absent(s3: Server, fault: str) -> None:
    worker = Worker()
    outcomes: list[str] = []
    bucket = Bucket(s3, f"step-{fault}")
    registry = bucket.registry()
    try:
        for step in range(1, MAX_STEPS):
            net = f"net-{step}"
            first = registry.push(interface(1), net, alias="production")
            checkpoint = registry.verify(net).checkpoint
            key = f"{fault}.{KINDS}.{step}.PID"
            pid = worker.start(job(bucket, net, key))
            events = worker.rest()
            end = events[-1]["end"]
            did = [event for event in events if "did" in event]
            names = [event["did"] for event in did] + ["killed"] * (end != 0)
            assert not any("wrong" in event for event in events), events
            assert ("killed" in names) <= fault.startswith("kill")
            # A late request may be applied now or after the next line: a version that is there stays.
            verification = registry.verify(net, checkpoint=checkpoint)
            assert verification.ok and not verification.problems, (step, events, verification)
            versions = registry.versions(net)
            digests = [one.types["main"] for one in versions]
            assert digests in ([interface(1).digest], [interface(1).digest, interface(2).digest]), (step, events)
            push = names[0] if names else "killed"
            is_late = fault.startswith("late")
            assert (len(versions) == 2) >= (push == "push"), (step, events)
            assert push != "failed" or len(versions) == 1, (step, events)
            latest = versions[-1]
            if not is_late:
                # The alias and the version become visible together.
                assert registry.show(f"{net}@production").number == latest.number
            assert registry.pull(latest.reference).digest == interface(latest.number).digest
            assert registry.show(first.reference).digest == first.digest
            # The store is usable: the same push succeeds, and the leftovers are deleted.
            again = registry.push(interface(2), net, alias="production")
            assert again.number == 2 and again.new <= (len(versions) == 1), (step, events)
            again = registry.push(interface(3), net)
            assert (again.number, again.new) == (3, True)
            registry.gc(net, older_than=0)
            verification = registry.verify(net, checkpoint=checkpoint)
            assert verification.ok and not verification.problems, (step, events, verification)
            if not is_late:
                assert verification.unreferenced == {net: 0}
            outcomes.append(push)
            if s3.count(key.replace("PID", str(pid))) < step:
                assert names == ["push", "gc"]
                break
        else:
            pytest.fail("the job has more requests than expected")
    finally:
        worker.close()
    print(fault, outcomes)
    assert len(outcomes) > (8 if IS_FULL else 4)
