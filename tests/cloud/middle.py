"""A server between Google's client and fake-gcs-server: it adds what that one leaves out, and lets tests meddle.

Added: pages of at most 1,000 objects, and `ifGenerationMatch` of reads and deletes. Not told: the look at the bucket
itself that Google's client takes in the background, once, for its traces.
"""

import http.client
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a client asked for. name: the object's, "" for a listing and for an upload."""

    method: str
    path: str
    query: dict[str, str]
    name: str

    @property
    def lists(self) -> bool:
        """Whether it lists objects."""
        return self.method == "GET" and self.path.endswith("/o")

    @property
    def reads(self) -> bool:
        """Whether it reads an object's bytes."""
        return self.method == "GET" and self.query.get("alt") == "media"

    @property
    def uploads(self) -> bool:
        """Whether it writes an object."""
        return self.method == "POST" and self.path.startswith("/upload/")


Meddle = Callable[[Request], int | None]
"""Told of each request before it is answered: a status to answer with instead, None to go on."""


@dataclass(slots=True, kw_only=True)
class Middle:
    """The running server. meddle: may be replaced at any time; requests: what was asked so far, in order."""

    url: str
    meddle: Meddle = lambda _: None
    requests: list[Request] = field(default_factory=list)


@contextmanager
def between(upstream: str) -> Iterator[Middle]:
    """Serve what this Cloud Storage serves, until the block ends."""

    class Handler(_Handler):
        target = urlsplit(upstream).netloc

    with _Server(("127.0.0.1", 0), Handler) as server:
        Handler.middle = Middle(url=f"http://127.0.0.1:{server.server_port}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield Handler.middle
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that went away: they are what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    target: str
    middle: Middle

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urlsplit(self.path)
        query = {key: values[-1] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
        name = url.path.partition("/o/")[2]
        request = Request(method=self.command, path=url.path, query=query, name=unquote(name))
        status = self._told(request) if "/o" in url.path else None
        if status is not None:
            self._send(status, [("Content-Type", "application/json")], _error(status))
            return
        if request.lists:
            query["maxResults"] = str(min(PAGE, int(query.get("maxResults", PAGE))))
        self._send(*self._forward(self.command, f"{url.path}?{urlencode(query)}", body, dict(self.headers)))

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = _answer  # noqa: N815 - the names the base class calls

    def _told(self, request: Request) -> int | None:
        """The status to answer with, None to go on."""
        self.middle.requests.append(request)
        return self.middle.meddle(request) or self._precondition(request)

    def _precondition(self, request: Request) -> int | None:
        """412 for a read or delete of another generation than the one that is there."""
        wanted = request.query.get("ifGenerationMatch")
        if wanted is None or not (request.reads or request.method == "DELETE"):
            return None
        path = request.path.replace("/download/", "/", 1)
        status, _, body = self._forward("GET", path, b"", {})
        return 412 if status == 200 and json.loads(body)["generation"] != wanted else None

    def _forward(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any, bytes]:
        upstream = http.client.HTTPConnection(self.target, timeout=60)
        try:
            upstream.request(method, path, body, headers)
            answer = upstream.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            upstream.close()

    def _send(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for key, value in headers:
            if key.lower() not in ("content-length", "transfer-encoding", "connection", "date", "server"):
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing: `requests` tells."""


def _error(status: int) -> bytes:
    return json.dumps({"error": {"code": status, "message": f"as the test says: {status}"}}).encode()
