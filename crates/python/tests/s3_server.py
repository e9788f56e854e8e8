"""An S3 server in a process of its own, for tests."""

from __future__ import annotations

import http.client
import subprocess
import sys

from conftest import LIMIT


class S3Server:
    """A program of Python that prints its port, and ends when its input does.

    Attributes:
        port: the port on 127.0.0.1.
        url: the address for clients.
    """

    def __init__(self, *program: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())
        self.url = f"http://127.0.0.1:{self.port}"

    def request(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """The status and the body of the answer to a request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        credential = "AWS4-HMAC-SHA256 Credential=test/20240101/us-east-1/s3/aws4_request"
        connection.request(method, path, body=body, headers={"Authorization": credential})
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, data

    def put(self, path: str, body: bytes = b"") -> None:
        """Writes an object, or creates a bucket."""
        status, _ = self.request("PUT", path, body)
        assert status == 200, status

    def close(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait(timeout=LIMIT)
