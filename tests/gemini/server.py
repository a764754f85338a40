"""A Gemini-compatible server for tests: `python -m tests.gemini.server --api-key KEY --public-key PEM`.

Speaks `generateContent` of Google AI Studio (v1beta, by API key) and of Vertex AI (v1 and v1beta1, by access token),
and the token endpoint that sells those tokens for a signed service-account assertion. What it answers is scripted over
`/__control`; what it was asked is in `/__journal`. Prints `{"url": …}` when it listens, and ends when its standard
input does. Every error message repeats credential and prompt, as a careless gateway would: whoever passes one on is
caught. Knows nothing of this project and nothing of Google's SDK.
"""

import argparse
import base64
import json
import os
import random
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from tests.gemini import shapes
from tests.gemini.shapes import Json

GEMINI = re.compile(r"/v1beta/models/(?P<model>[^/:]+):generateContent")
VERTEX = re.compile(
    r"/(v1|v1beta1)/projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)"
    r"/publishers/google/models/(?P<model>[^/:]+):generateContent"
)


class Script:
    """What the next calls are answered with, and what the past ones were. Shared by the server's threads.

    Settings (the body of `/__control`, each key replacing what stood):
    default: the step of a call that nothing else is scripted for. steps: one per call, used up in order.
    rules: `{"contains": text, "steps": [...]}`, used up by calls whose prompt holds the text, before `steps`.
    models: those that exist, null = any. faults: `{"rate", "statuses", "seed"}`: that share of calls fails, null =
    none. latency_s: how long every answer takes.

    A step: text (STOP with that text); finish (another finish reason); block (a block reason of the prompt); empty (a
    candidate without parts); thoughts (tokens thought); model_version; status (an error, with retry_after,
    retry_after_date or retry_delay in seconds, and details); raw (a body that is no Gemini answer, with headers); drop
    (the connection closed without a word); hang_s (silence first).
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """As new."""
        self.settings: Json = {"default": {"text": "{}"}, "steps": [], "rules": [], "models": None, "latency_s": 0.0}
        self.faults = random.Random()  # noqa: S311 - seeded by `control`
        self.journal: list[Json] = []
        self.running = 0

    def control(self, settings: Json) -> None:
        """Take settings over."""
        with self.lock:
            self.settings |= settings
            if settings.get("faults"):
                self.faults = random.Random(settings["faults"]["seed"])  # noqa: S311 - repeatable, not secret

    def arrived(self, entry: Json) -> Json:
        """Take a request down; `in_flight` counts it and those not answered yet."""
        with self.lock:
            self.running += 1
            entry |= {"number": len(self.journal), "at": time.monotonic(), "in_flight": self.running}
            self.journal.append(entry)
            return entry

    def answered(self, entry: Json, status: int | None) -> None:
        """Take down what a request got: None when the connection was closed."""
        with self.lock:
            self.running -= 1
            entry["status"] = status

    def step(self, model: str, prompt: str) -> Json:
        """What to do about the call that just arrived."""
        with self.lock:
            if self.settings["models"] is not None and model not in self.settings["models"]:
                return {"status": 404}
            faults = self.settings.get("faults")
            if faults and self.faults.random() < faults["rate"]:
                return {"status": self.faults.choice(faults["statuses"])}
            for rule in self.settings["rules"]:
                if rule["contains"] in prompt and rule["steps"]:
                    return dict(rule["steps"].pop(0))
            return dict(self.settings["steps"].pop(0) if self.settings["steps"] else self.settings["default"])


class Tokens:
    """The token endpoint: an assertion signed by the known service account buys an access token."""

    def __init__(self, public_key: RSAPublicKey | None) -> None:
        self.public_key = public_key
        self.sold: set[str] = set()

    def claims(self, form: dict[str, list[str]]) -> Json | None:
        """What the assertion claims, None when it isn't signed by the service account or asks for no scope."""
        try:
            (assertion,), (grant,) = form["assertion"], form["grant_type"]
            head, body, signature = assertion.split(".")
            if self.public_key is None or grant != "urn:ietf:params:oauth:grant-type:jwt-bearer":
                return None
            self.public_key.verify(_decoded(signature), f"{head}.{body}".encode(), PKCS1v15(), SHA256())
            claims: Json = json.loads(_decoded(body))
        except (KeyError, ValueError, InvalidSignature):
            return None
        return claims if claims.get("scope") else None

    def sell(self) -> str:
        """A new token."""
        token = f"ya29.token-{len(self.sold)}-of-this-test"
        self.sold.add(token)
        return token


