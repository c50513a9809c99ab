# All tasks for developers and CI. They need only make, and Python 3.11 or newer with venv.

PY := .venv/bin/python
OURS := config accounts chatbots webhooks conversations
MADE := .venv build staticfiles .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# The first suitable interpreter creates the environment. Each is tested by running it, because a command on the PATH
# may be a shim with no interpreter behind it. The environment's own Python comes first, because the environment usually
# exists.
CANDIDATES = $(or $(PYTHON),$(wildcard $(PY)) python3.13 python3.12 python3.11 python3)

# Packages are installed uncompiled, which saves seconds and space. Each module is compiled once, when first imported.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-all bench soak check openapi conformance requirements clean base dev

run: base
	@exec $(PY) manage.py serve

# The fast suite: in process and through HTTP, on the embedded default, or on the servers that TEST_DATABASE_URL and
# TEST_REDIS_URL name. ARGS passes arguments to pytest. Uses one more process than there are cores, at most eight, each
# with its own stand-in servers and database.
PYTEST := $(PY) -m pytest -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder
test: dev
	@exec $(PYTEST) -m "not slow and not processes" $(ARGS)

# The whole suite: also processes, faults, browsers, samples in other languages and generated clients. Groups that need a
# tool that is not on this machine are left out and named in the last lines. ALL_LOOKS=1 ARGS=tests/browser inspects
# every page of the admin at phone and desktop width, in light and dark mode, as each role.
test-all: dev
	@exec $(PYTEST) -m "" $(ARGS)

# Measures the figures in docs/benchmarks.md, on the embedded default or on the servers that TEST_DATABASE_URL and
# TEST_REDIS_URL name.
bench: dev
	@exec $(PY) -m tests.tools.bench $(ARGS)

# Tests webhook delivery under faults of every kind, on both kinds of installation; takes several minutes. ARGS=replies
# tests the replies to visitors instead. See docs/delivery.md.
soak: dev
	@exec $(PY) -m tests.tools.soak $(ARGS)

# The checks run on their own embedded default, whatever the environment or .env contains.
ALONE := env STATE_DIR=build/check DATABASE_URL= REDIS_URL= SECRET_KEY= ENCRYPTION_KEYS= PUBLIC_URL=http://127.0.0.1:8000 \
	WEBHOOK_TIMEOUT=10 WEBHOOK_RETRY_DELAYS=1,5,25
DOCUMENT := $(ALONE) $(PY) manage.py spectacular --file build/openapi.json --format openapi-json --validate --fail-on-warn

check: dev
	@rm -rf build/check
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(ALONE) $(PY) -m mypy $(OURS) tests
	.venv/bin/lint-imports --no-logo
	$(ALONE) $(PY) manage.py check
	$(ALONE) $(PY) manage.py makemigrations --check --dry-run
	$(DOCUMENT)
	@cmp -s build/openapi.json openapi.json || { echo "openapi.json is out of date: make openapi" >&2; exit 1; }
	$(PY) -m tests.conformance --check

# Writes docs/conformance.md, which lists the tests that prove each rule of the specification.
conformance: dev
	$(PY) -m tests.conformance

openapi: dev
	$(DOCUMENT)
	cp build/openapi.json openapi.json

# Recompiles the lock files. Keeps pinned versions that pyproject.toml still allows. To upgrade to the newest versions
# instead, run `make requirements ARGS=--upgrade`.
UV = $(or $(wildcard .venv/bin/uv),build/uv/bin/uv)
COMPILE = $(UV) pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes --no-emit-index-url -q --no-header
requirements: dev
	@test -x $(UV) || $(PY) -m pip install -q --disable-pip-version-check --target build/uv uv
	$(COMPILE) $(ARGS) -o requirements/base.txt
	$(COMPILE) $(ARGS) --group dev -o requirements/dev.txt

# Never deletes the state: if STATE_DIR is inside a folder that would be deleted, nothing is deleted. .env is
# read with python-dotenv, as the service reads it.
STATE := from dotenv import load_dotenv; import os; load_dotenv(".env"); print(os.environ.get("STATE_DIR", ""))
clean:
	@state=$$STATE_DIR; \
	if [ -z "$$state" ] && grep -qs STATE_DIR .env; then \
		state=$$($(PY) -c '$(STATE)') || { echo "make clean: cannot read STATE_DIR from .env; run make base first" >&2; exit 1; }; \
	fi; \
	state=$$(cd "$${state:-var}" 2>/dev/null && pwd -P); \
	for path in $(MADE); do \
		case "$$state/" in "$$(pwd -P)/$$path/"*) echo "make clean: STATE_DIR is in $$path; move it first" >&2; exit 1 ;; esac; \
	done
	rm -rf $(MADE)
	find $(OURS) requirements tests -name __pycache__ -prune -exec rm -rf {} +

base dev:
	@for python in $(CANDIDATES); do \
		problem=$$("$$python" requirements/install.py 2>/dev/null); \
		case $$? in \
			0) exec "$$python" requirements/install.py $@ ;; \
			3) ;; \
			*) problem="not found, or does not start" ;; \
		esac; \
		seen="$$seen  $$python: $$problem\n"; \
	done; \
	printf "Python 3.11 or newer is needed, with its modules venv, ensurepip, ssl and sqlite3. Tried:\n%b" "$$seen" >&2; \
	echo "Debian and Ubuntu: apt-get install python3 python3-venv. Elsewhere: make $(MAKECMDGOALS) PYTHON=/path/to/python3" >&2; \
	exit 1
