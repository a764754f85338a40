"""Score every run directory, decide what may ship, publish the trend tables.

`discover` lists the runs root and plans; the run directories are scored and summarized by mapped Airflow tasks
(`run_directory`: one for each, above EVALBENCH_MAX_MAPPED_TASKS in batches); `gate` accounts for everything that was
planned and decides; `publish` replaces the trend partitions that changed; `enforce` fails when a release is held (see
the parameter `fail_on_hold`).

**Which red is it?** `enforce` red with a GateHeldError, beside a green `publish`, is a decision: nothing is broken, a
release is held, its log names the subject and the check. Anything else that is red is a fault of the pipeline, a
PipelineError of `enforce` included. A DAG run that failed with skipped Airflow tasks ran into its time limit.

**Which dates?** A backfill decides the UTC date on which its data interval starts, and no other. A DAG run with `since`
or `until` decides those dates. Any other, scheduled or triggered, takes up whatever is new or changed, of any date, and
decides the day that ended last in any case. It holds what it decided itself about days that are over, and nothing else.

Everything may be repeated: what is right already is not written again. `docs/operations.md` of the project goes through
every Airflow task.
"""

# Wiring only: every Airflow task is one call into `evalbench.nightly`, imported when it runs, not when this is parsed.
# XCom carries batch numbers and labels; plan, results, facts and report are in the lake under the DAG run's id.
# An Airflow task's docstring is its page in Airflow: one paragraph, since Markdown would take a second one for code.

import logging
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from types import ModuleType
from typing import Any, TypedDict
from urllib.parse import urlsplit

from airflow.sdk import (
    Asset,
    Connection,
    CronDataIntervalTimetable,
    ExceptionRetryPolicy,
    Param,
    RetryAction,
    RetryRule,
    TriggerRule,
    dag,
    get_current_context,
    task,
    task_group,
)
from airflow.sdk.configuration import conf

from evalbench.errors import EvalbenchError, PipelineError, StorageError, UsageError
from evalbench.settings import Settings, SummariesMode, load_settings

log = logging.getLogger("evalbench.nightly")

TRENDS = Asset("evalbench_trends")

# Airflow may live below a path of its host.
BOARD = urlsplit(conf.get("api", "base_url", fallback="") or "").path.rstrip("/") + "/plugin/evalbench"
DOC = f"{__doc__}\n**What may ship, and why the rest is held:** [Evaluations]({BOARD}).\n"

# Pools exist to spare a machine, so only the fan-out has one: where Airflow doesn't have it, `discover` still runs and
# names it.
POOL = os.environ.get("EVALBENCH_POOL", "").strip() or "default_pool"

# Generous: what runs longer hangs. All of a night is over before the next one starts.
DISCOVER_TIMEOUT = timedelta(hours=1)
BATCH_TIMEOUT = timedelta(hours=3)
PUBLISH_TIMEOUT = timedelta(hours=2)
ENFORCE_TIMEOUT = timedelta(minutes=10)
NIGHT_TIMEOUT = timedelta(hours=22)

# The first rule that matches holds. What neither names (a killed worker, no memory, a timeout) is Airflow's to retry.
RETRIES = ExceptionRetryPolicy(
    rules=[
        RetryRule(exception=StorageError, action=RetryAction.RETRY, reason="a disk, share or bucket failed"),
        RetryRule(exception=EvalbenchError, action=RetryAction.FAIL, reason="the same again on a second try"),
    ]
)

DATE: dict[str, Any] = {"type": ["null", "string"], "format": "date"}
TEXT: dict[str, Any] = {"type": ["null", "string"]}
PARAMS = {
    "since": Param(None, **DATE, title="Since", description="First run date to decide, UTC. Empty: no bound."),
    "until": Param(None, **DATE, title="Until", description="Last run date to decide, UTC. Empty: no bound."),
    "candidates": Param(
        [],
        type="array",
        items={"type": "string"},
        title="Candidates",
        description="Which candidates the report shows and enforce holds. Empty: all.",
    ),
    "baseline": Param(None, **TEXT, title="Baseline", description="Compare with this candidate, not routing's."),
    "policy": Param(None, **TEXT, title="Policy file", description="One policy for every subject, not routing's."),
    "exclude": Param(
        None, **TEXT, title="Exclusions file", description="Which runs are void, not EVALBENCH_EXCLUDE's."
    ),
    "summaries": Param(
        None,
        **TEXT,
        enum=[None, "auto", "offline", "gemini", "vertex", "off"],
        title="Summaries",
        description="Who writes the run summaries. Empty: as EVALBENCH_SUMMARIES says.",
    ),
    "fail_on_hold": Param(
        None,
        **TEXT,
        enum=[None, "auto", "always", "never"],
        title="Fail on hold",
        description="When a held release turns the DAG run red. auto: always, except in backfills.",
    ),
}
SETTINGS_FROM_PARAMS = ("policy", "exclude", "summaries", "fail_on_hold")

