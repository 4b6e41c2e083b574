# The command line as an image, for CI systems that run containers:
#
#     docker build --tag jobspec .
#     docker run --rm --volume "$PWD:/work" jobspec lint
#
# `BASE` names another base image, one with `python` 3.11 or newer and `pip`. Git is in it for `diff`, `--changed-since` and earlier runs.

ARG BASE=docker.io/library/python:3.12.14-slim-trixie@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
FROM ${BASE} AS build
ENV PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
RUN apt-get update && apt-get install --yes --no-install-recommends git
COPY pyproject.toml README.md LICENSE /source/
COPY jobspec /source/jobspec
COPY overlays /source/overlays
COPY schemas /source/schemas
RUN python -m venv /opt/jobspec \
 && /opt/jobspec/bin/pip install /source \
 && /opt/jobspec/bin/pip uninstall --yes pip

FROM ${BASE}
COPY --from=build /opt/jobspec /opt/jobspec
# The program alone: its package brings Perl, for commands that are not used here.
COPY --from=build /usr/bin/git /usr/bin/git
RUN useradd --uid 1000 --create-home jobspec \
 && printf '[safe]\n\tdirectory = *\n' > /etc/gitconfig # a checkout has another owner
ENV PATH=/opt/jobspec/bin:$PATH
USER 1000
WORKDIR /work
RUN jobspec --version && git --version
LABEL org.opencontainers.image.title="jobspec" \
      org.opencontainers.image.description="Check Kubernetes training jobs before they reach the cluster" \
      org.opencontainers.image.licenses="Apache-2.0"
ENTRYPOINT ["jobspec"]
