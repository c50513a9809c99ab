# One image for web, worker and migrations. docs/deployment.md and compose.yaml show how to run it. docs/deployment.md
# also explains how to update the digest of the base image.

FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea AS build
WORKDIR /app
COPY requirements/base.txt requirements/
RUN python -m venv --without-pip /opt/venv \
    && pip --python /opt/venv/bin/python install --no-cache-dir --disable-pip-version-check \
       --require-hashes --only-binary :all: -r requirements/base.txt
COPY . .
# settings.py creates keys and a database for the embedded default. They stay in this stage, so the image has no keys.
RUN STATE_DIR=/tmp/state /opt/venv/bin/python manage.py collectstatic --noinput \
    && python -m compileall -q .

FROM python:3.12-slim@sha256:78387bc3881b8273120a12ebe6c1ab22b018ccc2c9adf565ae1ac9b536e184ea
WORKDIR /app
ENV PATH=/opt/venv/bin:$PATH PYTHONUNBUFFERED=1 HOST=0.0.0.0 PORT=8000 STATE_DIR=/data
RUN useradd --uid 10001 --no-create-home chatbots && install -d -o chatbots -m 700 /data
COPY --from=build /opt/venv /opt/venv
COPY --from=build /app /app
USER 10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
    CMD ["python", "-c", "import http.client, os, sys; probe = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=4); probe.request('GET', '/healthz'); sys.exit(probe.getresponse().status != 200)"]
CMD ["python", "manage.py", "serve", "web"]