# Where an Airflow connection must be known, as errors about one call it.
PROCESS = "worker"

# The name of a mapped instance in the grid, from what is known before it runs: a running one has its name, too.
LABEL = "{{ task.op_args[0].label }}"


class Batch(TypedDict):
    """What one mapped instance works on: a position in the plan's batches, and its name in the grid."""

    number: int
    label: str


@task(execution_timeout=DISCOVER_TIMEOUT)
def discover() -> list[Batch]:
    """Lists the runs root, finds what is new or changed, and stores the plan of this DAG run in the lake. **Red:**
    the runs root or the lake can't be used, or a setting or parameter is wrong; nothing is decided or published, and
    what was published stands. **Do:** the log's last error says which path or variable; mend it, then clear
    `discover` with everything downstream."""
    settings = _settings()
    _check_map_length(settings)
    labels = _nightly().discover(settings, _dag_run_id(), **_dates())
    log.info("%d batches of runs to score, in Airflow pool %s", len(labels), POOL)
    return [Batch(number=number, label=label) for number, label in enumerate(labels)]


@task(map_index_template=LABEL, execution_timeout=BATCH_TIMEOUT, pool=POOL)
def score(batch: Batch) -> None:
    """Reads run directories into facts and verdicts. A directory that can't be read is a row, not a failure.
    **Red:** a disk, share or worker was lost more often than retries could mend; the runs without a result are
    `task_lost`, all others are decided and published, and `enforce` turns red with a PipelineError. **Waiting for
    hours:** the Airflow pool doesn't exist or is full (`airflow pools list`). **Do:** nothing at night, the next
    DAG run takes them up; to have them at once, clear the red instances with everything downstream."""
    states: Counter[str] = Counter()
    for state in _nightly().score_batch(_settings(), _dag_run_id(), batch["number"]):
        log.info("%s", ": ".join(filter(None, (state.path, state.disposition, state.change, state.message))))
        states[state.disposition] += 1
    log.info("%s: %s", batch["label"], _told(states))


@task(map_index_template=LABEL, execution_timeout=BATCH_TIMEOUT, pool=POOL)
def summarize(batch: Batch) -> None:
    """Writes a text about each scored run, from its numbers. Advisory: no decision reads it. **Red:** some texts are
    missing and their rows say so; decisions and tables are whole. **Do:** nothing at night; clear the red instances
    to have the texts written, then `publish` to have them in the tables."""
    settings = _settings()
    states: Counter[str] = Counter()
    said, calls = {""}, 0
    for path, written in _nightly().summarize_batch(settings, _dag_run_id(), batch["number"], _login(settings)):
        if written is None:
            states["without facts"] += 1
            continue
        log.info("%s: %s", path, ", ".join(filter(None, (written.state, written.reason, "cached" * written.cached))))
        for told in {written.why, written.message} - said:
            log.info("%s", told)
        said |= {written.why, written.message}
        states[written.state] += 1
        calls += written.calls
    log.info("%s: summaries: %s; %d calls", batch["label"], _told(states), calls)


@task_group
def run_directory(batch: Batch) -> None:
    """The run directories of one batch: their facts, then their summaries."""
    score(batch) >> summarize(batch)


