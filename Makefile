# Two commands: `make run` sets up everything and serves a tiny model on the CPU, `make test` runs all tests.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.set-up
ENGINE := venv-cpu

.PHONY: setup engine run test test-fast test-all lint bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml tools/setup_venv.sh
	sh tools/setup_venv.sh "$(PYTHON)" "$(VENV)"
	touch $(STAMP)

# The CPU build of vLLM and a model for it. What is there already is left as it is.
engine: setup
	$(PY) -m tools.cpu_engine install --venv $(ENGINE)
	$(PY) -m tools.cpu_engine model --out models/cpu-tiny

run: engine
	$(PY) -m tools.first_run

test: setup lint engine
	$(PY) -m pytest tests
	$(PY) -m tests.golden --quiet

test-fast: setup
	$(PY) -m pytest tests -m "not slow and not engine"

test-all: setup lint engine
	HYPOTHESIS_PROFILE=all $(PY) -m pytest tests
	$(PY) -m tests.golden
	$(PY) -m tests.bench

lint: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy

bench: setup
	$(PY) -m tests.bench

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
