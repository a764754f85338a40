# evalbench on the official Airflow image: Airflow's services, and `evalbench run` without Airflow. See docs/deploy.md.
# The lock, not Airflow's constraint file, decides every version: pip replaces what the base image brought where the two
# differ, so that a container holds what the tests ran against.

# A tag can be moved. For the image behind it, name the digest (docker buildx imagetools inspect, with this tag) and build
# with --build-arg AIRFLOW_IMAGE=apache/airflow@sha256:…
ARG AIRFLOW_IMAGE=apache/airflow:slim-3.3.2-python3.11

FROM ${AIRFLOW_IMAGE} AS wheel
COPY --chown=50000:0 requirements-build.lock /tmp/source/
RUN python -m venv /tmp/tools \
    && /tmp/tools/bin/pip install --no-cache-dir --no-deps --only-binary :all: --require-hashes \
        --requirement /tmp/source/requirements-build.lock
COPY --chown=50000:0 pyproject.toml README.md /tmp/source/
COPY --chown=50000:0 plugins /tmp/source/plugins
COPY --chown=50000:0 include /tmp/source/include
RUN /tmp/tools/bin/pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /tmp/dist /tmp/source

FROM ${AIRFLOW_IMAGE}
USER 50000
COPY --chown=50000:0 requirements-image.lock /tmp/requirements-image.lock
# --no-deps: the lock is whole, and leaves out what Airflow's Google provider asks for and nothing here imports.
# --only-binary: nothing is compiled, and no package's own code runs while it is installed.
# umask: the group of this user, 0, may do what the user may, as everywhere in the base image.
RUN umask 0002 && pip install --no-cache-dir --no-deps --only-binary :all: --require-hashes \
        --requirement /tmp/requirements-image.lock
COPY --from=wheel --chown=50000:0 /tmp/dist /tmp/dist
RUN umask 0002 && pip install --no-cache-dir --no-deps /tmp/dist/*.whl \
    && mkdir -p /opt/airflow/lake /opt/airflow/runs
COPY --chown=50000:0 dags /opt/airflow/dags
COPY --chown=50000:0 include /opt/airflow/include
ENV AIRFLOW__CORE__LOAD_EXAMPLES=False

# The base image's labels are inherited, and would speak of Airflow in this image's name.
ARG AIRFLOW_IMAGE
ARG VERSION=""
ARG REVISION=""
LABEL org.opencontainers.image.title="evalbench" \
      org.opencontainers.image.description="Nightly agent evaluation runs in; release decisions and trend tables out" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${AIRFLOW_IMAGE}" \
      org.opencontainers.image.authors="" \
      org.opencontainers.image.created="" \
      org.opencontainers.image.documentation="" \
      org.opencontainers.image.licenses="" \
      org.opencontainers.image.ref.name="" \
      org.opencontainers.image.source="" \
      org.opencontainers.image.url="" \
      org.opencontainers.image.vendor=""
