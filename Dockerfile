# One image for web, worker and migrations; compose.yaml and docs/deployment.md show how to run it.

FROM python:3.12-slim AS build
WORKDIR /app
COPY requirements/base.txt requirements/
RUN python -m venv --without-pip /opt/venv \
    && pip --python /opt/venv/bin/python install --no-cache-dir --disable-pip-version-check \
       --require-hashes --only-binary :all: -r requirements/base.txt
COPY . .
# The state that settings.py makes for the embedded default stays behind in this stage: no key of it is in the image.
RUN STATE_DIR=/tmp/state /opt/venv/bin/python manage.py collectstatic --noinput \
    && python -m compileall -q .

FROM python:3.12-slim
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
