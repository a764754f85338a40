-- Which decisions are no longer what they were when first published, and what made the difference?
-- One row per subject and date: the first entry of decision_log beside the current decision. current_decision is null
-- where nothing is decided any more, and a flag is null where one side doesn't say. entries counts the different
-- decisions there were: where a decision came back to what it was, they alone tell.
WITH entries AS (
  SELECT
    run_date,
    product,
    suite,
    environment,
    candidate,
    policy_name,
    policy_hash,
    evidence_hash,
    code_version,
    decision,
    decided_by,
    decided_at,
    ROW_NUMBER() OVER (
      PARTITION BY run_date, product, suite, environment, candidate
      ORDER BY CASE WHEN supersedes IS NULL THEN 0 ELSE 1 END, decided_at, log_id
    ) AS from_first,
    COUNT(*) OVER (PARTITION BY run_date, product, suite, environment, candidate) AS entries
  FROM decision_log
)
SELECT
  f.run_date,
  f.product,
  f.suite,
  f.environment,
  f.candidate,
  f.decision AS first_decision,
  d.decision AS current_decision,
  f.decided_by AS first_decided_by,
  d.decided_by AS current_decided_by,
  f.decision IS DISTINCT FROM d.decision AS decision_changed,
  f.policy_hash <> d.policy_hash AS policy_changed,
  f.evidence_hash <> d.evidence_hash AS evidence_changed,
  f.code_version <> d.code_version AS code_changed,
  f.entries,
  f.decided_at AS first_decided_at,
  f.policy_name AS first_policy_name,
  d.policy_name AS current_policy_name,
  f.policy_hash AS first_policy_hash,
  d.policy_hash AS current_policy_hash,
  f.evidence_hash AS first_evidence_hash,
  d.evidence_hash AS current_evidence_hash
FROM entries AS f
LEFT JOIN decisions AS d
  ON d.run_date = f.run_date
  AND d.product = f.product
  AND d.suite = f.suite
  AND d.environment = f.environment
  AND d.candidate = f.candidate
WHERE f.from_first = 1
