-- What did an outcome cost that the destination confirms, and how much of the bill is missing?
-- One row per decision. covered_usd is the cost of all trials with a bill, failures and waits included; while
-- trials_not_covered is above 0 the true figure is higher.
SELECT
  s.run_date,
  s.product,
  s.suite,
  s.environment,
  s.candidate,
  s.model,
  s.policy_name,
  s.policy_hash,
  s.numerator AS covered_usd,
  s.denominator AS verified_outcomes,
  ROUND(s.numerator / NULLIF(s.denominator, 0), 9) AS usd_per_verified_outcome,
  s.left_out_total AS trials_not_covered,
  d.planned AS trials_planned,
  s.ci95_low,
  s.ci95_high
FROM signals AS s
INNER JOIN decisions AS d
  ON d.run_date = s.run_date
  AND d.product = s.product
  AND d.suite = s.suite
  AND d.environment = s.environment
  AND d.candidate = s.candidate
  AND d.policy_hash = s.policy_hash
WHERE s.signal = 'cost_per_verified_outcome'
