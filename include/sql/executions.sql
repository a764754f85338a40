-- Did the pipeline account for everything it found?
-- One row per execution of the pipeline (plan_id), on the UTC date on which it ran. not_accounted_for is 0 when the
-- accounting closes. A row says what that execution found, so entries recur from night to night: don't add up dates.
SELECT
  run_date,
  plan_id,
  CAST(SUM(CASE WHEN state = 'listed' THEN entries ELSE 0 END) AS INT64) AS listed,
  CAST(SUM(CASE WHEN state = 'scored' THEN entries ELSE 0 END) AS INT64) AS scored,
  CAST(SUM(CASE WHEN state = 'unchanged' THEN entries ELSE 0 END) AS INT64) AS unchanged,
  CAST(SUM(CASE WHEN state = 'out_of_range' THEN entries ELSE 0 END) AS INT64) AS out_of_range,
  CAST(SUM(CASE WHEN state = 'in_progress' THEN entries ELSE 0 END) AS INT64) AS in_progress,
  CAST(SUM(CASE WHEN state = 'quarantined' THEN entries ELSE 0 END) AS INT64) AS quarantined,
  CAST(SUM(CASE WHEN state = 'ignored' THEN entries ELSE 0 END) AS INT64) AS ignored,
  CAST(SUM(CASE WHEN state = 'listed' THEN entries ELSE -entries END) AS INT64) AS not_accounted_for
FROM accounting
GROUP BY run_date, plan_id
