"""The page: what the lake holds, for people, inside Airflow."""