class Handler(BaseHTTPRequestHandler):
    """One request. `server` carries the script, the tokens and the one API key that is valid."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one packet
    server: "Server"

    def do_GET(self) -> None:
        """The journal."""
        if self.path != "/__journal":
            return self.send(404, "no such page", kind="text/plain")
        with self.server.script.lock:
            journal = json.dumps(self.server.script.journal)
        return self.send(200, journal)

    def do_POST(self) -> None:
        """A call, or a word from the test."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/__control":
            self.server.script.control(json.loads(body))
            return self.send(200, "{}")
        if self.path == "/__reset":
            self.server.script.reset()
            return self.send(200, "{}")
        if self.path == "/token":
            return self.token(body)
        for mode, pattern in (("gemini", GEMINI), ("vertex", VERTEX)):
            if match := pattern.fullmatch(self.path):
                return self.generate(mode, match["model"], json.loads(body))
        return self.send(404, "<html>no such page</html>", kind="text/html")

    def token(self, body: bytes) -> None:
        """An access token for an assertion."""
        claims = self.server.tokens.claims(parse_qs(body.decode()))
        entry = self.server.script.arrived({"path": self.path, "claims": claims})
        self.server.script.answered(entry, 200 if claims else 400)
        if claims is None:
            return self.send(400, json.dumps({"error": "invalid_grant", "error_description": "Invalid JWT Signature."}))
        sold = {"access_token": self.server.tokens.sell(), "expires_in": 3599, "token_type": "Bearer"}
        return self.send(200, json.dumps(sold))

    def generate(self, mode: str, model: str, request: Json) -> None:
        """One `generateContent`, taken down and answered as scripted."""
        headers = {name.lower(): text for name, text in self.headers.items() if name.lower() != "authorization"}
        entry = {"path": self.path, "mode": mode, "model": model, "request": request, "headers": headers}
        entry = self.server.script.arrived(entry)
        time.sleep(self.server.script.settings["latency_s"])
        step = self.refused(mode, request)
        step = step or self.server.script.step(model, json.dumps(request, ensure_ascii=False))
        time.sleep(step.get("hang_s", 0.0))
        status = None if step.get("drop") else step.get("status", 200)
        self.server.script.answered(entry, status)  # before the answer: who reads the journal then finds it complete
        self.answer(step, mode, model, request)

    def refused(self, mode: str, request: Json) -> Json | None:
        """The step of a call that Google would not even look at."""
        if mode == "vertex":
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            known = None if token in self.server.tokens.sold else {"status": 401}
        else:
            known = None if self.headers.get("x-goog-api-key") == self.server.api_key else shapes.bad_key()
        unknown = shapes.unknown_fields(request)
        return known or (shapes.bad_fields(unknown) if unknown else None)

    def answer(self, step: Json, mode: str, model: str, request: Json) -> None:
        """Do as the step says."""
        status = step.get("status", 200)
        if step.get("drop"):
            self.close_connection = True
        elif "raw" in step:
            self.send(status, step["raw"], headers=step.get("headers"), kind="text/html")
        elif status == 200:
            self.send(200, json.dumps(shapes.answer(step, mode, model, request)))
        else:
            held = self.headers.get("x-goog-api-key") or self.headers.get("Authorization")
            said = f"refused; credential {held}; request {json.dumps(request)}"
            self.send(status, json.dumps(shapes.error(step, said)), headers=shapes.waits(step))

    def send(
        self, status: int, text: str, *, headers: dict[str, str] | None = None, kind: str = "application/json"
    ) -> None:
        """One whole response."""
        body = text.encode()
        self.send_response(status)
        named = {"Content-Type": f"{kind}; charset=UTF-8", "Content-Length": str(len(body))} | (headers or {})
        for name, value in named.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name http.server gives it
        """Nothing: the journal tells it better."""


class Server(ThreadingHTTPServer):
    """The listening socket with what its handlers share."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, api_key: str, public_key: RSAPublicKey | None) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.script = Script()
        self.tokens = Tokens(public_key)
        self.api_key = api_key


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def main() -> None:
    """Listen until standard input ends: a server whose starter is gone goes, too."""
    parser = argparse.ArgumentParser(description="A Gemini-compatible server for tests.")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (a free one)")
    parser.add_argument("--api-key", required=True, help="the one API key that is valid")
    parser.add_argument("--public-key", type=Path, help="PEM of the one service account that is known")
    given = parser.parse_args()
    key = load_pem_public_key(given.public_key.read_bytes()) if given.public_key else None
    server = Server(given.port, given.api_key, key if isinstance(key, RSAPublicKey) else None)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}), flush=True)  # noqa: T201 - said to the starter
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
