"""An S3 server with faults, as a program: prints its port, and ends with its standard input.

The server is moto behind a layer that reads a plan from the access key of each request, so a client chooses its faults itself:
`FAULT.WHEN.SCOPE.KINDS.STEP.PID` is the fault at the `STEP`-th request of the client.

| part | values |
|---|---|
| `FAULT` | `kill`: the client is killed; `drop`: the connection ends; `error`, `busy`: the answer is 500 or 503; `hang`: there is no answer; `late`: the connection ends, and the request is applied later |
| `WHEN` | `before` or `after` the request is applied |
| `SCOPE` | `once`, or `rest`: all further requests are dropped |
| `KINDS` | `any`: all requests count; `write`: only those that change objects |

`GET /count?KEY` answers with the number of requests that counted for a key.

moto checks `If-None-Match: *` before it writes, without a lock between the two: of two requests at the same time, both could
succeed, and the server itself would lose a write, which S3 does not. So requests are applied one at a time.
"""

from __future__ import annotations

import io
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterable
from typing import Any

PLAN = re.compile(r"Credential=((\w+)\.(\w+)\.(\w+)\.(\w+)\.(\d+)\.(\d+))/")
LATE = 0.2
"""Seconds until a late request is applied."""
HANGING = 5.0
"""Seconds until the connection of a request without answer ends; clients give up earlier."""


class Faults:
    """A WSGI application around another one."""

    def __init__(self, application: Any) -> None:
        self.application = application
        self.lock = threading.Lock()
        self.counts: dict[str, int] = {}

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/count":
            answer = str(self.counts.get(environ["QUERY_STRING"], 0)).encode()
            return self.answer(([answer], "200 OK", []), start_response)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        plan = PLAN.search(environ.get("HTTP_AUTHORIZATION", ""))
        if plan is None:
            return self.answer(self.apply(environ, body), start_response)
        key, fault, when, scope, kinds, step, pid = plan.groups()
        is_write = environ["REQUEST_METHOD"] in ("PUT", "DELETE", "POST")
        with self.lock:
            counts = is_write or kinds == "any"
            count = self.counts[key] = self.counts.get(key, 0) + counts
        if counts and count == int(step):
            return self.fail(fault, when, int(pid), environ, body, start_response)
        # After the fault, requests of other kinds fail too.
        if scope == "rest" and count >= int(step):
            return self.drop(environ)
        return self.answer(self.apply(environ, body), start_response)

    def fail(
        self, fault: str, when: str, pid: int, environ: dict[str, Any], body: bytes, start_response: Any
    ) -> Iterable[bytes]:
        if fault == "late":
            threading.Timer(LATE, self.apply, (dict(environ), body)).start()
        elif when == "after":
            self.apply(environ, body)
        if fault == "kill":
            os.kill(pid, signal.SIGKILL)
        elif fault == "hang":
            threading.Event().wait(HANGING)
        elif fault in ("error", "busy"):
            status, code = {"error": ("500 Internal", "InternalError"), "busy": ("503 Slow", "SlowDown")}[fault]
            text = f"<Error><Code>{code}</Code><Message>{fault}</Message></Error>".encode()
            return self.answer(([text], status, [("Content-Type", "application/xml")]), start_response)
        return self.drop(environ)

    def apply(self, environ: dict[str, Any], body: bytes) -> Any:
        from werkzeug.test import run_wsgi_app

        environ["wsgi.input"] = io.BytesIO(body)
        with self.lock:
            chunks, status, headers = run_wsgi_app(self.application, environ, buffered=True)
            return list(chunks), status, list(headers)

    @staticmethod
    def answer(result: tuple[list[bytes], str, Any], start_response: Any) -> Iterable[bytes]:
        chunks, status, headers = result
        start_response(status, headers)
        return chunks

    @staticmethod
    def drop(environ: dict[str, Any]) -> Iterable[bytes]:
        """Ends the connection without an answer."""
        connection: socket.socket = environ["werkzeug.socket"]
        connection.shutdown(socket.SHUT_RDWR)
        raise ConnectionAbortedError


def main() -> None:
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    application = Faults(DomainDispatcherApplication(create_backend_app))
    server = make_server("127.0.0.1", 0, application, threaded=True, request_handler=MotoRequestHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
