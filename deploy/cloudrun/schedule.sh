#!/usr/bin/env bash
# The clock of the Cloud Run job: an account that may start this one job, and a schedule that does. May be run again.
set -euo pipefail

: "${PROJECT:?the Google Cloud project}"
: "${REGION:?where the job evalbench-nightly is}"

clock="evalbench-clock@${PROJECT}.iam.gserviceaccount.com"

gcloud iam service-accounts describe "${clock}" --project "${PROJECT}" >/dev/null 2>&1 ||
    gcloud iam service-accounts create evalbench-clock --project "${PROJECT}"
gcloud run jobs add-iam-policy-binding evalbench-nightly --project "${PROJECT}" --region "${REGION}" \
    --role roles/run.invoker --member "serviceAccount:${clock}"

verb=create
if gcloud scheduler jobs describe evalbench-nightly --project "${PROJECT}" --location "${REGION}" >/dev/null 2>&1; then
    verb=update
fi
gcloud scheduler jobs "${verb}" http evalbench-nightly --project "${PROJECT}" --location "${REGION}" \
    --schedule "0 2 * * *" --time-zone Etc/UTC --http-method POST --max-retry-attempts 0 \
    --uri "https://run.googleapis.com/v2/projects/${PROJECT}/locations/${REGION}/jobs/evalbench-nightly:run" \
    --oauth-service-account-email "${clock}"
