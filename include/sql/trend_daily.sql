-- How does each signal of each subject move from day to day?
-- One row per date, subject, policy and signal. A policy whose window is longer than a day pools the days before too:
-- such rows overlap and must not be added up over dates.
SELECT
  s.run_date,
  s.product,
  s.suite,
  s.environment,
  s.candidate,
  s.model,
  s.dataset_version,
  s.policy_name,
  s.policy_hash,
  d.window_days,
  d.decision,
  s.signal,
  s.numerator,
  s.denominator,
  ROUND(s.numerator / NULLIF(s.denominator, 0), 9) AS value,
  s.left_out_total,
  s.left_out,
  s.ci95_low,
  s.ci95_high,
  s.unit
FROM signals AS s
INNER JOIN decisions AS d
  ON d.run_date = s.run_date
  AND d.product = s.product
  AND d.suite = s.suite
  AND d.environment = s.environment
  AND d.candidate = s.candidate
  AND d.policy_hash = s.policy_hash
