"""Generated text beside each run, and the pipeline's own book-keeping."""

from evalbench.tables.model import ColumnType, Table, column, required, with_common

STRING, INT64, TIMESTAMP, MONEY = ColumnType.STRING, ColumnType.INT64, ColumnType.TIMESTAMP, ColumnType.MONEY

SUMMARIES = Table(
    name="summaries",
    grain="run",
    description="Text about a run, written from its numbers. Advisory: no decision reads it.",
    sort_key=("run_id",),
    columns=with_common(
        required("run_id", STRING, "Run the text is about"),
        required(
            "state",
            STRING,
            "generated: a model's text, checked. offline: written from the numbers alone. truncated, blocked, rejected,"
            " unavailable: the offline text too, since there is no model's that could be shown. none: nobody was asked",
        ),
        column("text", STRING, "The text; null when there is none"),
        column("reason", STRING, "Why the text isn't a model's, or why there is none"),
        column("digest_hash", STRING, "sha256 of the numbers it was written from"),
        column("prompt_version", STRING, "Version of the prompt; null when no model was asked"),
        column("summary_model", STRING, "Model that answered; null when none did"),
        column("calls", INT64, "Calls made for it, retries and a second question included", "calls"),
        column("tokens_in", INT64, "Tokens of the questions; null when not counted", "tokens"),
        column("tokens_out", INT64, "Tokens of the answers, thinking apart; null when not counted", "tokens"),
        column("tokens_thinking", INT64, "Tokens of the model's thinking; null when not counted", "tokens"),
        column("cost_usd", MONEY, "What that cost by the price table of the day; null without a price", "USD"),
    ),
)

RUN_STATES = Table(
    name="run_states",
    grain="entry of the runs root",
    description=(
        "What each pipeline run of a date made of what it found in the runs root; unchanged entries and those out of"
        " range are counted in accounting only."
    ),
    operational=True,
    sort_key=("plan_id", "path"),
    columns=with_common(
        required("plan_id", STRING, "Pipeline run that says so"),
        column("executed_at", TIMESTAMP, "When it said so, by its clock; null in files that don't tell"),
        required("path", STRING, "Path relative to the runs root"),
        required(
            "state",
            STRING,
            "scored, in_progress, quarantined, ignored, or deleted: known, and listed no more;"
            " unchanged and out_of_range for a voided run only",
        ),
        column("reason", STRING, "Why, for quarantined and ignored entries; excluded for a run the operator voided"),
        column("detail", STRING, "What was found where, and what to do next"),
        column("run_key", STRING, "Hash of the path"),
        column("run_id", STRING, "Run, where it could be read"),
        column("run_time", TIMESTAMP, "When the run started, where it could be read"),
        column("content", STRING, "sha256 over the directory's file contents, where it was read"),
        column(
            "change",
            STRING,
            "new; late: new, on a date published before; changed: scored again; moved: changed, with another date",
        ),
        subject=False,
    ),
)

ACCOUNTING = Table(
    name="accounting",
    grain="state and reason",
    description="Each pipeline run of a date in counts: listed is the sum of all other states.",
    operational=True,
    sort_key=("plan_id", "state", "reason"),
    columns=with_common(
        required("plan_id", STRING, "Pipeline run that says so"),
        column("executed_at", TIMESTAMP, "When it said so, by its clock; null in files that don't tell"),
        required("state", STRING, "listed, scored, unchanged, out_of_range, in_progress, quarantined or ignored"),
        column("reason", STRING, "Why, for quarantined and ignored entries"),
        required("entries", INT64, "How many", "entries"),
        subject=False,
    ),
)

SUMMARY_TABLES = (SUMMARIES,)
OPERATIONAL_TABLES = (RUN_STATES, ACCOUNTING)
