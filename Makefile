# Two commands: `make run` sets up everything and serves a tiny model on the CPU, `make test` runs all tests.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.set-up
ENGINE := venv-cpu

.PHONY: setup engine run test test-fast fuzz test-all lint browser plotting reference bench kernels-test clean

setup: $(STAMP)

$(STAMP): pyproject.toml tools/setup_venv.sh
	sh tools/setup_venv.sh "$(PYTHON)" "$(VENV)"
	touch $(STAMP)

# The CPU build of vLLM and a model for it; the link lets tests ask its own parser and configuration. What is there stays.
engine: setup
	$(PY) -m tools.cpu_engine install --venv $(ENGINE)
	$(PY) -m tools.cpu_engine model --out models/cpu-tiny
	mkdir -p $(ENGINE)/src
	ln -sfn ../$$(cd $(ENGINE) && ls -d lib/python3*/site-packages) $(ENGINE)/src/0.31.0

run: engine
	$(PY) -m tools.first_run

test: setup lint engine kernels-test browser plotting
	PARSER_VENV=$(ENGINE) CPU_ENGINE_VENV=$(ENGINE) $(PY) -m pytest tests -m "not slow or engine"
	$(PY) -m tests.golden --quiet

test-fast: setup
	$(PY) -m pytest tests -m "not slow and not engine"

# The laws on made-up requests, for MINUTES (docs/fuzzing.md).
MINUTES ?= 5
fuzz: setup
	$(PY) -m tests.matrix.fuzz $(MINUTES)

test-all: setup lint engine browser plotting
	PARSER_VENV=$(ENGINE) CPU_ENGINE_VENV=$(ENGINE) HYPOTHESIS_PROFILE=all $(PY) -m pytest tests --timeout 3600
	$(PY) -m tests.golden
	$(PY) -m tests.bench

lint: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

# The kernels' own tests, in an environment of their own (torch and triton).
kernels-test:
	[ -x .venv-kernels/bin/pytest ] || bash tools/setup_kernels_venv.sh
	.venv-kernels/bin/python -m pytest kernels

# The driver of the browser tests, where there is a Chromium.
browser: setup
	sh tools/setup_browser.sh $(VENV)

# matplotlib, for the tests of `figures --plot`.
plotting: setup
	@$(PY) -c 'import matplotlib' 2>/dev/null || $(PY) -m pip install --quiet --disable-pip-version-check 'matplotlib>=3.9' || \
	  echo "plotting: matplotlib cannot be installed, so figures --plot is not tested" >&2

# The pages and tables that are made from data, and the output that README shows.
reference: setup
	$(PY) -m resolver.views.reference
	$(PY) -m tests.docs.run

bench: setup
	$(PY) -m tests.bench

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
