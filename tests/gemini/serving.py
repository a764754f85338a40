"""The server of `server.py`, started, scripted and read: what tests and benchmarks hold of it."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

ROOT = Path(__file__).resolve().parent.parent.parent
API_KEY = "AIzaSyTest-only_0123456789abcdefghijklmno"
PROJECT = "test-proj"
LOCATION = "global"


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiServer:
    """A running server. service_account: a key file whose token endpoint this server is."""

    url: str
    service_account: Path

    def script(self, **settings: object) -> None:
        """Say what the next calls are answered with: see `server.Script`."""
        self._call("/__control", settings)

    def reset(self) -> None:
        """Forget scripts and journal; tokens stay valid."""
        self._call("/__reset", {})

    def journal(self) -> list[dict[str, Any]]:
        """Every request so far, in order of arrival."""
        found: list[dict[str, Any]] = self._call("/__journal")
        return found

    def calls(self) -> list[dict[str, Any]]:
        """The requests to a model so far."""
        return [entry for entry in self.journal() if "model" in entry]

    def environment(self) -> Mapping[str, str]:
        """Where the SDK looks for its provider's address."""
        return {"GOOGLE_GEMINI_BASE_URL": self.url, "GOOGLE_VERTEX_BASE_URL": self.url}

    def _call(self, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with urlopen(Request(self.url + path, data=data), timeout=30) as answer:  # noqa: S310 - our own address
            return json.load(answer)


@contextmanager
def gemini_server(place: Path) -> Iterator[GeminiServer]:
    """Start a server, with a service account of its own in `place`; it ends with the block, or with this process."""
    public, private = place / "public.pem", place / "service-account.json"
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    command = [sys.executable, "-m", "tests.gemini.server", "--api-key", API_KEY, "--public-key", str(public)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"]
        private.write_text(json.dumps(_service_account(key, url)), encoding="utf-8")
        try:
            yield GeminiServer(url=url, service_account=private)
        finally:
            process.stdin.close()


def _service_account(key: rsa.RSAPrivateKey, url: str) -> dict[str, str]:
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return {
        "type": "service_account",
        "project_id": PROJECT,
        "private_key_id": "0123456789abcdef",
        "private_key": pem,
        "client_email": f"evalbench@{PROJECT}.iam.gserviceaccount.com",
        "client_id": "100000000000000000000",
        "token_uri": f"{url}/token",
    }
