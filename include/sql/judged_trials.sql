-- What is a trial worth under the policy that decided on it?
-- One row per decision and recorded trial: declared, outcome, wait, quality, covered cost. Quality is the policy's
-- graders weighted, rounded to nine decimals half to even; null unless all of them ran.
WITH attested AS (
  -- The worst of a trial's attested comparator rows: failed beats verified beats unavailable.
  SELECT
    a.run_date,
    a.policy_hash,
    v.run_id,
    v.task_id,
    v.trial,
    MAX(
      CASE
        WHEN v.state = 'unavailable' OR v.value IS NULL THEN 0
        WHEN v.value >= a.pass_threshold THEN 1
        ELSE 2
      END
    ) AS outcome_rank
  FROM policy_attestations AS a
  INNER JOIN verdicts AS v
    ON v.run_id = a.run_id
    AND v.name = a.comparator
  WHERE v.source = 'harness' AND v.task_id IS NOT NULL
  GROUP BY a.run_date, a.policy_hash, v.run_id, v.task_id, v.trial
),
grades AS (
  SELECT
    run_date,
    run_id,
    task_id,
    trial,
    name,
    value,
    COUNT(*) OVER (PARTITION BY run_date, run_id, task_id, trial) AS graders,
    ROW_NUMBER() OVER (PARTITION BY run_date, run_id, task_id, trial, name ORDER BY verdict_number DESC) AS from_last
  FROM verdicts
  WHERE source = 'grader'
),
only_grades AS (
  SELECT run_date, run_id, task_id, trial, value
  FROM grades
  WHERE graders = 1
),
weighted_grades AS (
  -- Scores in units of 1e-9 and whole weights: sums and remainders of whole numbers are exact.
  SELECT
    t.run_date,
    t.policy_hash,
    t.run_id,
    t.task_id,
    t.trial,
    COUNT(g.value) AS scored,
    SUM(p.weight_units * ROUND(g.value * 1000000000)) AS total_units,
    CAST(SUM(p.weight_units) AS INT64) AS total_weight
  FROM pooled_trials AS t
  INNER JOIN policy_graders AS p
    ON p.run_date = t.run_date
    AND p.policy_hash = t.policy_hash
  INNER JOIN grades AS g
    ON g.run_date = t.trial_date
    AND g.run_id = t.run_id
    AND g.task_id = t.task_id
    AND g.trial = t.trial
    AND g.name = p.grader
    AND g.from_last = 1
  GROUP BY t.run_date, t.policy_hash, t.run_id, t.task_id, t.trial
),
divided_grades AS (
  SELECT
    run_date,
    policy_hash,
    run_id,
    task_id,
    trial,
    scored,
    total_weight,
    MOD(total_units, total_weight) AS remainder,
    CAST(ROUND((total_units - MOD(total_units, total_weight)) / total_weight) AS INT64) AS quotient
  FROM weighted_grades
),
mean_grades AS (
  SELECT
    run_date,
    policy_hash,
    run_id,
    task_id,
    trial,
    scored,
    ROUND(
      CAST(
        quotient
        + CASE
          WHEN 2 * remainder > total_weight THEN 1
          WHEN 2 * remainder = total_weight AND MOD(quotient, 2) = 1 THEN 1
          ELSE 0
        END AS NUMERIC
      ) * 0.000000001,
      9
    ) AS value
  FROM divided_grades
),
terms AS (
  SELECT
    p.run_date,
    p.product,
    p.suite,
    p.environment,
    p.candidate,
    p.policy_hash,
    p.policy_name,
    p.as_of,
    p.trial_date,
    p.run_id,
    p.task_id,
    p.trial,
    t.model,
    t.dataset_version,
    t.status,
    COALESCE(
      t.declared_complete,
      CASE WHEN p.policy_finished_conversation THEN t.finished_conversation END
    ) AS declared,
    GREATEST(
      CASE t.outcome_state WHEN 'failed' THEN 2 WHEN 'verified' THEN 1 WHEN 'unavailable' THEN 0 ELSE -1 END,
      COALESCE(a.outcome_rank, -1)
    ) AS outcome_rank,
    COALESCE(t.wait_owner, '') <> ''
      AND COALESCE(t.wait_decision, '') <> ''
      AND COALESCE(t.wait_resume_state, '') <> ''
      AND t.wait_due IS NOT NULL AS wait_complete,
    t.wait_due,
    CASE
      WHEN p.policy_graders_named = 0 THEN o.value
      WHEN m.scored = p.policy_graders_named THEN m.value
    END AS quality,
    CASE WHEN t.cost_state = 'billed' THEN t.cost_usd END AS billed_usd,
    CASE WHEN t.cost_state = 'estimated' THEN t.cost_usd END AS estimated_usd,
    p.policy_cost_basis,
    t.progress_active,
    t.progress_active_with_delta,
    t.progress_waiting,
    t.progress_stale,
    NOT t.calls_recorded AND NOT t.effects_recorded AS opaque
  FROM pooled_trials AS p
  INNER JOIN trials AS t
    ON t.run_date = p.trial_date
    AND t.run_id = p.run_id
    AND t.task_id = p.task_id
    AND t.trial = p.trial
  LEFT JOIN attested AS a
    ON a.run_date = p.run_date
    AND a.policy_hash = p.policy_hash
    AND a.run_id = p.run_id
    AND a.task_id = p.task_id
    AND a.trial = p.trial
  LEFT JOIN only_grades AS o
    ON o.run_date = p.trial_date
    AND o.run_id = p.run_id
    AND o.task_id = p.task_id
    AND o.trial = p.trial
  LEFT JOIN mean_grades AS m
    ON m.run_date = p.run_date
    AND m.policy_hash = p.policy_hash
    AND m.run_id = p.run_id
    AND m.task_id = p.task_id
    AND m.trial = p.trial
)
SELECT
  run_date,
  product,
  suite,
  environment,
  candidate,
  policy_hash,
  policy_name,
  trial_date,
  run_id,
  task_id,
  trial,
  model,
  dataset_version,
  status,
  declared,
  CASE outcome_rank WHEN 2 THEN 'failed' WHEN 1 THEN 'verified' ELSE 'unavailable' END AS outcome,
  COALESCE(status = 'waiting', FALSE)
    AND declared IS NOT TRUE
    AND outcome_rank <> 1
    AND wait_complete
    AND COALESCE(wait_due >= as_of, FALSE) AS waiting,
  COALESCE(status = 'completed', FALSE) AS completed,
  quality,
  CASE policy_cost_basis WHEN 'billed' THEN billed_usd ELSE COALESCE(billed_usd, estimated_usd) END AS covered_usd,
  estimated_usd,
  progress_active,
  progress_active_with_delta,
  progress_waiting,
  progress_stale,
  opaque
FROM terms
