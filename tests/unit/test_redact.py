"""Secrets never leave a reader; ordinary words do."""

import pytest

from evalbench.readers.redact import MAX_DEPTH, is_secret_key, redact_json, redact_text

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "key",
    [
        "api_key", "apiKey", "GOOGLE_API_KEY", "x-goog-api-key", "model_config.env.OPENAI_API_KEY", "password",
        "PGPASSWORD", "db_password_1", "passwd", "client_secret", "clientSecret", "credentials", "token", "authToken",
        "access_tokens", "id_token", "Authorization", "private_key", "private_key_id", "aws_access_key_id", "cookie",
        "db_pass", "SMTP_PASS",
    ],
)  # fmt: skip
def test_names_of_secrets(key: str) -> None:
    """A value under any of these names is a secret."""
    assert is_secret_key(key)


@pytest.mark.parametrize(
    "key",
    [
        "", "tokens", "token_count", "token_consumption", "max_tokens", "max_token", "input_tokens", "tokens_processed",
        "idempotency_key", "primary_key", "key", "task_key", "author", "secretary", "tokenizer", "auth_mode",
    ],
)  # fmt: skip
def test_ordinary_names(key: str) -> None:
    """Counts of tokens and identifying keys are no secrets."""
    assert not is_secret_key(key)


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("{'password': '[redacted]', 'user': 'ann'}", "{'password': 'hunter2', 'user': 'ann'}"),
        ('{"password": "[redacted]", "n": 1}', '{"password": "hun\\"ter2", "n": 1}'),
        ('{\\"password\\": \\"[redacted]\\", \\"n\\": 1}', '{\\"password\\": \\"hunter2\\", \\"n\\": 1}'),
        ('\\\\"token\\\\": \\\\"[redacted]\\\\"', '\\\\"token\\\\": \\\\"hunter2\\\\"'),
        ("{'credentials': [redacted], 'n': 1}", "{'credentials': {'user': 'ann', 'pin': ['hunter2']}, 'n': 1}"),
        ("password=[redacted]", "password=hunter2"),
        ("connect(password=[redacted])", "connect(password=hunter2)"),
        ("db?password=[redacted]&mode=rw", "db?password=hunter2&mode=rw"),
        ("API key: [redacted]", "API key: hunter2"),
        ("--password [redacted] --verbose", "--password hunter2 --verbose"),
        ("['--api-key', '[redacted]']", "['--api-key', 'hunter2']"),
        ("postgres://ann:[redacted]@db/x", "postgres://ann:hunter2@db/x"),
        ("https://ann:[redacted]@db/x", "https://ann:hun@ter2@db/x"),
        ("Authorization: [redacted]", "Authorization: Bearer hunter2"),
        ("sent Bearer [redacted] to it", "sent Bearer hunter22 to it"),
        ("Cookie: [redacted]\nnext", "Cookie: a=hunter2; b=hunter2\nnext"),
        ("password = '[redacted]", "password = 'hunter2 is torn he"),
        ("a [redacted] b", "a AIzaSyA1234567890abcdefghijklmnopqrstuv b"),
        ("a [redacted] b", "a sk-proj-abc123def456ghi789 b"),
        ("a [redacted] b", "a ghp_abcdefghijklmnopqrstuvwxyz0123456789 b"),
        ("a [redacted] b", "a github_pat_11ABCDEFG0abcdefghijkl_mnop b"),
        ("a [redacted] b", "a npm_" + "aB3d" * 9 + " b"),
        ("a [redacted] b", "a gsk_" + "aB3d" * 13 + " b"),
        ("a [redacted] b", "a dop_v1_" + "a1b2c3d4" * 8 + " b"),
        ("a [redacted] b", "a shpat_" + "a1b2c3d4" * 4 + " b"),
        ("a [redacted] b", "a dapi" + "a1b2c3d4" * 4 + " b"),
        ("a [redacted] b", "a xai-" + "aB1" * 20 + " b"),
        ("a [redacted] b", "a pypi-AgE" + "IcHlwaS5vcmc" * 4 + " b"),
        ("a [redacted] b", "a GOCSPX-" + "abcdEFGH1234" * 2 + " b"),
        ("a [redacted] b", "a 1//0g" + "abcdEFGH1234" * 3 + " b"),
        ("a [redacted] b", "a hvs." + "CAESIJa1B2" * 4 + " b"),
        ("a [redacted] b", "a SG." + "a" * 22 + "." + "b" * 43 + " b"),
        ("a [redacted] b", "a AGE-SECRET-KEY-1" + "QPZRY9X8" * 7 + " b"),
        ("a [redacted] b", "a https://hooks.slack.com/services/T00000000/B00000000/" + "X1" * 12 + " b"),
        ("a [redacted] b", "a xoxb-123456789012-abcdefGHIJ b"),
        ("a [redacted] b", "a AKIAIOSFODNN7EXAMPLE b"),
        ("a [redacted] b", "a ya29.a0AfH6SMBx-12345 b"),
        ("a [redacted] b", "a hf_abcdefghijklmnopqrst b"),
        ("a [redacted] b", f"a {JWT} b"),
        ("id-[redacted]", f"id-{JWT}"),
        ("a [redacted] b", f"a {PEM} b"),
        ("a [redacted]", "a -----BEGIN PRIVATE KEY-----\nMIIEow torn"),
    ],
)
def test_secrets_in_text(expected: str, text: str) -> None:
    """The value goes, the name and everything around it stay; doing it again changes nothing."""
    assert expected == redact_text(text)
    assert expected == redact_text(expected)


