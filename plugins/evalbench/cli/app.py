"""The verbs and their options. What a verb needs is imported when it is called: help is quick, and no verb can break
another."""

from typing import Annotated

import typer

from evalbench import __version__

EPILOG = (
    "Exit codes: 0 all PASS, or a question answered. 1 the pipeline failed. 2 usage. 3 any FAIL."
    " 4 no FAIL, but some INSUFFICIENT_EVIDENCE, or runs in range of which none could be decided."
)

app = typer.Typer(
    name="evalbench",
    help="Nightly agent evaluation runs in; release decisions and trend tables out.",
    epilog=EPILOG,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, nothing else.")]
Lake = Annotated[
    str | None,
    typer.Option("--lake", metavar="DIR", help="Facts and tables: a folder, or gs://bucket/prefix. [EVALBENCH_LAKE]"),
]
Policy = Annotated[
    str | None, typer.Option("--policy", metavar="FILE", help="Policy for every subject, instead of the routing's.")
]
Routing = Annotated[
    str | None, typer.Option("--routing", metavar="FILE", help="Suites, policies, baselines. [EVALBENCH_ROUTING]")
]
Exclude = Annotated[
    str | None, typer.Option("--exclude", metavar="FILE", help="Runs that don't count. [EVALBENCH_EXCLUDE]")
]
Candidates = Annotated[
    list[str] | None, typer.Option("--candidate", metavar="C", help="Decide this candidate only; may be repeated.")
]
Baseline = Annotated[
    str | None, typer.Option("--baseline", metavar="B", help="Baseline candidate, instead of the routing's.")
]
Since = Annotated[str | None, typer.Option("--since", metavar="DATE", help="First UTC run date, YYYY-MM-DD.")]
Until = Annotated[str | None, typer.Option("--until", metavar="DATE", help="Last UTC run date, inclusive.")]
Timezone = Annotated[
    str | None, typer.Option("--timezone", metavar="TZ", help="Zone that naive run times are in. [UTC]")
]
RunDirectory = Annotated[
    str, typer.Argument(metavar="RUN_DIR", help="One run directory, here or in a bucket.", show_default=False)
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evalbench {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Nightly agent evaluation runs in; release decisions and trend tables out."""


@app.command()
def run(
    runs: Annotated[
        str | None,
        typer.Argument(metavar="RUNS", help="The runs root: a folder, or gs://bucket/prefix. [EVALBENCH_RUNS]"),
    ] = None,
    lake: Lake = None,
    policy: Policy = None,
    routing: Routing = None,
    exclude: Exclude = None,
    candidate: Candidates = None,
    baseline: Baseline = None,
    since: Since = None,
    until: Until = None,
    summaries: Annotated[
        str | None,
        typer.Option(
            "--summaries",
            metavar="MODE",
            help="Who writes run summaries: auto, offline, gemini, vertex or off. [offline]",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Runs scored at the same time.")] = 1,
    timezone: Timezone = None,
    grace_hours: Annotated[
        float | None, typer.Option("--grace-hours", metavar="H", help="How long an unfinished run is in progress. [24]")
    ] = None,
    as_json: Json = False,
) -> int:
    """The whole pipeline over a runs root: discover, score, summarize, decide, publish."""
    from evalbench.cli.pipeline_verbs import Scope, run_verb

    overrides = {
        "runs": runs, "lake": lake, "policy": policy, "routing": routing, "exclude": exclude, "summaries": summaries,
        "timezone": timezone, "grace_hours": grace_hours,
    }  # fmt: skip
    return run_verb(overrides, Scope.of(candidate, baseline, since, until), jobs=jobs, as_json=as_json)


@app.command()
def gate(
    lake: Lake = None,
    policy: Policy = None,
    routing: Routing = None,
    exclude: Exclude = None,
    candidate: Candidates = None,
    baseline: Baseline = None,
    since: Since = None,
    until: Until = None,
    as_json: Json = False,
) -> int:
    """Decide over what a lake already knows; no run file is read, nothing is written."""
    from evalbench.cli.pipeline_verbs import Scope, gate_verb

    overrides = {"lake": lake, "policy": policy, "routing": routing, "exclude": exclude}
    return gate_verb(overrides, Scope.of(candidate, baseline, since, until), as_json=as_json)


@app.command()
def score(run_dir: RunDirectory, timezone: Timezone = None, as_json: Json = False) -> int:
    """One run: header, metrics, General Score, defects. Nothing is written, nothing is decided."""
    from evalbench.cli.run_verbs import score_verb

    return score_verb(run_dir, {"timezone": timezone}, as_json=as_json)


@app.command()
def doctor(run_dir: RunDirectory, timezone: Timezone = None, as_json: Json = False) -> int:
    """What is wrong in a run directory, and where its own summary.csv misleads."""
    from evalbench.cli.run_verbs import doctor_verb

    return doctor_verb(run_dir, {"timezone": timezone}, as_json=as_json)


@app.command()
def forget(
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="A run id, as the table runs has it.")],
    lake: Lake = None,
    policy: Policy = None,
    routing: Routing = None,
    exclude: Exclude = None,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    as_json: Json = False,
) -> int:
    """Purge a run from everything derived from it. Not beside a running pipeline; its directory is left alone."""
    from evalbench.cli.forget import forget_verb

    overrides = {"lake": lake, "policy": policy, "routing": routing, "exclude": exclude}
    return forget_verb(run_id, overrides, yes=yes, as_json=as_json)


@app.command()
def query(
    sql: Annotated[str, typer.Argument(metavar="SQL", help="One SELECT over the tables and views.")],
    lake: Lake = None,
    output: Annotated[str, typer.Option("--format", metavar="table|csv|json", help="How rows are written.")] = "table",
) -> int:
    """Ask the published tables in SQL (DuckDB, read-only)."""
    from evalbench.cli.query import query_verb

    return query_verb(sql, {"lake": lake}, output)


@app.command()
def report(
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where to write it; - for stdout.")],
    lake: Lake = None,
    product: Annotated[str | None, typer.Option("--product", metavar="P", help="This product only.")] = None,
    suite: Annotated[str | None, typer.Option("--suite", metavar="S", help="This suite only.")] = None,
    candidate: Annotated[
        list[str] | None, typer.Option("--candidate", metavar="C", help="This candidate only; may be repeated.")
    ] = None,
    since: Since = None,
    until: Until = None,
    form: Annotated[
        str | None, typer.Option("--format", metavar="html|md", help="[md for a FILE that ends in .md, else html]")
    ] = None,
) -> int:
    """Decisions of a lake as one file: HTML for a release ticket, Markdown for a comment on a pull request."""
    from evalbench.cli.inputs import utc_date
    from evalbench.cli.report import report_verb
    from evalbench.web.report import Scope

    scope = Scope(
        product=product, suite=suite, candidates=tuple(candidate or ()),
        since=utc_date(since, "--since"), until=utc_date(until, "--until"),
    )  # fmt: skip
    return report_verb({"lake": lake}, scope, output, form)


@app.command()
def schema(
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="A table, or trial-record: a line of trials.jsonl.")
    ] = None,
    output: Annotated[
        str | None, typer.Option("--format", metavar="md|json|bigquery", help="[md; json for trial-record]")
    ] = None,
) -> int:
    """The data dictionary: columns, types, units and descriptions of every published table."""
    from evalbench.cli.schema import schema_verb

    return schema_verb(table, output)