@task(trigger_rule=TriggerRule.ALL_DONE)
def gate(batches: list[Batch] | None) -> None:
    """Accounts for every directory that `discover` listed, whatever became of the fan-out, and decides. **Red:**
    `discover` left no plan, the sum is wrong, or a policy, routing or candidate can't be used; nothing is published,
    and what was published stands. **Do:** when `discover` is red, start there; else mend the file or parameter that
    the log names and clear `gate` with everything downstream."""
    _insist("discover")
    if batches is None:
        raise PipelineError("discover left no plan of this try; clear discover with everything downstream")
    report = _nightly().gate(_settings(), _dag_run_id(), **_choice())
    for entry in report["decisions"]:
        by = f" by {entry['decided_by']}" if entry["decided_by"] else ""
        log.info("%(date)s %(product)s/%(suite)s %(candidate)s: %(decision)s%(by)s", {**entry, "by": by})
    log.info("accounting: %s", report["accounting"])
    verdicts = Counter(entry["decision"] for entry in report["decisions"])
    log.info("%d decisions: %s", verdicts.total(), _told(verdicts))


@task(outlets=[TRENDS])
def publish() -> None:
    """Replaces the trend partitions that are not what they should be, logs the decisions of record, makes BigQuery the
    same where a dataset follows the lake, and tells the asset `evalbench_trends`. **Red:** the lake or BigQuery can't
    be written; each date is whole, either as it was or as it should be, and readers wait for the one that was
    interrupted. **Do:** see to space and rights of the place that the log names, then clear `publish` with everything
    downstream."""
    _insist("discover", "gate")
    done = _nightly().publish(_settings(), _dag_run_id(), **_choice())
    counts = {name: getattr(done, name) for name in ("written", "unchanged", "removed", "logged", "runs")}
    get_current_context()["outlet_events"][TRENDS].extra = {
        "dates": [day.isoformat() for day in done.dates],
        "decisions": done.decisions,
        "counts": counts,
        "plan_id": _dag_run_id(),
    }
    log.info("%d dates republished (%s); decided: %s", len(done.dates), _told(counts), _told(done.decisions))
    if (sent := done.delivery) is not None:
        jobs = {"load jobs": sent.loads, "scripts": sent.scripts, "rows": sent.rows, "dates left": len(sent.left)}
        log.info("BigQuery: %d dates replaced (%s)", len(sent.dates), _told(jobs))
        if sent.left:
            left = ", ".join(day.isoformat() for day in sent.left)
            log.warning(
                "left as they are in BigQuery, since they are being written or not what was committed: %s", left
            )


@task(retries=0, trigger_rule=TriggerRule.ALL_DONE, execution_timeout=ENFORCE_TIMEOUT)
def enforce() -> None:
    """Holds what this DAG run decided must be held; everything is published by then. **Red with a GateHeldError:**
    a release is held, which is an answer, not a fault: don't ship the candidate, look at the trials behind the named
    check. **Red with a PipelineError:** something before it did not succeed, or runs were lost (`task_lost`). **Do:**
    with a PipelineError start at the first red Airflow task; clearing a hold gives the same answer, and marking it a
    success overrules the gate in Airflow only, the tables keep the decision."""
    _insist("discover", "gate", "publish")
    backfill = get_current_context()["dag_run"].run_type == "backfill"
    log.info("%s", _nightly().enforce(_settings(), _dag_run_id(), backfill=backfill))


def _nightly() -> ModuleType:
    """The pipeline, imported when an Airflow task runs: parsing this file must stay cheap."""
    return import_module("evalbench.nightly")


def _settings() -> Settings:
    """The operator's settings, and what this DAG run's parameters say instead."""
    params = get_current_context()["params"]
    settings = load_settings(os.environ, {name: params[name] for name in SETTINGS_FROM_PARAMS})
    if settings.google_connection is None:
        return settings
    return replace(settings, google=_connections().google_access(settings.google_connection, PROCESS))


def _connections() -> ModuleType:
    """What Airflow connections hold, likewise."""
    return import_module("evalbench.airflow_connections")


def _login(settings: Settings) -> object:
    """What this worker can show to Google: of the Airflow connection the settings name, else of its environment.

    Resolved where it is used: it goes through no XCom, parameter or template.
    """
    access = import_module("evalbench.summaries.access")
    if settings.summaries in (SummariesMode.OFF, SummariesMode.OFFLINE):
        return access.NOBODY
    if settings.summaries_connection is None:
        key = os.environ.get(access.KEY_VARIABLE, "").strip()
        gemini = import_module("evalbench.summaries.gemini")
        return access.Login(api_key=access.Secret(key) if key else None, credentials=gemini.application_default)
    name = settings.summaries_connection
    ours = _connections()
    return ours.held(ours.SUMMARIES, name, PROCESS, lambda: _login_of(name))


