-- Where does a grader praise what the destination doesn't show?
-- Trials of quality 0.8 or more whose outcome is not verified, once per policy, under the decision of their own day.
SELECT
  run_date,
  product,
  suite,
  environment,
  candidate,
  policy_name,
  policy_hash,
  run_id,
  task_id,
  trial,
  quality,
  outcome,
  declared,
  status
FROM judged_trials
WHERE trial_date = run_date
  AND quality >= 0.8
  AND outcome <> 'verified'
  AND NOT waiting
