-- Does a task succeed every time it is tried?
-- One row per decision and k of 1, 2, 4 and 8: pass^k, the mean over tasks of the chance that k of their trials all verify.
-- lower counts trials without a verdict or a record failed, upper counts them verified; valid waits are left out. tasks
-- are those tried at least k times: no row where there is none. Not to be pooled over decisions.
WITH outcomes AS (
  SELECT run_date, product, suite, environment, candidate, policy_name, policy_hash, task_id, outcome
  FROM judged_trials
  WHERE NOT waiting
  UNION ALL
  SELECT
    run_date, product, suite, environment, candidate, policy_name, policy_hash, task_id, 'unavailable' AS outcome
  FROM pooled_trials
  WHERE NOT recorded
),
counts AS (
  SELECT
    run_date,
    product,
    suite,
    environment,
    candidate,
    policy_name,
    policy_hash,
    task_id,
    COUNT(*) AS n,
    CAST(SUM(CASE WHEN outcome = 'verified' THEN 1 ELSE 0 END) AS INT64) AS verified,
    CAST(SUM(CASE WHEN outcome = 'failed' THEN 0 ELSE 1 END) AS INT64) AS possible
  FROM outcomes
  GROUP BY run_date, product, suite, environment, candidate, policy_name, policy_hash, task_id
),
-- k of n trials are all among c with a chance of c/n * (c-1)/(n-1) * ... over k factors.
chances AS (
  SELECT
    run_date, product, suite, environment, candidate, policy_name, policy_hash,
    1 AS k,
    verified / n AS lower_chance,
    possible / n AS upper_chance
  FROM counts
  UNION ALL
  SELECT
    run_date, product, suite, environment, candidate, policy_name, policy_hash,
    2 AS k,
    verified / n * ((verified - 1) / NULLIF(n - 1, 0)) AS lower_chance,
    possible / n * ((possible - 1) / NULLIF(n - 1, 0)) AS upper_chance
  FROM counts
  WHERE n >= 2
  UNION ALL
  SELECT
    run_date, product, suite, environment, candidate, policy_name, policy_hash,
    4 AS k,
    verified / n * ((verified - 1) / NULLIF(n - 1, 0)) * ((verified - 2) / NULLIF(n - 2, 0))
    * ((verified - 3) / NULLIF(n - 3, 0)) AS lower_chance,
    possible / n * ((possible - 1) / NULLIF(n - 1, 0)) * ((possible - 2) / NULLIF(n - 2, 0))
    * ((possible - 3) / NULLIF(n - 3, 0)) AS upper_chance
  FROM counts
  WHERE n >= 4
  UNION ALL
  SELECT
    run_date, product, suite, environment, candidate, policy_name, policy_hash,
    8 AS k,
    verified / n * ((verified - 1) / NULLIF(n - 1, 0)) * ((verified - 2) / NULLIF(n - 2, 0))
    * ((verified - 3) / NULLIF(n - 3, 0)) * ((verified - 4) / NULLIF(n - 4, 0)) * ((verified - 5) / NULLIF(n - 5, 0))
    * ((verified - 6) / NULLIF(n - 6, 0)) * ((verified - 7) / NULLIF(n - 7, 0)) AS lower_chance,
    possible / n * ((possible - 1) / NULLIF(n - 1, 0)) * ((possible - 2) / NULLIF(n - 2, 0))
    * ((possible - 3) / NULLIF(n - 3, 0)) * ((possible - 4) / NULLIF(n - 4, 0)) * ((possible - 5) / NULLIF(n - 5, 0))
    * ((possible - 6) / NULLIF(n - 6, 0)) * ((possible - 7) / NULLIF(n - 7, 0)) AS upper_chance
  FROM counts
  WHERE n >= 8
)
SELECT
  run_date,
  product,
  suite,
  environment,
  candidate,
  policy_name,
  policy_hash,
  k,
  ROUND(AVG(lower_chance), 9) AS pass_hat_lower,
  ROUND(AVG(upper_chance), 9) AS pass_hat_upper,
  COUNT(*) AS tasks
FROM chances
GROUP BY run_date, product, suite, environment, candidate, policy_name, policy_hash, k
