#!/usr/bin/env bash
# Who may do what, and nothing beyond it: the table in docs/deploy.md, Rights, as commands. May be run again.
# Needed: gcloud and bq, a bucket with uniform bucket-level access, and the right to grant rights in the project.
set -euo pipefail

: "${PROJECT:?the Google Cloud project}"
: "${LOCATION:?of the BigQuery dataset, such as EU: where the bucket is}"
: "${BUCKET:?the bucket of runs and lake, without gs://}"
: "${DATASET:=evalbench}"
: "${RUNS:=runs}"       # folders of the bucket
: "${LAKE:=lake}"
: "${LOGS:=}"           # airflow-logs: where Airflow keeps its own logs there, too
: "${SUMMARIES:=}"      # vertex: where Gemini is asked through Vertex AI
: "${BI:=}"             # group:name@example.com, or serviceAccount:… of a dashboard
: "${GKE_NAMESPACE:=}"  # airflow: where Airflow runs from deploy/helm

address() { # NAME
    echo "$1@${PROJECT}.iam.gserviceaccount.com"
}

account() { # NAME
    gcloud iam service-accounts describe "$(address "$1")" --project "${PROJECT}" >/dev/null 2>&1 ||
        gcloud iam service-accounts create "$1" --project "${PROJECT}"
}

on_folder() { # FOLDER ROLE MEMBER
    gcloud storage managed-folders describe "gs://${BUCKET}/$1/" >/dev/null 2>&1 ||
        gcloud storage managed-folders create "gs://${BUCKET}/$1/"
    gcloud storage managed-folders add-iam-policy-binding "gs://${BUCKET}/$1/" --role "$2" --member "$3"
}

on_dataset() { # ROLE MEMBER
    bq query --project_id="${PROJECT}" --location="${LOCATION}" --use_legacy_sql=false \
        "GRANT \`$1\` ON SCHEMA \`${PROJECT}\`.\`${DATASET}\` TO \"$2\""
}

on_project() { # ROLE MEMBER
    gcloud projects add-iam-policy-binding "${PROJECT}" --role "$1" --member "$2" --condition None
}

on_account() { # NAME KUBERNETES_SERVICE_ACCOUNT
    gcloud iam service-accounts add-iam-policy-binding "$(address "$1")" --project "${PROJECT}" \
        --role roles/iam.workloadIdentityUser \
        --member "serviceAccount:${PROJECT}.svc.id.goog[${GKE_NAMESPACE}/$2]"
}

pipeline="serviceAccount:$(address evalbench-pipeline)"

account evalbench-pipeline
on_folder "${RUNS}" roles/storage.objectViewer "${pipeline}"
on_folder "${LAKE}" roles/storage.objectUser "${pipeline}"
# The dataset is made here, so that the pipeline needs no right to make datasets.
bq show --project_id="${PROJECT}" --dataset "${PROJECT}:${DATASET}" >/dev/null 2>&1 ||
    bq mk --project_id="${PROJECT}" --location="${LOCATION}" --dataset "${PROJECT}:${DATASET}"
on_dataset roles/bigquery.dataEditor "${pipeline}"
on_project roles/bigquery.jobUser "${pipeline}"

if [[ "${SUMMARIES}" == vertex ]]; then
    on_project roles/aiplatform.user "${pipeline}"
fi

if [[ -n "${BI}" ]]; then
    on_dataset roles/bigquery.dataViewer "${BI}"
    on_project roles/bigquery.jobUser "${BI}"
fi

if [[ -n "${LOGS}" ]]; then
    account evalbench-ui
    on_folder "${LOGS}" roles/storage.objectUser "${pipeline}"
    on_folder "${LOGS}" roles/storage.objectViewer "serviceAccount:$(address evalbench-ui)"
fi

if [[ -n "${GKE_NAMESPACE}" ]]; then
    on_account evalbench-pipeline evalbench-worker
    if [[ -n "${LOGS}" ]]; then
        on_account evalbench-ui evalbench-airflow-api-server
    fi
fi
