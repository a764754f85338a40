"""The shape of an answer, and how it reads."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from evalbench.summaries.answer import Answer, passages, render

WHOLE: dict[str, Any] = {
    "headline": "One of five declared completions failed.",
    "went_well": ["Windows brought new evidence."],
    "failures": [{"cause": "Refund missing", "explanation": "Nothing was found.", "task_ids": ["t2", "t1", "t2"]}],
    "suspected_defects": [{"source": "judge", "explanation": "It says the same of every trial."}],
    "next_steps": ["Ask the destination.", "Read the log."],
}
BARE: dict[str, Any] = {**{key: [] for key in WHOLE}, "headline": "Nothing is on record."}


def answer(**changes: Any) -> Answer:
    """An answer with some of it changed."""
    return Answer.model_validate_json(json.dumps(WHOLE | changes))


def test_an_answer_reads_as_plain_markdown() -> None:
    """Headline first, then a list per section; a task named twice stands once."""
    assert (
        "One of five declared completions failed.\n\n"
        "Went well:\n\n- Windows brought new evidence.\n\n"
        "Failures:\n\n- Refund missing (t2, t1): Nothing was found.\n\n"
        "Suspected defects:\n\n- judge: It says the same of every trial.\n\n"
        "Next steps:\n\n- Ask the destination.\n- Read the log.\n"
    ) == render(answer())


def test_an_empty_section_is_left_out() -> None:
    """A headline alone is a text."""
    assert "Nothing is on record.\n" == render(Answer.model_validate_json(json.dumps(BARE)))


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("&lt;script&gt;x&lt;/script&gt;", "<script>x</script>"),
        ("a &amp;lt; b", "a &lt; b"),
        ("![x\\](evil)", "![x](evil)"),
        ("[x\\] (evil)", "[x] (evil)"),
        ("[x\\][y\\]: z", "[x][y]: z"),
        ("{ { 7 * 7 }} { % x %}", "{{ 7 * 7 }} {% x %}"),
        ("# no title - no list", "# no title\n- no list"),
        ("no bell, no turn", "no\x07 bell,\x1b no\u202e turn"),
        ("no gap", "no\u200b gap"),
        ("line and line", "line\u2028and\r\nline"),
    ],
)
def test_text_can_do_nothing_but_be_read(expected: str, text: str) -> None:
    """No tag, link, image, template, heading, line end or control character survives, in any part."""
    hostile = answer(
        headline=text,
        went_well=[text],
        failures=[{"cause": text, "explanation": text, "task_ids": [text]}],
        suspected_defects=[{"source": "harness", "explanation": text}],
        next_steps=[text],
    )
    assert (
        f"{expected}\n\nWent well:\n\n- {expected}\n\nFailures:\n\n- {expected} ({expected}): {expected}\n\n"
        f"Suspected defects:\n\n- harness: {expected}\n\nNext steps:\n\n- {expected}\n"
    ) == render(hostile)


@pytest.mark.parametrize(
    "changes",
    [
        {"headline": ""},
        {"headline": "   "},
        {"headline": "x" * 241},
        {"headline": 7},
        {"went_well": "text"},
        {"went_well": ["x"] * 7},
        {"went_well": [""]},
        {"failures": [{"cause": "x", "explanation": "y"}]},
        {"failures": [{"cause": "x", "explanation": "y", "task_ids": [1]}]},
        {"failures": [{"cause": "x", "explanation": "y" * 501, "task_ids": []}]},
        {"suspected_defects": [{"source": "agent", "explanation": "x"}]},
        {"next_steps": None},
        {"decision": "PASS"},
    ],
)
def test_other_shapes_are_refused(changes: dict[str, Any]) -> None:
    """Lengths, counts, kinds and keys are part of the shape."""
    with pytest.raises(ValidationError):
        answer(**changes)


def test_the_schema_for_the_model_names_kinds_and_no_limits() -> None:
    """Limits make the service refuse a schema; keys, kinds and what is required stand in it."""
    schema = Answer.model_json_schema()
    text = json.dumps(schema)
    assert [] == [word for word in ("additionalProperties", "maxLength", "minLength", "maxItems") if word in text]
    assert sorted(WHOLE) == sorted(schema["required"])
    assert ["judge", "harness"] == schema["$defs"]["SuspectedDefect"]["properties"]["source"]["enum"]


def test_every_text_is_a_passage_with_its_place() -> None:
    """Only explanations may quote evidence; a failure's texts know how many tasks stand beside them."""
    assert [
        ("headline", False, None),
        ("went_well[0]", False, None),
        ("failures[0].cause", True, 2),
        ("failures[0].explanation", True, 2),
        ("suspected_defects[0]", True, None),
        ("next_steps[0]", False, None),
        ("next_steps[1]", False, None),
    ] == [(each.place, each.explains, each.own_tasks) for each in passages(answer())]
