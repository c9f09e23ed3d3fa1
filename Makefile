# make demo      train a classifier on handwritten digits, with a gradient that you can read
# make test      the tests (make test-all: on each Python from 3.11 to 3.13 that is here)
# make lint      ruff and mypy; make format lets ruff rewrite
# make bench     compile time, dispatch and speed
# make lock      renew requirements.lock; make clean removes what these made
#
# The first of them makes the virtual environment $(VENV), and a change of what it is made of renews it.
# PYTHON=/path/to/python chooses the interpreter. Tools run as `python -m tool`: the first line of a script that pip
# installs holds the path of the interpreter, which may be too long or have spaces.

VENV ?= .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/made
VERSIONS := 3.11 3.12 3.13

export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: help demo test test-all lint format bench lock clean

help:
	@sed -n '1,/^$$/s/^# \{0,1\}//p' Makefile

demo: $(STAMP)
	$(PY) examples/digits.py

test: $(STAMP)
	$(PY) -m pytest

test-all:
	@found=""; absent=""; \
	for version in $(VERSIONS); do \
	    if python=$$(sh .ci/find-python $$version); then \
	        found="$$found $$version"; \
	        echo "== Python $$version"; \
	        $(MAKE) --no-print-directory test VENV=".venv-$$version" PYTHON="$$python" || exit 1; \
	    else \
	        absent="$$absent $$version"; \
	    fi; \
	done; \
	if [ -n "$$absent" ]; then echo "Not tested, since they are not here: Python$$absent."; fi; \
	if [ -z "$$found" ]; then echo "None of the versions $(VERSIONS) of Python is here."; exit 1; fi; \
	echo "Tested on Python$$found."

lint: $(STAMP)
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	$(PY) -m mypy

format: $(STAMP)
	$(PY) -m ruff check --fix
	$(PY) -m ruff format

bench: $(STAMP)
	$(PY) benchmarks/run.py

# The stamp is written last, so that an installation that was interrupted is made again.
$(STAMP): requirements.lock pyproject.toml
	@python="$${PYTHON:-$$(sh .ci/find-python)}"; \
	if ! "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then \
	    echo "srcdiff needs Python 3.11 or newer with its venv module (on Debian: python3-venv)." >&2; \
	    echo "Found: $${python:-none}. Name another: make PYTHON=/path/to/python ..." >&2; \
	    exit 1; \
	fi; \
	"$$python" -m venv --clear "$(VENV)"
	$(PY) -m pip install --quiet --no-deps --requirement requirements.lock
	$(PY) -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $(STAMP)

# Made with the oldest Python, whose newest versions fit the others too.
lock:
	@python=$$(sh .ci/find-python 3.11) || { echo "make lock needs Python 3.11." >&2; exit 1; }; \
	"$$python" -m venv --clear .venv-lock
	.venv-lock/bin/python -m pip install --quiet --upgrade pip
	.venv-lock/bin/python -m pip install --quiet --group dev editables astor numpy sympy
	@{ sed -n '/^#/p' requirements.lock; .venv-lock/bin/python -m pip freeze; } > requirements.lock.new
	@mv requirements.lock.new requirements.lock
	@rm -rf .venv-lock

clean:
	rm -rf .venv .venv-* build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks examples/*.png
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
