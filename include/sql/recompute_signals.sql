-- Do the policy-free tables and the policy reproduce every published signal?
-- One row per decision and signal, recomputed beside published; `matches` is the check, and it must be TRUE everywhere.
WITH pools AS (
  SELECT
    d.run_date,
    d.product,
    d.suite,
    d.environment,
    d.candidate,
    d.policy_hash,
    d.policy_name,
    p.tolerated_effects,
    SUM(r.missing_trials) AS missing,
    MAX(CASE WHEN r.open_ended THEN 1 ELSE 0 END) AS open_ended
  FROM decisions AS d
  INNER JOIN policies AS p
    ON p.run_date = d.run_date
    AND p.policy_hash = d.policy_hash
  LEFT JOIN runs AS r
    ON r.product = d.product
    AND r.suite = d.suite
    AND r.environment = d.environment
    AND r.candidate = d.candidate
    AND r.run_date BETWEEN d.window_from AND d.run_date
    AND r.dataset_version IS NOT DISTINCT FROM d.dataset_version
  GROUP BY
    d.run_date, d.product, d.suite, d.environment, d.candidate, d.policy_hash, d.policy_name, p.tolerated_effects
),
trial_sums AS (
  SELECT
    run_date,
    product,
    suite,
    environment,
    candidate,
    policy_hash,
    COUNT(*) AS trials,
    SUM(CASE WHEN completed THEN quality END) AS quality,
    SUM(CASE WHEN completed AND quality IS NOT NULL THEN 1 ELSE 0 END) AS graded,
    SUM(progress_active) AS active,
    SUM(progress_active_with_delta) AS with_delta,
    SUM(progress_waiting) AS waiting_windows,
    SUM(progress_stale) AS stale_windows,
    SUM(CASE WHEN progress_active IS NULL THEN 1 ELSE 0 END) AS without_windows,
    SUM(covered_usd) AS covered_usd,
    COUNT(covered_usd) AS covered,
    SUM(CASE WHEN outcome = 'verified' THEN 1 ELSE 0 END) AS verified,
    SUM(CASE WHEN declared THEN 1 ELSE 0 END) AS declared,
    SUM(CASE WHEN declared AND outcome = 'failed' THEN 1 ELSE 0 END) AS declared_failed,
    SUM(CASE WHEN declared IS NULL THEN 1 ELSE 0 END) AS declared_unknown,
    SUM(CASE WHEN opaque THEN 1 ELSE 0 END) AS opaque
  FROM judged_trials
  GROUP BY run_date, product, suite, environment, candidate, policy_hash
),
effect_sums AS (
  SELECT
    run_date,
    product,
    suite,
    environment,
    candidate,
    policy_hash,
    SUM(CASE WHEN state = 'verified' THEN 1 ELSE 0 END) AS verified,
    SUM(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) AS failed,
    SUM(CASE WHEN state = 'unknown' AND NOT silent AND NOT tolerated THEN 1 ELSE 0 END) AS unknown,
    SUM(CASE WHEN state = 'rejected' THEN 1 ELSE 0 END) AS rejected,
    SUM(CASE WHEN silent THEN 1 ELSE 0 END) AS silent,
    SUM(CASE WHEN tolerated THEN 1 ELSE 0 END) AS tolerated
  FROM judged_effects
  GROUP BY run_date, product, suite, environment, candidate, policy_hash
),
sums AS (
  SELECT
    p.run_date,
    p.product,
    p.suite,
    p.environment,
    p.candidate,
    p.policy_hash,
    p.policy_name,
    COALESCE(p.missing, 0) AS missing,
    COALESCE(p.open_ended, 0) AS open_ended,
    COALESCE(t.trials, 0) AS trials,
    COALESCE(t.quality, 0) AS quality,
    COALESCE(t.graded, 0) AS graded,
    COALESCE(t.active, 0) AS active,
    COALESCE(t.with_delta, 0) AS with_delta,
    COALESCE(t.waiting_windows, 0) + COALESCE(t.stale_windows, 0) + COALESCE(t.without_windows, 0) AS not_active,
    t.covered_usd,
    COALESCE(t.covered, 0) AS covered,
    COALESCE(t.verified, 0) AS verified,
    COALESCE(t.declared, 0) AS declared,
    COALESCE(t.declared_failed, 0) AS declared_failed,
    COALESCE(t.declared_unknown, 0) AS declared_unknown,
    COALESCE(e.verified, 0) AS effects_verified,
    COALESCE(e.failed, 0) AS effects_failed,
    COALESCE(e.unknown, 0) AS effects_unknown,
    COALESCE(e.rejected, 0) AS effects_rejected,
    COALESCE(e.silent, 0) AS effects_silent,
    COALESCE(e.tolerated, 0) AS effects_tolerated,
    COALESCE(t.opaque, 0) AS opaque,
    -- The policy accepts silence up to a count over the whole pool, or none of it.
    COALESCE(COALESCE(e.silent, 0) + COALESCE(t.opaque, 0) <= p.tolerated_effects, FALSE) AS silence_accepted
  FROM pools AS p
  LEFT JOIN trial_sums AS t
    ON t.run_date = p.run_date
    AND t.product = p.product
    AND t.suite = p.suite
    AND t.environment = p.environment
    AND t.candidate = p.candidate
    AND t.policy_hash = p.policy_hash
  LEFT JOIN effect_sums AS e
    ON e.run_date = p.run_date
    AND e.product = p.product
    AND e.suite = p.suite
    AND e.environment = p.environment
    AND e.candidate = p.candidate
    AND e.policy_hash = p.policy_hash
),
recomputed AS (
  SELECT
    run_date, product, suite, environment, candidate, policy_hash, policy_name,
    'task_quality' AS signal,
    quality AS numerator,
    CAST(graded AS INT64) AS denominator,
    CAST(trials - graded AS INT64) AS left_out_total
  FROM sums
  UNION ALL
  SELECT
    run_date, product, suite, environment, candidate, policy_hash, policy_name,
    'useful_progress' AS signal,
    CAST(with_delta AS INT64) AS numerator,
    CAST(active AS INT64) AS denominator,
    CAST(not_active AS INT64) AS left_out_total
  FROM sums
  UNION ALL
  SELECT
    run_date, product, suite, environment, candidate, policy_hash, policy_name,
    'effect_integrity' AS signal,
    CAST(effects_verified AS INT64) AS numerator,
    CAST(
      effects_verified + effects_failed + effects_unknown
      + CASE WHEN silence_accepted THEN 0 ELSE effects_silent END AS INT64
    ) AS denominator,
    CAST(
      effects_rejected + effects_tolerated
      + CASE WHEN silence_accepted THEN effects_silent + opaque ELSE 0 END AS INT64
    ) AS left_out_total
  FROM sums
  UNION ALL
  SELECT
    run_date, product, suite, environment, candidate, policy_hash, policy_name,
    'cost_per_verified_outcome' AS signal,
    covered_usd AS numerator,
    CAST(verified AS INT64) AS denominator,
    CAST(trials - covered + missing + open_ended AS INT64) AS left_out_total
  FROM sums
  UNION ALL
  SELECT
    run_date, product, suite, environment, candidate, policy_hash, policy_name,
    'false_success' AS signal,
    CAST(declared_failed AS INT64) AS numerator,
    CAST(declared AS INT64) AS denominator,
    CAST(declared_unknown + missing AS INT64) AS left_out_total
  FROM sums
)
SELECT
  COALESCE(r.run_date, s.run_date) AS run_date,
  COALESCE(r.product, s.product) AS product,
  COALESCE(r.suite, s.suite) AS suite,
  COALESCE(r.environment, s.environment) AS environment,
  COALESCE(r.candidate, s.candidate) AS candidate,
  COALESCE(r.policy_hash, s.policy_hash) AS policy_hash,
  COALESCE(r.policy_name, s.policy_name) AS policy_name,
  COALESCE(r.signal, s.signal) AS signal,
  r.numerator,
  s.numerator AS published_numerator,
  r.denominator,
  s.denominator AS published_denominator,
  r.left_out_total,
  s.left_out_total AS published_left_out_total,
  COALESCE(
    r.numerator IS NOT DISTINCT FROM s.numerator AND r.denominator = s.denominator AND r.left_out_total = s.left_out_total,
    FALSE
  ) AS matches
FROM recomputed AS r
FULL OUTER JOIN signals AS s
  ON s.run_date = r.run_date
  AND s.product = r.product
  AND s.suite = r.suite
  AND s.environment = r.environment
  AND s.candidate = r.candidate
  AND s.policy_hash = r.policy_hash
  AND s.signal = r.signal
