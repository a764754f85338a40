"""What was said and done in a trial, for people to read: bounded, redacted, and seen by nothing that decides.

Sizes are bytes of UTF-8, with a fixed share for what stands around a message, so that many tiny ones are bounded too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import accumulate

from evalbench.ledger import EvidenceRef

MESSAGE_BYTES = 8 * 1024
TRIAL_BYTES = 64 * 1024
LABEL_BYTES = 256
"""Of a tool's name, and of a status."""
AROUND_MESSAGE = 64

NOT_RECORDED, OVER_LIMIT = "not_recorded", "over_the_size_limit"
"""`Transcript.reason` of a trial whose run holds no conversation of it; of one for whose messages there was no room."""
OTHER_READING = "kept_by_another_version_of_the_reader"
"""`Transcript.reason` where what is kept isn't shown, since this version may take out more."""


class Role(StrEnum):
    """Who speaks. `tool`: a call, its result, or both. `other`: a word that is none of these."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"
    TOOL = "tool"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. Every text is redacted, and hostile to whoever shows it.

    text: what was said, or what a tool answered; None where that isn't recorded. tool: the name as recorded, of a call
    or a result. args: canonical JSON of a call's arguments, None where there are none. status: as recorded.
    cut: bytes left out at the ends of these.
    """

    role: Role
    text: str | None = None
    tool: str | None = None
    args: str | None = None
    status: str | None = None
    cut: int = 0

    @property
    def size(self) -> int:
        """What it counts for."""
        return AROUND_MESSAGE + _text_bytes(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """The messages of one trial in order, as far as they are kept.

    recorded: messages there were. before_gap: how many of `messages` stand before those that were left out; None when
    none was. bytes_recorded, bytes_kept: of all their texts, redacted. reason: why there are no messages, in
    snake_case. elsewhere: where the record says that they are kept; nobody looked there. ref: where they were read.
    """

    task_id: str
    trial: int
    messages: tuple[Message, ...] = ()
    recorded: int = 0
    before_gap: int | None = None
    bytes_recorded: int = 0
    bytes_kept: int = 0
    reason: str | None = None
    elsewhere: str | None = None
    ref: EvidenceRef | None = None

    @property
    def left_out(self) -> int:
        """Messages that were recorded and are not kept."""
        return self.recorded - len(self.messages)


def transcript(
    task_id: str,
    trial: int,
    messages: Sequence[Message],
    *,
    reason: str | None = None,
    elsewhere: str | None = None,
    ref: EvidenceRef | None = None,
) -> Transcript:
    """Everything that was recorded of a trial, cut to what one trial may keep."""
    size = sum(_text_bytes(message) for message in messages)
    whole = Transcript(
        task_id=task_id,
        trial=trial,
        messages=tuple(map(_labelled, messages)),
        recorded=len(messages),
        bytes_recorded=size,
        bytes_kept=size,
        reason=reason or (None if messages or elsewhere else NOT_RECORDED),
        elsewhere=elsewhere,
        ref=ref,
    )
    return _fitted(whole, TRIAL_BYTES)


def not_kept(error: Exception) -> str:
    """The reason where something broke that nobody foresaw: the error's type only, since its text may hold what was
    said.
    """
    return f"transcript_could_not_be_kept:_{type(error).__name__}"


def fit_run(transcripts: Sequence[Transcript], most: int) -> tuple[Transcript, ...]:
    """The transcripts of a run within `most` bytes: the longest are cut, all to one size, and no shorter one is."""
    level = _level([_size(found) for found in transcripts], most)
    return tuple(found if level is None else _fitted(found, level) for found in transcripts)


def _level(sizes: Sequence[int], most: int) -> int | None:
    """The size that all are cut to, so that together they hold `most`; None when they do as they are."""
    left = most
    for position, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - position)
        if size > share:
            return share
        left -= size
    return None


def _fitted(found: Transcript, most: int) -> Transcript:
    """Cut single messages first, then leave out the middle: how it began and how it ended tell the most."""
    limit = min(MESSAGE_BYTES, most // 4)
    messages = [_cut(message, limit) for message in found.messages]
    sizes = [message.size for message in messages]
    if sum(sizes) <= most:
        return _kept(found, messages, found.before_gap)
    # One that was cut before keeps its one gap.
    begin, end = sizes[: found.before_gap], sizes[found.before_gap or 0 :]
    head = _fitting(begin, most // 2)
    if found.before_gap is None:
        end = sizes[head:]
    tail = _fitting(end[::-1], most - sum(begin[:head]))
    return _kept(found, [*messages[:head], *messages[len(messages) - tail :]], head)


def _fitting(sizes: Sequence[int], most: int) -> int:
    """How many of the first of these fit."""
    return sum(1 for size in accumulate(sizes) if size <= most)


def _kept(found: Transcript, messages: Sequence[Message], gap: int | None) -> Transcript:
    kept = sum(_text_bytes(message) for message in messages)
    reason = OVER_LIMIT if found.recorded and not messages else found.reason
    return replace(found, messages=tuple(messages), before_gap=gap, bytes_kept=kept, reason=reason)


def _labelled(message: Message) -> Message:
    """A message whose tool and status are no longer than labels are."""
    tool, status = _head(message.tool, LABEL_BYTES), _head(message.status, LABEL_BYTES)
    return _counted(message, replace(message, tool=tool, status=status))


def _cut(message: Message, most: int) -> Message:
    """A message within `most`, as far as its labels leave room: arguments and text have half of it each, and what the
    other leaves free.
    """
    if message.size <= most:
        return message
    room = max(0, most - AROUND_MESSAGE - _bytes(message.tool) - _bytes(message.status))
    args = _head(message.args, max(room // 2, room - _bytes(message.text)))
    return _counted(message, replace(message, args=args, text=_head(message.text, room - _bytes(args))))


def _counted(message: Message, short: Message) -> Message:
    """The shortened message, told how much it lacks."""
    return replace(short, cut=message.cut + _text_bytes(message) - _text_bytes(short))


def _head(text: str | None, most: int) -> str | None:
    """The first bytes of a text, whole letters only."""
    return None if text is None else text.encode()[:most].decode(errors="ignore")


def _bytes(text: str | None) -> int:
    return len((text or "").encode())


def _text_bytes(message: Message) -> int:
    return sum(map(_bytes, (message.tool, message.args, message.text, message.status)))


def _size(found: Transcript) -> int:
    return sum(message.size for message in found.messages)
