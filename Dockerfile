# evalbench on the official Airflow image. The lock, not Airflow's constraint file, decides every version: pip replaces
# what the image brought where the two differ, so the container holds what the tests ran against.
ARG AIRFLOW_IMAGE=apache/airflow:slim-3.3.2-python3.11

FROM ${AIRFLOW_IMAGE} AS wheel
WORKDIR /tmp/evalbench
COPY --chown=airflow:0 requirements-build.lock ./
RUN python -m venv /tmp/build && /tmp/build/bin/pip install --no-cache-dir --require-hashes -r requirements-build.lock
COPY --chown=airflow:0 pyproject.toml README.md CHANGELOG.md ./
COPY --chown=airflow:0 plugins plugins
COPY --chown=airflow:0 include include
RUN /tmp/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /tmp/dist .

FROM ${AIRFLOW_IMAGE}
COPY requirements.lock /tmp/requirements.lock
RUN pip install --no-cache-dir --require-hashes -r /tmp/requirements.lock
COPY --from=wheel /tmp/dist /tmp/dist
RUN pip install --no-cache-dir --no-deps /tmp/dist/evalbench-*.whl
COPY --chown=airflow:0 dags /opt/airflow/dags
COPY --chown=airflow:0 include /opt/airflow/include
ENV AIRFLOW__CORE__LOAD_EXAMPLES=False
USER airflow
