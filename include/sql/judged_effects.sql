-- Which effects count under the policy?
-- One row per decision and effect: the recorded ones, and for every effectful call that no recorded effect accounts
-- for a silent one, unknown at its destination (or rejected, when the call was).
WITH attempts AS (
  SELECT run_date, run_id, task_id, trial, tool, SUM(attempts) AS attempts
  FROM effects
  WHERE tool IS NOT NULL
  GROUP BY run_date, run_id, task_id, trial, tool
),
numbered_calls AS (
  SELECT
    run_date,
    run_id,
    task_id,
    trial,
    call_index,
    tool,
    status,
    ROW_NUMBER() OVER (PARTITION BY run_date, run_id, task_id, trial, tool ORDER BY call_index) AS nth
  FROM calls
),
silent_calls AS (
  SELECT c.run_date, c.run_id, c.task_id, c.trial, c.call_index, c.tool, c.status
  FROM numbered_calls AS c
  LEFT JOIN attempts AS a
    ON a.run_date = c.run_date
    AND a.run_id = c.run_id
    AND a.task_id = c.task_id
    AND a.trial = c.trial
    AND a.tool = c.tool
  WHERE c.nth > COALESCE(a.attempts, 0)
)
SELECT
  t.run_date,
  t.product,
  t.suite,
  t.environment,
  t.candidate,
  t.policy_hash,
  t.policy_name,
  t.trial_date,
  t.run_id,
  t.task_id,
  t.trial,
  e.effect_id,
  e.tool,
  e.state,
  FALSE AS silent,
  t.policy_tolerate_read_only_tools
    AND e.state = 'unknown'
    AND e.tool IS NOT NULL
    AND NOT COALESCE(p.effectful, FALSE) AS tolerated
FROM pooled_trials AS t
INNER JOIN effects AS e
  ON e.run_date = t.trial_date
  AND e.run_id = t.run_id
  AND e.task_id = t.task_id
  AND e.trial = t.trial
LEFT JOIN policy_tools AS p
  ON p.run_date = t.run_date
  AND p.policy_hash = t.policy_hash
  AND p.tool = e.tool
UNION ALL
SELECT
  t.run_date,
  t.product,
  t.suite,
  t.environment,
  t.candidate,
  t.policy_hash,
  t.policy_name,
  t.trial_date,
  t.run_id,
  t.task_id,
  t.trial,
  'call-' || CAST(c.call_index AS STRING) AS effect_id,
  c.tool,
  CASE WHEN c.status = 'rejected' THEN 'rejected' ELSE 'unknown' END AS state,
  COALESCE(c.status, '') <> 'rejected' AS silent,
  FALSE AS tolerated
FROM pooled_trials AS t
INNER JOIN silent_calls AS c
  ON c.run_date = t.trial_date
  AND c.run_id = t.run_id
  AND c.task_id = t.task_id
  AND c.trial = t.trial
INNER JOIN policy_tools AS p
  ON p.run_date = t.run_date
  AND p.policy_hash = t.policy_hash
  AND p.tool = c.tool
WHERE p.effectful
