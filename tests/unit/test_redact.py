"""Secrets never leave a reader; ordinary words do."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.canonical import canonical_json
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
        ('said {"password": "[redacted]", "n": 1}', 'said {"password": "hun\\"ter2", "n": 1}'),
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


BESIDE: dict[str, tuple[object, object]] = {
    "a variable": ({"name": "DB_PASSWORD", "value": "[redacted]"}, {"name": "DB_PASSWORD", "value": "hunter2"}),
    "a setting": (
        [{"Key": "api key", "Values": "[redacted]"}, 1, 2], [{"Key": "api key", "Values": ["hunter2", 2]}, 1, 2],
    ),
    "a parameter": ({"id": "auth-token", "stringValue": "[redacted]"}, {"id": "auth-token", "stringValue": "hunter2"}),
    "a default": ({"option": "--pwd", "default": "[redacted]"}, {"option": "--pwd", "default": 4711}),
    "an option": (
        ["run", "--api-key", "[redacted]", "--fast"], ["run", "--api-key", "hunter2", "--fast"],
    ),
    "a header": ([["Authorization", "[redacted]"], ["Accept", "json"]], [["Authorization", "hunter2"],
                                                                         ["Accept", "json"]]),
    "two keys": ({"db": {"host": "h", "pass": "[redacted]"}}, {"db": {"host": "h", "pass": "hunter2"}}),
    "two keys and a list": ({"api": [{"key": "[redacted]"}]}, {"api": [{"key": "hunter2"}]}),
    "two keys and a text": ({"db": '{"pass":"[redacted]"}'}, {"db": '{"pass": "hunter2"}'}),
    "a key that holds one": ({"url?password=[redacted]&x": True}, {"url?password=hunter2&x": True}),
}  # fmt: skip
"""Kind → what is left, what was given."""


@pytest.mark.parametrize(("expected", "value"), BESIDE.values(), ids=BESIDE)
def test_secrets_beside_their_name(expected: object, value: object) -> None:
    """Variables, settings, options, headers, nested names: gone from a value, its text, and texts in texts."""
    assert expected == redact_json(value)
    assert canonical_json(expected) == redact_text(json.dumps(value, indent=1))
    assert [canonical_json({"a": canonical_json(expected)}), 1, 2] == redact_json(
        [json.dumps({"a": json.dumps(value)}), 1, 2]
    )


INNOCENT = (
    {"name": "token_count", "value": 5}, {"name": "id", "value": "7"}, {"id": "password", "label": "x"},
    {"name": "password", "value": None}, {"name": "has_token", "value": True}, {"key": "primary_key", "value": "id"},
    {"name": "city", "value": "Bern", "default": "Basel"}, {"field": "a=password", "value": "x"},
    {"header": "token " * 20, "value": "x"}, {"name": ["password"], "value": "x"}, {"value": "x"},
    [["Accept", "json"], ["Cookie", ""]], ["password", "user", "host"], ["--fast", "yes"], ["--token"],
    ["the password", "is wrong"], {"pass": 3, "fail": 1}, {"tests": {"pass": 3}}, {"db": {"host": "h", "key": "id"}},
    {"tokens": {"input": 5}}, {"user": {"pass": True}}, {}, [], "", '{"name": "city",  "value": "Bern"}', "[1, 2",
    "[x]", '"quoted"', "{}",
)  # fmt: skip


@pytest.mark.parametrize("value", INNOCENT, ids=repr)
def test_what_stands_beside_ordinary_names_stays(value: object) -> None:
    """Counts, flags, what is absent, names of columns: as they were, and a text as it was written."""
    assert value == redact_json(value)
    text = json.dumps(value, indent=1)
    assert text == redact_text(text)


def both(value: tuple[object, object]) -> st.SearchStrategy[tuple[object, object]]:
    """The same put around what is left and around what was given."""
    left, given_ = value
    return st.sampled_from(
        [
            ([1, left, None], [1, given_, None]),
            ({"city": left, "n": 1}, {"city": given_, "n": 1}),
            ({"name": "city", "value": left}, {"name": "city", "value": given_}),
            (canonical_json(left), json.dumps(given_, indent=2)),
        ]
    )


@given(st.sampled_from(list(BESIDE.values())).flatmap(both).flatmap(both).flatmap(both).flatmap(both))
def test_a_secret_goes_wherever_it_stands_and_nothing_else(value: tuple[object, object]) -> None:
    """In lists, in objects, under other names, in texts in texts: what is around it stays; twice is once."""
    expected, planted = value
    assert expected == redact_json(planted)
    assert expected == redact_json(expected)


def test_texts_that_cant_be_looked_through_are_replaced() -> None:
    """A secret is hidden neither behind a hundred levels of JSON in a text, nor behind texts in texts in texts."""
    secret = '{"name": "token", "value": "hunter2"}'
    assert "[redacted]" == redact_text("[" * 101 + secret + "]" * 101)
    assert "[redacted]" == redact_text("[" * 100_000)
    value: object = json.loads(secret)
    for _ in range(4):
        for _ in range(90):
            value = [value, 1, 2]
        value = json.dumps(value)
    assert "hunter2" not in str(redact_json(value))


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
        "[", '["', '{"a":', '"\\"', '[{"name":"token","value":', '["--token",', '{"name":"token",',
    ],
)  # fmt: skip
def test_hostile_texts_end(unit: str) -> None:
    """200 kB made to trip a backtracking pattern are read through; a secret behind them is still found."""
    assert "hunter2" not in redact_text(unit * (200_000 // len(unit)) + "\npassword=hunter2\n")


@pytest.mark.parametrize(
    "value",
    [
        {"k" * 200_000: {str(number): 1 for number in range(20_000)}},
        {"k" * 200_000: [{"key": 1}] * 20_000},
        [["--token", "x" * 20]] * 20_000,
        ["--" + "x" * 200_000, "y"] * 10,
        {"name" + "x" * 200_000: "y", "value": "z"},
    ],
    ids=["long name over many", "long name over a list", "many options", "long options", "long name"],
)
def test_hostile_values_end(value: object) -> None:
    """Names of any length over any number of values cost no more than their size, in a value and in texts in texts."""
    for _ in range(3):
        clean = redact_json({"password": "hunter2", "value": value})
        assert "hunter2" not in str(clean)
        value = json.dumps(value)
