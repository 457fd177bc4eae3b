# Two commands: `make run` shows the launch for this machine, `make test` runs all tests. Both set up what they need.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
STAMP  := $(VENV)/.set-up
MINUTES ?= 5

.PHONY: setup run test test-fast test-all lint bench fuzz clean

setup: $(STAMP)

$(STAMP): pyproject.toml tools/setup_venv.sh
	sh tools/setup_venv.sh "$(PYTHON)" "$(VENV)"
	touch $(STAMP)

run: setup
	$(PY) launch.py resolve

test: setup lint
	$(PY) -m pytest tests
	$(PY) -m tests.golden --quiet

test-fast: setup
	$(PY) -m pytest tests -m "not slow"

test-all: setup lint
	HYPOTHESIS_PROFILE=all $(PY) -m pytest tests -m "slow or not slow"
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
