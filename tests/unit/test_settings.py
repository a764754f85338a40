"""Settings: read once, typed, and refused with the name of what can't be used."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from evalbench.errors import UsageError
from evalbench.settings import FailOnHold, Settings, SummariesMode, include_dir, load_settings

GOOD = [
    ("EVALBENCH_RUNS", "/data/runs", "runs", "/data/runs"),
    ("EVALBENCH_LAKE", " lake ", "lake", "lake"),
    ("EVALBENCH_EXCLUDE", "exclude.yaml", "exclude", "exclude.yaml"),
    ("EVALBENCH_TIMEZONE", "Europe/Zurich", "timezone", "Europe/Zurich"),
    ("EVALBENCH_GRACE_HOURS", "0", "grace_hours", 0.0),
    ("EVALBENCH_GRACE_HOURS", "1.5", "grace_hours", 1.5),
    ("EVALBENCH_CLOCK", "2026-12-02T06:00:00Z", "clock", datetime(2026, 12, 2, 6, tzinfo=UTC)),
    ("EVALBENCH_CLOCK", "2026-12-02T07:00:00+01:00", "clock", datetime(2026, 12, 2, 6, tzinfo=UTC)),
    ("EVALBENCH_SUMMARIES", "off", "summaries", SummariesMode.OFF),
    ("EVALBENCH_SUMMARIES", "auto", "summaries", SummariesMode.AUTO),
    (
        "EVALBENCH_SUMMARY_MODELS",
        "gemini-2.5-pro, gemini-flash-latest",
        "summary_models",
        ("gemini-2.5-pro", "gemini-flash-latest"),
    ),
    ("EVALBENCH_SUMMARY_WORKERS", "3", "summary_workers", 3),
    ("EVALBENCH_SUMMARY_DEADLINE_S", "7.5", "summary_deadline_s", 7.5),
    ("EVALBENCH_VERTEX_PROJECT", "my-project", "vertex_project", "my-project"),
    ("EVALBENCH_MAX_MAPPED_TASKS", "8", "max_mapped_tasks", 8),
    ("EVALBENCH_EMPTY_TRAJECTORY_EXPECTS_NO_CALL", "false", "empty_trajectory_expects_no_call", False),
    ("EVALBENCH_FAIL_ON_HOLD", "never", "fail_on_hold", FailOnHold.NEVER),
]

BAD = [
    ("EVALBENCH_TIMEZONE", "Mars/Olympus", "IANA"),
    ("EVALBENCH_TIMEZONE", "../../etc/passwd", "IANA"),
    ("EVALBENCH_GRACE_HOURS", "-1", "hours"),
    ("EVALBENCH_GRACE_HOURS", "nan", "hours"),
    ("EVALBENCH_GRACE_HOURS", "soon", "soon"),
    ("EVALBENCH_CLOCK", "2026-12-02T06:00:00", "offset"),
    ("EVALBENCH_CLOCK", "yesterday", "yesterday"),
    ("EVALBENCH_SUMMARIES", "loud", "auto, offline, gemini, vertex, off"),
    ("EVALBENCH_SUMMARY_MODELS", "a, ,b", "without spaces"),
    ("EVALBENCH_SUMMARY_WORKERS", "65", "from 1 to 64"),
    ("EVALBENCH_SUMMARY_DEADLINE_S", "0", "from 1 to 3600"),
    ("EVALBENCH_SUMMARY_PROMPT_TOKENS", "many", "many"),
    ("EVALBENCH_MAX_MAPPED_TASKS", "0", "from 1"),
    ("EVALBENCH_MAX_RUN_BYTES", "1.5", "1.5"),
    ("EVALBENCH_EMPTY_TRAJECTORY_EXPECTS_NO_CALL", "maybe", "true or false"),
    ("EVALBENCH_FAIL_ON_HOLD", "sometimes", "auto, always, never"),
]


@pytest.mark.parametrize(("variable", "text", "field", "expected"), GOOD)
def test_a_variable_becomes_a_typed_setting(variable: str, text: str, field: str, expected: object) -> None:
    """Every variable is parsed into the type its readers rely on."""
    assert expected == getattr(load_settings({variable: text}), field)


@pytest.mark.parametrize(("variable", "text", "hint"), BAD)
def test_a_bad_value_is_refused_by_name(variable: str, text: str, hint: str) -> None:
    """The error names the variable and says what would do."""
    with pytest.raises(UsageError, match=variable) as caught:
        load_settings({variable: text})
    assert hint in str(caught.value)


def test_a_bad_option_is_refused_by_its_option_name() -> None:
    """A value given by the caller is not blamed on the environment."""
    with pytest.raises(UsageError, match="--grace-hours"):
        load_settings({"EVALBENCH_GRACE_HOURS": "1"}, {"grace_hours": "x"})


def test_overrides_win_and_none_is_not_given() -> None:
    """An option beats the environment; an option that wasn't given leaves it alone."""
    settings = load_settings({"EVALBENCH_LAKE": "a", "EVALBENCH_RUNS": "b"}, {"lake": "c", "runs": None})
    assert ("c", "b") == (settings.lake, settings.runs)


def test_empty_and_foreign_variables_change_nothing() -> None:
    """An empty variable counts as not set, and other programs' variables are theirs."""
    assert Settings() == load_settings({"EVALBENCH_LAKE": "", "EVALBENCH_OTHER": "1", "LAKE": "x"})


def test_an_unknown_override_is_a_mistake_of_the_caller() -> None:
    """No override is dropped silently."""
    with pytest.raises(UsageError, match="laek"):
        load_settings({}, {"laek": "x"})


def test_what_a_verb_needs_is_asked_for_by_name() -> None:
    """A missing place says which variable and which option would give it."""
    with pytest.raises(UsageError, match=r"EVALBENCH_RUNS.*RUNS on the command line"):
        Settings().require_runs()
    with pytest.raises(UsageError, match=r"EVALBENCH_LAKE.*--lake"):
        Settings().require_lake()


def test_the_clock_can_be_fixed() -> None:
    """A fixed clock is what `now` says; without one it is the wall clock, in UTC."""
    fixed = datetime(2026, 12, 2, 6, tzinfo=UTC)
    assert fixed == Settings(clock=fixed).now()
    assert timedelta(0) == Settings().now().utcoffset()


def test_the_shipped_files_are_found(root: Path) -> None:
    """Policies and views stand where `include_dir` says."""
    assert root / "include" == include_dir()
    assert (include_dir() / "policies" / "consequential.yaml").is_file()
