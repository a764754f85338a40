-- What did every evaluator, comparator and grader say, and how often could it say nothing?
-- One row per date, subject, source and name. value_sum / judged is the average. Rows without a verdict are in neither: an
-- unavailable verdict is no zero. Scales differ by name (0 to 1, 0 to 100, counts): never add up over names.
SELECT
  run_date,
  product,
  suite,
  environment,
  candidate,
  source,
  name,
  COUNT(*) AS asked,
  CAST(SUM(CASE WHEN state = 'available' THEN 1 ELSE 0 END) AS INT64) AS judged,
  CAST(SUM(CASE WHEN state = 'unavailable' THEN 1 ELSE 0 END) AS INT64) AS without_verdict,
  SUM(value) AS value_sum
FROM verdicts
GROUP BY run_date, product, suite, environment, candidate, source, name
