"""Threads, forks, interrupts, memory, hostile input."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import typeloom as tl

from conftest import HEAD, LIMIT, interrupted


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a program of its own."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)


CALLS = """
import resource, sys
import typeloom as tl
from typeloom import Dim

text = '<ir_version: 10, opset_import: ["" : 21]> g (float[N, 3] x, float[3, 4] w) => (y) { h = MatMul(x, w)  y = Relu(h) }'
data, wrong = tl.model_from_text(text), tl.model_from_text(text.replace('[3, 4]', '[4, 4]'))

def calls(number):
    for index in range(number):
        report = tl.check(data if index % 2 else wrong)
        assert bool(report) == bool(index % 2)
        if index % 10 == 0:
            report.diagnostics, list(report.values.items()), tl.annotate(data), tl.describe(data).digest
            Dim('n') * 2 + index
            pool = tl.Pool()
            [root] = pool.import_(tl.describe(data).to_bundle())
            assert pool.reconstruct(pool.describe_transitive(root.ty))[root.digest] == root.ty
            assert tl.term.parse('Vec<T>', types=['T']).substitute(T=tl.term.parse('u8')).args
            try:
                tl.annotate(wrong)
            except tl.ModelError:
                pass

def memory():
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * resource.getpagesize()

number = int(sys.argv[1])
calls(number // 10)
before = memory()
resource.setrlimit(resource.RLIMIT_DATA, (before + (1 << 30),) * 2)
calls(number)
print(memory() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_calls_do_not_leak() -> None:
    number = int(os.environ.get("TYPELOOM_CALLS", "10000"))
    done = run(CALLS, str(number))
    assert done.returncode == 0, done.stderr
    # A leak of one report for each of 10,000 calls would take ten times as much.
    assert int(done.stdout) < 8 << 20, f"{done.stdout} bytes more after {number} calls"


def test_calls_on_many_threads(text: str, wrong: str) -> None:
    data, bad = tl.model_from_text(text), tl.model_from_text(wrong)
    shared = tl.check(data)

    def call(index: int) -> bool:
        values = dict(shared.values)
        return len(values) == 4 and bool(tl.check(data)) and not tl.check(bad) and shared.values["y"] == "float[N, 4]"

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(call, range(2000)))


FORK = """
import os, sys
import numpy as np
import typeloom as tl

head = '<ir_version: 10, opset_import: ["" : 21]> '
session = tl.Session(head + 'g (float[N, N] x) => (y) { y = MatMul(x, x) }')
x = np.ones((512, 512), np.float32)
assert session.run([x])[0][0, 0] == 512
for _ in range(3):
    child = os.fork()
    if child == 0:
        ok = bool(tl.check(head + 'g (float[N] x) => (y) { y = Relu(x) }')) and session.run([x])[0][0, 0] == 512
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
assert session.run([x])[0][0, 0] == 512
print('done')
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_sessions_run_in_forked_processes() -> None:
    done = run(FORK)
    assert done.stdout == "done\n", done.stderr


ENDLESS = """
import time
import numpy as np
import typeloom as tl

text = '''<ir_version: 10, opset_import: ["" : 21]> g (int64 n, float[1] x) => (y) <bool c = {1}> {
    y = Loop (n, c, x) <body = b (int64 i, bool k, float[1] s) => (k2, t) { k2 = Identity(k)  t = Add(s, s) }>
}'''
session = tl.Session(text, max_steps=2**62)
try:
    print('running', flush=True)
    session.run([np.int64(2**60), np.ones(1, np.float32)])
except KeyboardInterrupt:
    print('interrupted', flush=True)
# The thread of the run ends, so that the process stops computing.
for _ in range(600):
    before = time.process_time()
    time.sleep(0.1)
    if time.process_time() - before < 0.05:
        break
else:
    raise SystemExit('the run goes on')
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_an_interrupt_ends_a_long_call() -> None:
    assert interrupted(ENDLESS) == ["running", "interrupted"]


def test_damaged_models_are_reports_or_exceptions(text: str) -> None:
    seed = int(os.environ.get("TYPELOOM_SEED", "17"))
    print("seed", seed)
    random_ = random.Random(seed)
    data = tl.annotate(tl.model_from_text(text))
    for _ in range(2000):
        damaged = bytearray(data)
        for _ in range(random_.randint(1, 4)):
            at = random_.randrange(len(damaged))
            match random_.randrange(3):
                case 0:
                    damaged[at] = random_.randrange(256)
                case 1:
                    del damaged[at : at + random_.randrange(8)]
                case _:
                    damaged[at:at] = random_.randbytes(random_.randrange(8))
            if not damaged:
                break
        model = bytes(damaged)
        report = tl.check(model)
        list(report.values.items()), report.diagnostics, repr(report)
        for call in (tl.annotate, tl.strip, tl.fix, tl.describe, tl.compile, tl.Session):
            try:
                call(model)
            except tl.TypeloomError:
                pass


def test_deep_models_are_reports() -> None:
    model = b""
    for _ in range(3000):
        # A graph (field 7 of a model, 6 of an attribute) in an attribute (5) of a node (1).
        for field in (1, 5, 6):
            model = bytes([field << 3 | 2]) + _length(len(model)) + model
    report = tl.check(b"\x3a" + _length(len(model)) + model)
    assert not report or report.diagnostics == []


def _length(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def test_arguments_of_wrong_types_are_exceptions(text: str) -> None:
    for arguments in ({"seeds": {"x": 3}}, {"assume": {"N": -1}}, {"operators": 3}, {"strict": None, "seeds": 3}):
        with pytest.raises((TypeError, ValueError, AttributeError, tl.TypeloomError)):
            tl.check(HEAD + "g (float[N] x) => (y) { y = Relu(x) }", **arguments)  # type: ignore[arg-type]
