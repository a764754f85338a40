-- Which of the harness's comparators and the records' graders gave no verdict, how often, and why?
-- Our own evaluators are left out: where they have nothing to compare, no judge failed.
-- One row per date, subject, source, name and reason; judged and asked count all rows of that name on that date.
WITH counted AS (
  SELECT
    run_date,
    product,
    suite,
    environment,
    candidate,
    source,
    name,
    scorer_type,
    reason,
    state,
    COUNT(*) OVER (PARTITION BY run_date, product, suite, environment, candidate, source, name) AS asked,
    SUM(CASE WHEN state = 'available' THEN 1 ELSE 0 END) OVER (
      PARTITION BY run_date, product, suite, environment, candidate, source, name
    ) AS judged
  FROM verdicts
  WHERE source <> 'evaluator'
)
SELECT
  run_date,
  product,
  suite,
  environment,
  candidate,
  source,
  name,
  scorer_type,
  reason,
  COUNT(*) AS without_verdict,
  CAST(MAX(judged) AS INT64) AS judged,
  MAX(asked) AS asked
FROM counted
WHERE state = 'unavailable'
GROUP BY run_date, product, suite, environment, candidate, source, name, scorer_type, reason
