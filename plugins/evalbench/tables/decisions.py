"""Tables of what was decided, and the policy behind it as relations that SQL can join."""

from evalbench.tables.model import Column, ColumnType, Table, column, required, with_common

STRING, INT64, FLOAT64 = ColumnType.STRING, ColumnType.INT64, ColumnType.FLOAT64
BOOL, DATE, TIMESTAMP, NUMERIC = ColumnType.BOOL, ColumnType.DATE, ColumnType.TIMESTAMP, ColumnType.NUMERIC

POLICY_HASH = required("policy_hash", STRING, "sha256 of the policy's meaning")
POLICY: tuple[Column, ...] = (POLICY_HASH, required("policy_name", STRING, "Name of the policy"))
SUBJECT_KEY = ("product", "suite", "environment", "candidate", "policy_hash")

SIGNALS = Table(
    name="signals",
    grain="subject, date, policy and signal",
    description="Five signals as numerator and denominator. Pool by adding both, never by averaging rates.",
    sort_key=(*SUBJECT_KEY, "signal"),
    columns=with_common(
        *POLICY,
        required(
            "signal",
            STRING,
            "task_quality, useful_progress, effect_integrity, cost_per_verified_outcome or false_success",
        ),
        column("numerator", NUMERIC, "Sum over what counts, in the signal's unit; null where nothing of it is known"),
        required("denominator", INT64, "How many count; the rate over 0 is null"),
        required("left_out", STRING, "Items in neither, as a JSON object of counts by reason"),
        required("left_out_total", INT64, "Items in neither, all reasons together", "items"),
        required("beside", STRING, "Figures kept beside the signal and never added to it, as a JSON object"),
        column("ci95_low", FLOAT64, "Lower end of the 95 % interval; null where none is defined"),
        column("ci95_high", FLOAT64, "Upper end of the 95 % interval"),
        required("unit", STRING, "Unit of numerator over denominator"),
    ),
)

GATE_CHECKS = Table(
    name="gate_checks",
    grain="subject, date, policy and check",
    description="Every check of every decision, with missing evidence taken for and against the candidate.",
    sort_key=(*SUBJECT_KEY, "check_number"),
    columns=with_common(
        *POLICY,
        required("check_number", INT64, "Position in the fixed order, from 0"),
        required("check_name", STRING, "Name of the check"),
        required(
            "stage", INT64, "1 coverage, 2 false success, 3 unknown effects, 4 floors, 5 comparison with the baseline"
        ),
        required("status", STRING, "evaluated, reported, not_evaluated, not_used or refused"),
        required("fired", BOOL, "The check holds the release"),
        required("proven", BOOL, "Even the best end breaches the limit"),
        column("numerator", NUMERIC, "Raw count or sum"),
        column("denominator", NUMERIC, "What it is counted over"),
        column("observed", NUMERIC, "The figure as observed; it decides nothing"),
        column("best", NUMERIC, "Missing evidence taken in the candidate's favour"),
        column("worst", NUMERIC, "Missing evidence taken against the candidate"),
        required("worst_unbounded", BOOL, "The worst end has no bound"),
        column("limit_value", NUMERIC, "Limit of the policy"),
        required("unit", STRING, "Unit of observed, best, worst and limit"),
        required("reason", STRING, "One sentence for people"),
        required("next_step", STRING, "What to do about it"),
        required("evidence_rows", INT64, "Trials behind the check, in gate_evidence", "rows"),
    ),
)

GATE_EVIDENCE = Table(
    name="gate_evidence",
    grain="check and trial",
    description="The trials behind each check and why they are named.",
    sort_key=(*SUBJECT_KEY, "check_number", "evidence_number"),
    columns=with_common(
        *POLICY,
        required("check_number", INT64, "Position of the check, from 0"),
        required("check_name", STRING, "Name of the check"),
        required("evidence_number", INT64, "Position within the check, from 0"),
        required("run_id", STRING, "Run of the trial"),
        required("task_id", STRING, "Task of the trial"),
        column("trial", INT64, "Trial; null for a planned one without a record"),
        required("why", STRING, "Why the trial stands here"),
        required("missing", BOOL, "True: evidence is absent and may turn out either way. False: harm on record"),
    ),
)

