-- Which tasks fail most?
-- One row per subject, policy and task over all dates, each trial counted once, under the decision of its own day. Valid
-- waits are left out. task_rank 1 has the largest share of trials not verified; false successes break ties.
WITH by_task AS (
  SELECT
    product,
    suite,
    environment,
    candidate,
    policy_name,
    policy_hash,
    task_id,
    COUNT(*) AS trials,
    CAST(SUM(CASE WHEN outcome = 'verified' THEN 1 ELSE 0 END) AS INT64) AS verified,
    CAST(SUM(CASE WHEN outcome = 'failed' THEN 1 ELSE 0 END) AS INT64) AS failed,
    CAST(SUM(CASE WHEN outcome = 'unavailable' THEN 1 ELSE 0 END) AS INT64) AS unavailable,
    CAST(SUM(CASE WHEN declared AND outcome = 'failed' THEN 1 ELSE 0 END) AS INT64) AS false_successes,
    CAST(SUM(CASE WHEN status = 'crashed' THEN 1 ELSE 0 END) AS INT64) AS crashed,
    SUM(quality) AS quality_sum,
    COUNT(quality) AS graded,
    SUM(covered_usd) AS covered_usd,
    MIN(trial_date) AS first_date,
    MAX(trial_date) AS last_date
  FROM judged_trials
  WHERE trial_date = run_date AND NOT waiting
  GROUP BY product, suite, environment, candidate, policy_name, policy_hash, task_id
)
SELECT
  product,
  suite,
  environment,
  candidate,
  policy_name,
  policy_hash,
  task_id,
  ROW_NUMBER() OVER (
    PARTITION BY product, suite, environment, candidate, policy_hash
    ORDER BY verified / NULLIF(trials, 0), false_successes DESC, trials DESC, task_id
  ) AS task_rank,
  trials,
  verified,
  failed,
  unavailable,
  false_successes,
  crashed,
  quality_sum,
  graded,
  covered_usd,
  first_date,
  last_date
FROM by_task
