-- Which trials did a decision pool, and on which terms of its policy?
-- One row per decision and trial of the runs in its window; planned trials without a record have recorded = FALSE.
-- run_date is the date decided, trial_date the run's own.
SELECT
  d.run_date,
  d.product,
  d.suite,
  d.environment,
  d.candidate,
  d.policy_hash,
  d.policy_name,
  d.as_of,
  p.finished_conversation AS policy_finished_conversation,
  p.cost_basis AS policy_cost_basis,
  p.graders_named AS policy_graders_named,
  p.tolerate_read_only_tools AS policy_tolerate_read_only_tools,
  t.run_date AS trial_date,
  t.run_id,
  t.task_id,
  t.trial,
  t.recorded
FROM decisions AS d
INNER JOIN policies AS p
  ON p.run_date = d.run_date
  AND p.policy_hash = d.policy_hash
INNER JOIN trials AS t
  ON t.product = d.product
  AND t.suite = d.suite
  AND t.environment = d.environment
  AND t.candidate = d.candidate
  AND t.run_date BETWEEN d.window_from AND d.run_date
  AND t.dataset_version IS NOT DISTINCT FROM d.dataset_version