DECISIONS = Table(
    name="decisions",
    grain="subject, date and policy",
    description="The gate's current answer. FAIL and INSUFFICIENT_EVIDENCE both hold the release.",
    sort_key=SUBJECT_KEY,
    columns=with_common(
        *POLICY,
        required("policy_version", STRING, "Version the policy states"),
        required("decision", STRING, "PASS, FAIL or INSUFFICIENT_EVIDENCE"),
        column("first_reason", STRING, "The first check that fired; null on PASS"),
        column("decided_by", STRING, "The first proven check on FAIL, else the first that fired; null on PASS"),
        column("baseline", STRING, "Candidate it was compared with"),
        required("workflow", STRING, "Workflow the policy is for"),
        required("window_from", DATE, "First date whose runs are pooled; run_date is the last"),
        required("window_days", INT64, "Days pooled, by routing or by the policy", "days"),
        required("as_of", TIMESTAMP, "Moment that decides whether waits are valid"),
        required("tasks", INT64, "Tasks in scope", "tasks"),
        required("runs", STRING, "Runs pooled, as a JSON list of run ids"),
        required("run_count", INT64, "Runs pooled", "runs"),
        required("flip", STRING, "What would change the decision"),
        required("attested", STRING, "Comparators taken as outcome verifiers on somebody's word, as a JSON list"),
        column(
            "excluded",
            STRING,
            "Runs of the window, the baseline's too, that the operator voided, as a JSON list of run_id, reason, owner"
            " and date; null where there is none",
        ),
        required("planned", INT64, "Funnel: planned trials, unplanned recorded ones included", "trials"),
        required("started", INT64, "Funnel: trials on record", "trials"),
        required("ended", INT64, "Funnel: not running", "trials"),
        required("declared", INT64, "Funnel: declared complete", "trials"),
        required("judged", INT64, "Funnel: outcome verified or failed", "trials"),
        required("verified", INT64, "Funnel: outcome verified at the destination", "trials"),
        required("waiting", INT64, "Validly waiting", "trials"),
        required("crashed", INT64, "Crashed", "trials"),
        required("gave_up", INT64, "Ended and declared not complete, neither validly waiting nor crashed", "trials"),
        required("declaration_unknown", INT64, "Ended without saying whether it completed", "trials"),
        required("pass_at_k", STRING, "pass@k by k, as a JSON object like pass_hat_k"),
        required(
            "pass_hat_k",
            STRING,
            "pass^k by k, as a JSON object: lower, upper, complete_case, tasks, complete_tasks",
        ),
        column("evidence_hash", STRING, "sha256 over what was decided on, as in decision_log"),
    ),
)

POLICIES = Table(
    name="policies",
    grain="date and policy",
    description="Policies that decided on a date. They belong to no subject.",
    sort_key=("policy_hash",),
    columns=with_common(
        *POLICY,
        required("policy_version", STRING, "Version the policy states"),
        required("workflow", STRING, "Workflow the policy is for"),
        required("window_days", INT64, "Days it pools; routing may set others, see decisions", "days"),
        required("finished_conversation", BOOL, "A finished conversation counts where the record says nothing"),
        required("cost_basis", STRING, "billed, or estimated where no bill exists"),
        required("graders_named", INT64, "Graders that make a trial's quality; 0: its only grader", "graders"),
        required("tolerate_read_only_tools", BOOL, "Unknown effects of read-only tools are accepted"),
        column("tolerated_plan", INT64, "Accepted runs without a plan; null: none named", "runs"),
        column("tolerated_records", INT64, "Accepted planned trials without a record; null: none named", "trials"),
        column("tolerated_declared", INT64, "Accepted trials of unknown declaration; null: none named", "trials"),
        column("tolerated_outcomes", INT64, "Accepted unverified completions; null: none named", "trials"),
        column("tolerated_effects", INT64, "Accepted silent calls and opaque trials; null: none named", "items"),
        column("tolerated_progress", INT64, "Accepted trials without windows; null: none named", "trials"),
        column("tolerated_cost", INT64, "Accepted trials without covered cost; null: none named", "trials"),
        column("tolerated_grades", INT64, "Accepted ungraded trials; null: none named", "trials"),
        required("policy_json", STRING, "The whole policy as canonical JSON"),
        subject=False,
    ),
)

POLICY_TOOLS = Table(
    name="policy_tools",
    grain="date, policy and tool",
    description="What the policy's patterns make of every tool that was called or left an effect in its decisions.",
    sort_key=("policy_hash", "tool"),
    columns=with_common(
        POLICY_HASH,
        required("tool", STRING, "Canonical name of the tool"),
        required("effectful", BOOL, "The policy expects an effect from every call"),
        required("forbidden", BOOL, "The policy forbids the tool"),
        subject=False,
    ),
)

POLICY_GRADERS = Table(
    name="policy_graders",
    grain="date, policy and grader",
    description="Graders that make a trial's quality, where the policy names them; all of them must have run.",
    sort_key=("policy_hash", "grader_number"),
    columns=with_common(
        POLICY_HASH,
        required("grader_number", INT64, "Position in the policy, from 0"),
        required("grader", STRING, "Name of the grader"),
        required("weight_units", INT64, "Weight within quality, as the smallest whole numbers in proportion"),
        subject=False,
    ),
)

POLICY_ATTESTATIONS = Table(
    name="policy_attestations",
    grain="date, policy, attestation and run",
    description="Runs for which a person's word makes a harness comparator an outcome verifier.",
    sort_key=("policy_hash", "attestation_number", "run_id"),
    columns=with_common(
        POLICY_HASH,
        required("attestation_number", INT64, "Position in the policy, from 0"),
        required("run_id", STRING, "Run the attestation speaks for"),
        required("comparator", STRING, "Comparator of the harness"),
        required("predicate", STRING, "Predicate it is said to check"),
        required("pass_threshold", NUMERIC, "Lowest score that verifies the outcome"),
        required("reason", STRING, "Why it is a destination check"),
        required("attested_by", STRING, "Whose word it is"),
        subject=False,
    ),
)

DECISION_TABLES = (
    SIGNALS,
    GATE_CHECKS,
    GATE_EVIDENCE,
    DECISIONS,
    POLICIES,
    POLICY_TOOLS,
    POLICY_GRADERS,
    POLICY_ATTESTATIONS,
)