def _login_of(name: str) -> object:
    """What an Airflow connection holds: Google's own credentials, or an API key as its password."""
    access = import_module("evalbench.summaries.access")
    connection = Connection.get(name)
    if connection.conn_type == "google_cloud_platform":
        hook = _connections().google_hook(name)
        return access.Login(api_key=None, credentials=hook.get_credentials, project=hook.project_id)
    return access.Login(
        api_key=access.Secret(connection.password) if connection.password else None,
        credentials=import_module("evalbench.summaries.gemini").application_default,
    )


def _check_map_length(settings: Settings) -> None:
    """More batches than Airflow maps would fail here too, but only after the work, and without saying why."""
    allowed = conf.getint("core", "max_map_length")
    if settings.max_mapped_tasks > allowed:
        raise UsageError(
            f"EVALBENCH_MAX_MAPPED_TASKS is {settings.max_mapped_tasks}, and Airflow maps at most {allowed}"
            " (core.max_map_length); lower the one or raise the other"
        )


def _insist(*names: str) -> None:
    """Raise PipelineError unless these Airflow tasks of this DAG run succeeded.

    Airflow lets an Airflow task run behind one that was skipped, or that was cleared alone and failed: there silence
    would be green.
    """
    context = get_current_context()
    run_id = _dag_run_id()
    found = context["ti"].get_task_states(dag_id=context["dag"].dag_id, task_ids=list(names), run_ids=[run_id])
    for name in names:
        if (state := found.get(run_id, {}).get(name)) != "success":
            raise PipelineError(
                f"{name} did not succeed in this DAG run (it is {state}), so nothing that rests on it holds;"
                f" look at its log, then clear {name} with everything downstream"
            )


def _dates() -> dict[str, date | None]:
    """The dates in range, each None where there is no bound; without any, which date is this DAG run's own."""
    context = get_current_context()
    dag_run = context["dag_run"]
    if dag_run.run_type == "backfill":
        day = _utc_date(context["data_interval_start"])
        return {"since": day, "until": day, "own": None}
    given = {name: context["params"][name] for name in ("since", "until")}
    dates = {name: date.fromisoformat(text) if text else None for name, text in given.items()}
    if any(dates.values()):
        return {**dates, "own": None}
    if dag_run.run_type == "scheduled":
        return {**dates, "own": _utc_date(context["data_interval_start"])}
    return {**dates, "own": _utc_date(dag_run.run_after) - timedelta(days=1)}


def _utc_date(moment: datetime | None) -> date:
    """UTC date of a moment: a plain date, where Airflow's own is of a subclass."""
    if moment is None:
        raise PipelineError("Airflow gave this DAG run no data interval; trigger it with the dates since and until")
    return datetime.fromtimestamp(moment.timestamp(), UTC).date()


def _choice() -> dict[str, Any]:
    params = get_current_context()["params"]
    return {"candidates": tuple(params["candidates"]), "baseline": params["baseline"]}


def _dag_run_id() -> str:
    return str(get_current_context()["run_id"])


def _told(counts: Mapping[str, int]) -> str:
    """`3 PASS, 1 FAIL`."""
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "none"


@dag(
    dag_id="evalbench_nightly",
    schedule=CronDataIntervalTimetable("0 2 * * *", timezone="UTC"),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=NIGHT_TIMEOUT,
    params=PARAMS,
    default_args={
        "owner": "evalbench",
        "retries": 3,
        # At most one, two and four minutes, a little different for each mapped instance.
        "retry_delay": timedelta(seconds=30),
        "retry_exponential_backoff": 2.0,
        "retry_policy": RETRIES,
        "execution_timeout": PUBLISH_TIMEOUT,
    },
    tags=["evalbench"],
    doc_md=DOC,
)
def evalbench_nightly() -> None:
    """Wire the verbs together."""

    batches = discover()
    run_directory.expand(batch=batches) >> gate(batches) >> publish() >> enforce()  # type: ignore[arg-type]


evalbench_nightly()
