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
    held,
    decided_by,
    first_reason,
    planned,
    judged,
    verified,
    waiting,
    run_count,
    quality_sum,
    graded,
    useful_windows,
    active_windows,
    effects_verified,
    effects,
    covered_usd,
    verified_outcomes,
    false_successes,
    declared_completions,
    ROW_NUMBER() OVER (
      PARTITION BY product, suite, environment, candidate, policy_name
      ORDER BY run_date DESC, policy_hash
    ) AS from_newest
  FROM decision_daily
)
SELECT
  decision,
  candidate,
  decided_by,
  run_date,
  product,
  suite,
  environment,
  policy_name,
  ROUND(quality_sum / NULLIF(graded, 0), 9) AS task_quality,
  graded,
  ROUND(useful_windows / NULLIF(active_windows, 0), 9) AS useful_progress,
  active_windows,
  ROUND(effects_verified / NULLIF(effects, 0), 9) AS effect_integrity,
  effects,
  ROUND(covered_usd / NULLIF(verified_outcomes, 0), 9) AS usd_per_verified_outcome,
  false_successes,
  declared_completions,
  planned,
  judged,
  verified,
  waiting,
  run_count,
  held,
  first_reason,
  policy_hash
FROM newest
WHERE from_newest = 1
