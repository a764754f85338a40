-- What was decided about whom on which day, and on which counts?
-- One row per decision: the funnel, and each signal's numerator, denominator and what was left out. Rates are for the
-- reader to divide: SUM(numerator) / SUM(denominator). Where window_days is above 1, the rows of neighbouring days pool
-- some of the same trials and must not be added up over dates.
WITH sides AS (
  SELECT
    run_date,
    product,
    suite,
    environment,
    candidate,
    policy_hash,
    MAX(CASE WHEN signal = 'task_quality' THEN numerator END) AS quality_sum,
    MAX(CASE WHEN signal = 'task_quality' THEN denominator END) AS graded,
    MAX(CASE WHEN signal = 'task_quality' THEN left_out_total END) AS quality_left_out,
    MAX(CASE WHEN signal = 'useful_progress' THEN numerator END) AS useful_windows,
    MAX(CASE WHEN signal = 'useful_progress' THEN denominator END) AS active_windows,
    MAX(CASE WHEN signal = 'useful_progress' THEN left_out_total END) AS progress_left_out,
    MAX(CASE WHEN signal = 'effect_integrity' THEN numerator END) AS effects_verified,
    MAX(CASE WHEN signal = 'effect_integrity' THEN denominator END) AS effects,
    MAX(CASE WHEN signal = 'effect_integrity' THEN left_out_total END) AS effects_left_out,
    MAX(CASE WHEN signal = 'effect_integrity' THEN CAST(JSON_VALUE(beside, '$.unknown') AS INT64) END)
      AS effects_unknown,
    MAX(CASE WHEN signal = 'cost_per_verified_outcome' THEN numerator END) AS covered_usd,
    MAX(CASE WHEN signal = 'cost_per_verified_outcome' THEN denominator END) AS verified_outcomes,
    MAX(CASE WHEN signal = 'cost_per_verified_outcome' THEN left_out_total END) AS trials_not_covered,
    MAX(CASE WHEN signal = 'false_success' THEN numerator END) AS false_successes,
    MAX(CASE WHEN signal = 'false_success' THEN denominator END) AS declared_completions,
    MAX(CASE WHEN signal = 'false_success' THEN left_out_total END) AS declarations_left_out,
    MAX(CASE WHEN signal = 'false_success' THEN CAST(JSON_VALUE(beside, '$.unverified') AS INT64) END)
      AS completions_unverified
  FROM signals
  GROUP BY run_date, product, suite, environment, candidate, policy_hash
)
SELECT
  d.run_date,
  d.product,
  d.suite,
  d.environment,
  d.candidate,
  d.model,
  d.dataset_version,
  d.policy_name,
  d.policy_hash,
  d.window_days,
  d.decision,
  d.decision <> 'PASS' AS held,
  d.decided_by,
  d.first_reason,
  d.baseline,
  d.flip,
  d.run_count,
  d.tasks,
  d.planned,
  d.started,
  d.ended,
  d.declared,
  d.judged,
  d.verified,
  d.waiting,
  d.crashed,
  d.gave_up,
  d.declaration_unknown,
  s.quality_sum,
  s.graded,
  s.quality_left_out,
  s.useful_windows,
  s.active_windows,
  s.progress_left_out,
  s.effects_verified,
  s.effects,
  s.effects_left_out,
  s.effects_unknown,
  s.covered_usd,
  s.verified_outcomes,
  s.trials_not_covered,
  CAST(s.false_successes AS INT64) AS false_successes,
  s.declared_completions,
  s.declarations_left_out,
  s.completions_unverified
FROM decisions AS d
INNER JOIN sides AS s
  ON s.run_date = d.run_date
  AND s.product = d.product
  AND s.suite = d.suite
  AND s.environment = d.environment
  AND s.candidate = d.candidate
  AND s.policy_hash = d.policy_hash
