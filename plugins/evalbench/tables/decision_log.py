"""The decisions of record: what was decided of a subject and a date, when, and on which evidence."""

from evalbench.tables.decisions import DECISIONS, POLICY, SUBJECT_KEY
from evalbench.tables.model import ColumnType, Table, column, required, with_common

STRING, INT64, TIMESTAMP = ColumnType.STRING, ColumnType.INT64, ColumnType.TIMESTAMP

DECISION_LOG = Table(
    name="decision_log",
    grain="subject, date, policy, evidence and code",
    description=(
        "Every decision of a day that was over when it was published. Append-only: each entry is a file of its own,"
        " created once; only forgetting a run ever changes it, and then the run's name alone."
    ),
    sort_key=(*SUBJECT_KEY[:-1], "decided_at", "log_id"),
    # Its code_version is compared with that of `decisions`, and so holds the same versions.
    version=DECISIONS.version,
    columns=with_common(
        *POLICY,
        required("log_id", STRING, "sha256 over subject, date, policy_hash, evidence_hash and code_version"),
        required("policy_version", STRING, "Version the policy states"),
        required(
            "evidence_hash",
            STRING,
            "sha256 over what was decided on: runs and contents of subject and baseline, and what was kept out or lost",
        ),
        required("decision", STRING, "PASS, FAIL or INSUFFICIENT_EVIDENCE"),
        column("first_reason", STRING, "The first check that fired; null on PASS"),
        column("decided_by", STRING, "The first proven check on FAIL, else the first that fired; null on PASS"),
        column("baseline", STRING, "Candidate it was compared with"),
        required("runs", STRING, "Runs pooled, as a JSON list of run ids"),
        required("run_count", INT64, "Runs pooled", "runs"),
        required("decided_at", TIMESTAMP, "When it was decided for the first time, by the clock"),
        column("supersedes", STRING, "log_id of the entry before it, same subject and date; null for the first"),
    ),
)
