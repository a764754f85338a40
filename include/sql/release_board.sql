-- Where does every candidate stand?
-- The newest decision of each subject and policy name, with its five signals. `held` is FAIL or INSUFFICIENT_EVIDENCE.
-- What would flip a decision is in `decisions`.
WITH newest AS (
  SELECT
    run_date,
    product,
    suite,
    environment,
    candidate,
    policy_hash,
    policy_name,
    decision,
    decided_by,
    first_reason,
    planned,
    judged,
    verified,
    waiting,
    run_count,
    ROW_NUMBER() OVER (
      PARTITION BY product, suite, environment, candidate, policy_name
      ORDER BY run_date DESC, policy_hash
    ) AS from_newest
  FROM decisions
)
SELECT
  d.decision,
  d.candidate,
  d.decided_by,
  d.run_date,
  d.product,
  d.suite,
  d.environment,
  d.policy_name,
  ROUND(MAX(CASE WHEN s.signal = 'task_quality' THEN s.numerator / NULLIF(s.denominator, 0) END), 9) AS task_quality,
  MAX(CASE WHEN s.signal = 'task_quality' THEN s.denominator END) AS graded,
  ROUND(MAX(CASE WHEN s.signal = 'useful_progress' THEN s.numerator / NULLIF(s.denominator, 0) END), 9)
    AS useful_progress,
  MAX(CASE WHEN s.signal = 'useful_progress' THEN s.denominator END) AS active_windows,
  ROUND(MAX(CASE WHEN s.signal = 'effect_integrity' THEN s.numerator / NULLIF(s.denominator, 0) END), 9)
    AS effect_integrity,
  MAX(CASE WHEN s.signal = 'effect_integrity' THEN s.denominator END) AS effects,
  ROUND(MAX(CASE WHEN s.signal = 'cost_per_verified_outcome' THEN s.numerator / NULLIF(s.denominator, 0) END), 9)
    AS usd_per_verified_outcome,
  CAST(MAX(CASE WHEN s.signal = 'false_success' THEN s.numerator END) AS BIGINT) AS false_successes,
  MAX(CASE WHEN s.signal = 'false_success' THEN s.denominator END) AS declared_completions,
  d.planned,
  d.judged,
  d.verified,
  d.waiting,
  d.run_count,
  d.decision <> 'PASS' AS held,
  d.first_reason,
  d.policy_hash
FROM newest AS d
INNER JOIN signals AS s
  ON s.run_date = d.run_date
  AND s.product = d.product
  AND s.suite = d.suite
  AND s.environment = d.environment
  AND s.candidate = d.candidate
  AND s.policy_hash = d.policy_hash
WHERE d.from_newest = 1
GROUP BY
  d.product, d.suite, d.environment, d.candidate, d.policy_name, d.run_date, d.decision, d.decided_by, d.first_reason,
  d.planned, d.judged, d.verified, d.waiting, d.run_count, d.policy_hash
