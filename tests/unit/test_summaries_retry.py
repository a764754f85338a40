"""Waiting before another try, and what an error answer asks for and means."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalbench.summaries.access import Access, Provider
from evalbench.summaries.refusals import advice, refusal
from evalbench.summaries.replies import NoReplyReason
from evalbench.summaries.retry import Spent, asked_wait, next_wait

RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


def detail(delay: object, kind: str = RETRY_INFO) -> dict[str, Any]:
    """An error body with one detail."""
    return {"error": {"details": [{"@type": kind, "retryDelay": delay}]}}


@pytest.mark.parametrize(
    ("seconds", "headers", "body"),
    [
        (None, {}, None),
        (7.0, {"Retry-After": "7"}, None),
        (7.5, {"retry-after": " 7.5 "}, None),
        (30.0, {"Retry-After": "Mon, 30 Nov 2026 06:00:30 GMT", "Date": "Mon, 30 Nov 2026 06:00:00 GMT"}, None),
        (0.0, {"Retry-After": "Mon, 30 Nov 2026 06:00:00 GMT", "Date": "Mon, 30 Nov 2026 06:00:30 GMT"}, None),
        (None, {"Retry-After": "Mon, 30 Nov 2026 06:00:30 GMT"}, None),  # relative to nothing
        (None, {"Retry-After": "Mon, 30 Nov 2026 06:00:30", "Date": "Mon, 30 Nov 2026 06:00:00 GMT"}, None),
        (None, {"Retry-After": "Mon, 99 Nov 2026 06:00:30 GMT", "Date": "Mon, 30 Nov 2026 06:00:00 GMT"}, None),
        (None, {"Retry-After": "soon"}, None),
        (None, {"Retry-After": "-3"}, None),
        (None, {"Retry-After": "nan"}, None),
        (None, {"Retry-After": "9" * 400}, None),
        (31.0, {}, detail("31s")),
        (0.25, {}, detail("0.250s")),
        (None, {}, detail("31")),
        (None, {}, detail("-1s")),
        (None, {}, detail("infs")),
        (None, {}, detail(31)),
        (None, {}, detail("31s", kind="type.googleapis.com/google.rpc.Help")),
        (None, {}, {"error": {"details": "31s"}}),
        (None, {}, {"error": "31s"}),
        (None, {}, [detail("31s")]),
        (9.0, {"Retry-After": "9"}, detail("3s")),
        (9.0, {"Retry-After": "3"}, detail("9s")),
    ],
)
def test_what_an_answer_asks_to_wait(seconds: float | None, headers: Mapping[str, str], body: object) -> None:
    """The larger of header and body; what can't be read asks for nothing."""
    assert seconds == asked_wait(headers, body)


@pytest.mark.parametrize(("retries", "least", "most"), [(0, 0.5, 1), (1, 1, 2), (2, 2, 4), (3, 4, 8), (4, 8, 16)])
def test_pauses_double_between_half_and_all_of_their_size(retries: int, least: float, most: float) -> None:
    """Jitter spreads workers over half of a pause."""
    assert (least, most) == tuple(
        next_wait(retries, asked=None, left=999, random=lambda at=at: at) for at in (0.0, 1.0)
    )


@given(
    retries=st.integers(0, 9),
    asked=st.none() | st.floats(0, 1e6),
    left=st.floats(-10, 1e6),
    at=st.floats(0, 1, exclude_max=True),
)
def test_a_pause_keeps_what_was_asked_and_ends_before_the_deadline(
    retries: int, asked: float | None, left: float, at: float
) -> None:
    """Five retries at most; never earlier than asked, never into the deadline."""
    wait = next_wait(retries, asked=asked, left=left, random=lambda: at)
    if isinstance(wait, Spent):
        assert (retries >= 5) == (wait is Spent.RETRIES)
        assert wait is not Spent.ASKED or (asked is not None and asked >= left)
    else:
        assert (asked or 0.0) <= wait < left
        assert retries < 5


def test_workers_that_were_sent_away_together_come_back_apart() -> None:
    """On top of what was asked, not instead of it."""
    assert (30.0, 30.25) == tuple(next_wait(0, asked=30.0, left=999, random=lambda at=at: at) for at in (0.0, 0.5))


@pytest.mark.parametrize(
    ("reason", "transient", "status"),
    [
        (NoReplyReason.QUOTA_EXHAUSTED, True, 429),
        *((NoReplyReason.SERVER_ERROR, True, status) for status in (408, 500, 502, 503, 504)),
        (NoReplyReason.SERVER_ERROR, False, 501),
        (NoReplyReason.AUTHENTICATION, False, 401),
        (NoReplyReason.PERMISSION, False, 403),
        (NoReplyReason.BAD_REQUEST, False, 400),
        (NoReplyReason.BAD_REQUEST, False, 413),
        (NoReplyReason.NETWORK, False, 404),  # without Google's word for it, it is somebody else's 404
        (NoReplyReason.NETWORK, False, 302),
    ],
)
def test_what_a_status_means(reason: NoReplyReason, transient: bool, status: int) -> None:
    """Only what may pass is tried again."""
    found = refusal(status, {"Retry-After": "3"}, None)
    assert (reason, transient) == (found.reason, found.transient)
    assert (3.0 if transient else None) == found.asked


def test_a_refusal_is_told_in_words_of_a_fixed_form_only() -> None:
    """Status, reason, quota and field names; never the free text beside them."""
    violations = [{"quotaId": "RequestsPerDay-FreeTier", "description": "prompt was: hello"}, {"quotaId": "not a name"}]
    details = [
        {"reason": "RATE_LIMIT_EXCEEDED", "violations": violations},
        {"reason": "AIzaSyKey"},
        "text",
        {"violations": 3},
    ]
    body = {"error": {"status": "RESOURCE_EXHAUSTED", "message": "prompt was: hello", "details": details}}
    assert "HTTP 429 RESOURCE_EXHAUSTED RATE_LIMIT_EXCEEDED RequestsPerDay-FreeTier" == refusal(429, {}, body).what


@pytest.mark.parametrize("mode", Provider)
@pytest.mark.parametrize("reason", NoReplyReason)
def test_every_reason_comes_with_something_to_do(mode: Provider, reason: NoReplyReason) -> None:
    """On either way, with its names filled in."""
    text = advice(reason, Access(mode=mode, why="asked for", project="proj", location="europe-west1"))
    assert text
    assert "{" not in text
