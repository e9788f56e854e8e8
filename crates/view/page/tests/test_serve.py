"""`typeloom view --serve`: a loopback server that reloads the page when the model changes."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import urllib.error
import urllib.request

import pytest
from conftest import COMMAND, wait_until
from models import layered
from playwright.sync_api import expect


@pytest.fixture
def server(tmp_path: pathlib.Path):
    path = tmp_path / "served.onnx"
    path.write_bytes(layered(30).SerializeToString())
    running = subprocess.Popen([COMMAND, "view", path, "--serve"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert running.stdout is not None
    line = running.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:\d+/", line)
    assert found, line
    yield path, found.group()
    running.send_signal(signal.SIGINT)
    running.wait(timeout=60)


def test_a_changed_model_is_shown_again(server, open_page) -> None:
    path, url = server
    page = open_page(url)
    expect(page.page.locator("#drawn")).to_contain_text("30 nodes")
    temporary = path.with_suffix(".new")
    temporary.write_bytes(layered(31).SerializeToString())
    os.replace(temporary, path)
    expect(page.page.locator("#drawn")).to_contain_text("31 nodes")


@pytest.mark.parametrize("given", ["--port 0", "--port=0"])
def test_the_port_is_that_of_the_option(given: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "served.onnx"
    path.write_bytes(layered(30).SerializeToString())

    def serve(*options: str) -> tuple[subprocess.Popen[str], int]:
        command = [COMMAND, "view", path, "--serve", *options]
        running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert running.stdout is not None
        line = running.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, line
        return running, int(found.group(1))

    def end(running: subprocess.Popen[str]) -> None:
        running.send_signal(signal.SIGINT)
        running.wait(timeout=60)

    running, port = serve(*given.split())
    end(running)
    # A port that was free a moment ago.
    running, again = serve("--port", str(port))
    try:
        assert again == port
        used = subprocess.run([COMMAND, "view", path, "--serve", "--port", str(port)], capture_output=True, text=True, timeout=60, check=False)
        assert used.returncode == 2 and str(port) in used.stderr, used.stderr
    finally:
        end(running)


def test_a_request_for_another_host_is_refused(server) -> None:
    _, url = server
    request = urllib.request.Request(url, headers={"Host": "example.org"})
    with pytest.raises(urllib.error.HTTPError):
        urllib.request.urlopen(request, timeout=60)


def test_the_server_ends_on_interrupt(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "served.onnx"
    path.write_bytes(layered(30).SerializeToString())
    # As a shell starts it in the background.
    ignore = lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)
    running = subprocess.Popen(
        [COMMAND, "view", path, "--serve"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=ignore
    )
    assert running.stdout is not None
    assert "127.0.0.1" in running.stdout.readline()
    running.send_signal(signal.SIGINT)
    wait_until(lambda: running.poll() is not None, "the end of the server")
