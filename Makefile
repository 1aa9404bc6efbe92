# make demo, make test, make lint: each makes .venv and installs what it needs first; a second run does not.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --constraint constraints.txt --editable
RUN_STAMP := $(VENV)/.installed
TEST_STAMP := $(VENV)/.installed-test
BENCH_STAMP := $(VENV)/.installed-bench
INPUTS := pyproject.toml setup.py constraints.txt

# Public test data beside the checkout, where there is some. What is missing of it is fetched, or its tests skip.
ifndef CONSTRAINED_DATA
ifneq ($(wildcard ../shared/data),)
export CONSTRAINED_DATA := $(abspath ../shared/data)
endif
endif

.PHONY: help env demo test lint fuzz bench clean
.DELETE_ON_ERROR:

help:
	@echo "make demo    extract JSON from the documents in examples/ with the small embedded model"
	@echo "make env     make .venv with everything that developing needs"
	@echo "make test    run every test, those of the kernels first as checked Python"
	@echo "make lint    ruff, mypy, and the layers of imports"
	@echo "make fuzz    the property tests and a million tokens of walks, for long"
	@echo "make bench   the benchmarks"
	@echo "make clean   remove everything that was built, .venv included (downloaded models are kept)"

$(BIN)/python:
	@echo "making $(VENV)" >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or later is needed: make PYTHON=/path/to/python")'
	@$(PYTHON) -m venv $(VENV)

$(RUN_STAMP): $(INPUTS) | $(BIN)/python
	@echo "installing (about 1 GB with torch, once)" >&2
	@$(INSTALL) .
	@touch $@

$(TEST_STAMP): $(INPUTS) | $(BIN)/python
	@echo "installing with the test tools (about 1 GB with torch, once)" >&2
	@$(INSTALL) '.[test]'
	@touch $(RUN_STAMP) $@

$(BENCH_STAMP): $(INPUTS) | $(BIN)/python
	@echo "installing with the engines to compare with" >&2
	@$(INSTALL) '.[test,peers]'
	@touch $(RUN_STAMP) $(TEST_STAMP) $@

env: $(TEST_STAMP)

demo: $(RUN_STAMP)
	@set -e; for name in invoice email job_advertisement; do \
	    echo "constrained extract examples/$$name.txt --schema examples/$$name.schema.json" >&2; \
	    $(BIN)/constrained extract examples/$$name.txt --schema examples/$$name.schema.json; \
	done

test: $(TEST_STAMP)
	@$(BIN)/python -m tests.official_suite || echo "tests with the official suite are skipped" >&2
	@CONSTRAINED_CHECKED=1 $(BIN)/python -m pytest -q tests/grammars/automaton tests/grammars/masks tests/constrained/model/cpu/test_checked.py
	@$(BIN)/python -m pytest

lint: $(TEST_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

fuzz: $(TEST_STAMP)
	CONSTRAINED_HYPOTHESIS_PROFILE=fuzz CONSTRAINED_EXAMPLES=3000 $(BIN)/python -m pytest -m 'not real_model'
	$(BIN)/python -m benchmarks.walk_campaign --tokens 1000000

bench: $(BENCH_STAMP)
	$(BIN)/python -m benchmarks.quality
	$(BIN)/python -m benchmarks.decode
	$(BIN)/python -m benchmarks.masks

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find constrained grammars cli tests benchmarks -name __pycache__ -prune -exec rm -rf {} +
