-- Why is a release held, or how near did it come?
-- One row per decision and check, in the gate's order. `decides` marks the check that decided. `best` and `worst` are what
-- missing evidence could still make of `observed`; they are null where the check was only reported or not evaluated.
SELECT
  c.run_date,
  c.product,
  c.suite,
  c.environment,
  c.candidate,
  c.policy_name,
  c.policy_hash,
  d.decision,
  c.check_number,
  c.check_name,
  c.stage,
  CASE c.stage
    WHEN 1 THEN 'coverage'
    WHEN 2 THEN 'false success'
    WHEN 3 THEN 'unknown effects'
    WHEN 4 THEN 'floors'
    WHEN 5 THEN 'comparison'
  END AS stage_name,
  c.status,
  c.fired,
  c.proven,
  COALESCE(c.check_name = d.decided_by, FALSE) AS decides,
  c.numerator,
  c.denominator,
  c.observed,
  c.best,
  c.worst,
  c.worst_unbounded,
  c.limit_value,
  c.unit,
  c.reason,
  c.next_step,
  c.evidence_rows
FROM gate_checks AS c
INNER JOIN decisions AS d
  ON d.run_date = c.run_date
  AND d.product = c.product
  AND d.suite = c.suite
  AND d.environment = c.environment
  AND d.candidate = c.candidate
  AND d.policy_hash = c.policy_hash