@pytest.mark.parametrize(
    "text",
    [
        "Agent consumed 0.0 tokens.",
        "token_consumption: 5.0, max_tokens=4096, idempotency_key=abc",
        "Verdict: FAIL. The new password was never set.",
        "passwords, tokens and secrets are fine",
        "a basic economy ticket for the bearer of this letter",
        "Unexpected token: end of input",
        "password: None",
        "task-force-alpha-123456789 and sk-learn-classifier-models",
        "mcp__server__tool and a.b.c.eyJ",
        "https://example.test/a:b@c",
        "",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    """Words that only sound like secrets are left alone."""
    assert text == redact_text(text)


def test_json_is_redacted_by_key_shape_and_inside_texts() -> None:
    """Secrets go wherever they stand; absent values, flags and numbers that are no secrets stay."""
    value = {
        "env": {"API_KEY": "hunter2", "DEBUG": "1"},
        "token": 5,
        "password": None,
        "has_password": True,
        "log": ["password=hunter2", 3, 1.5],
        "sk-proj-abc123def456ghi789": "a key as a key",
    }
    expected = {
        "env": {"API_KEY": "[redacted]", "DEBUG": "1"},
        "token": "[redacted]",
        "password": None,
        "has_password": True,
        "log": ["password=[redacted]", 3, 1.5],
        "[redacted]": "a key as a key",
    }
    assert expected == redact_json(value)


def test_json_deeper_than_the_bound_is_replaced() -> None:
    """A value nested without end is no way around."""
    value: object = "password=hunter2"
    for _ in range(MAX_DEPTH * 10):
        value = [value]
    assert "hunter2" not in str(redact_json(value))


@pytest.mark.parametrize(
    "unit",
    [
        "eyJ", "-eyJ", "-sk-", "password='", "secret=[", 'password=\\"', "\\", "-----BEGIN PRIVATE KEY-----", "//a:",
        " ", ".", "a", "A", "api ", "password:", "password ", "bearer ", "--password ", "'", "password" + " " * 30,
        "token: basic ", "cookie: ", "'password'", "password\\", '"a" ', "password=\\'",
    ],
)  # fmt: skip
def test_hostile_texts_end(unit: str) -> None:
    """200 kB made to trip a backtracking pattern are read through; a secret behind them is still found."""
    assert "hunter2" not in redact_text(unit * (200_000 // len(unit)) + "\npassword=hunter2\n")
