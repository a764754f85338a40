-- Which entries of the runs root are in no number, and why?
-- One row per execution of the pipeline (plan_id) and entry that it did not score, on the UTC date on which it ran: runs
-- quarantined, still in progress, voided by the operator or deleted, and entries that are no run.
SELECT
  run_date,
  plan_id,
  path,
  state,
  reason,
  detail,
  run_id,
  product,
  suite,
  environment,
  candidate
FROM run_states
WHERE state <> 'scored'
