"""What a run wrote is redacted, flattened and cut before it leaves."""

import pytest

from evalbench.summaries.personal import MAX_EXCERPT, MAX_LABEL, excerpt, label, one_line, sentences

KEY = "AIzaSyA1234567890abcdefghijklmnopqrstuv"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("mail [e-mail] now", "mail ann.lee+x@example.co.uk now"),
        ("mail <[e-mail]>", "mail <ann@example.com>"),
        ("mail [e-mail]", "mail ann@localhost"),
        ("?user=[e-mail]", "?user=ann%40example.com"),
        ("mail [e-mail]", "mail \uff41nn\uff20example.com"),
        ("call [phone] please", "call +39 06 1234 5678 please"),
        ("call [phone]", "call +14155552671"),
        ("[phone] or [phone]", "(555) 123-4567 or 555-123-4567"),
        ("call [phone].", "call 030 123 456."),
        ("paid with [account]", "paid with 4111 1111 1111 1111"),
        ("paid with [account]", "paid with 4111-1111-1111-1111"),
        ("key [redacted] used", f"key {KEY} used"),
        ("key [redacted] used", f"key {KEY[:9]}\u200b{KEY[9:]} used"),
        ("sent Bearer [redacted]", "sent Bearer abcd1234efgh"),
        ("a [redacted] b", f"a {JWT} b"),
        ("a [redacted] b", "a sk-proj-abc123def456ghi789 b"),
    ],
)  # fmt: skip
def test_secrets_and_personal_data_go(expected: str, text: str) -> None:
    """Addresses, phone and account numbers, keys and tokens are replaced, however they are spelt."""
    assert expected == excerpt(text)


@pytest.mark.parametrize(
    "text",
    [
        "failed; a credit note of 4,800.00 USD; read back 2026-11-28T10:16:30Z: INV-60342",
        "Jaccard Similarity Score: 33.33, 3/12 checks, 09:00-10:30, 08/11/2026",
        "reward=0.0 on 10.0.0.1:8080, run 49e5b728-f934-4e6b-9ced-70b5db228928",
        "the bearer of this letter",
        "",
    ],
)
def test_ordinary_words_and_numbers_stay(text: str) -> None:
    """Amounts, times, addresses of machines and ids are evidence."""
    assert text == excerpt(text)


def test_an_excerpt_is_one_short_printable_line() -> None:
    """White space of any kind is a space; control, format and surrogate characters are gone; a cut is marked."""
    assert "a b c" == excerpt("a\n\tb\u2028c")
    assert "abc" == excerpt("a\x00b\u200b\u202ec\ud800")
    cut = excerpt("word " * 100)
    assert (MAX_EXCERPT, "\u2026") == (len(cut), cut[-1])
    assert 160 == MAX_EXCERPT


def test_nothing_of_a_secret_is_left_at_the_cut() -> None:
    """Redaction comes before cutting: no half key survives at the end of an excerpt."""
    for before in range(100, MAX_EXCERPT):
        assert "AIza" not in excerpt("x" * (before - 1) + " " + KEY)


def test_a_label_keeps_the_numbers_that_tell_tasks_apart() -> None:
    """Digits of an id are no phone number; addresses and keys go there too."""
    assert "555-123-4567" == label("555-123-4567")
    assert "task of [e-mail]" == label("task  of\nann@example.com")
    assert "task-[redacted]" == label(f"task-{KEY}")
    assert MAX_LABEL == len(label("x" * 1000))


def test_sentences_are_lines() -> None:
    """Ends of sentences divide; full stops inside numbers don't."""
    assert ["It's 4.51 of 5.", "Then two?", "Done"] == sentences("It\u2019s 4.51\nof 5.  Then two? Done")
    assert "1 km2" == one_line("\uff11\u00a0km\u00b2")
