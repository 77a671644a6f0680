# Two commands from nothing: `make demo` shows Headcount at work, `make test` checks everything.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo docs test test-kernels test-matrix release-check soak check check-page install install-dev install-docs chromium page clean

demo: install
	$(BIN)/headcount demo --out demo-out

test: install-dev chromium check
	$(BIN)/pytest

# The documentation as a site in site/, without a network; a broken link is an error.
docs: install-docs
	$(BIN)/python -m docs_site.build

# The promises on other kernels than this CPU's own, and on two threads; `TESTS=tests` runs everything that way.
TESTS ?= tests/contracts
test-kernels: install-dev
	@set -e; for setting in \
	  "OMP_NUM_THREADS=1" \
	  "OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive" \
	  "ATEN_CPU_CAPABILITY=default OMP_NUM_THREADS=1" \
	  "ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive"; \
	do echo "== $(TESTS) with $$setting"; env $$setting $(BIN)/pytest -q $(TESTS); done

# The contract tests with the oldest and the newest supported torch and transformers, each pair in an environment of its own in .matrix;
# `MATRIX="--tests tests/models"` gives other tests (`python -m tests.release.matrix --help`).
MATRIX ?=
test-matrix: install-dev
	$(BIN)/python -m tests.release.matrix $(MATRIX)

# Wheel and sdist, and the wheel in an empty environment of every interpreter that is here, without a network.
RELEASE ?=
release-check: install-dev
	$(BIN)/python -m tests.release.check $(RELEASE)

# Kills, damaged studies and two writers, by the hundred (about a quarter of an hour): `make soak KILLS=50` is a short one.
KILLS ?= 1000
DAMAGES ?= 300
WRITERS ?= 50
SEED ?= 0
REPEAT ?=
soak: install-dev
	$(BIN)/python -m tests.soak --kills $(KILLS) --damages $(DAMAGES) --writers $(WRITERS) --seed $(SEED) \
	  --repeat "$(REPEAT)"

check: install-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@$(MAKE) --no-print-directory check-page

# The page's script: formatter, linter and unit tests. Without node, or without its packages and a network, it is skipped.
PAGE := src/headcount/reporting/page
check-page:
	@command -v npm >/dev/null || { echo "no node here: the script of the page is not checked"; exit 0; }; \
	cd $(PAGE); test -x node_modules/.bin/biome || \
	  npm install --no-save --ignore-scripts --no-audit --no-fund --fetch-retries=0 --fetch-timeout=20000 >/dev/null 2>&1 || \
	  { echo "no packages for node here: the script of the page is not checked"; exit 0; }; \
	npm run --silent check && npm run --silent test

install: .venv/installed
install-dev: .venv/installed-dev
install-docs: .venv/installed-docs

.venv/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt torch
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $@

.venv/installed-docs: .venv/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[docs]"
	touch $@

# The tests of the page drive a real Chromium; where Debian's packages cannot be had, they are skipped.
chromium:
	@command -v chromium >/dev/null || { command -v apt-get >/dev/null && \
	  apt-get update -qq >/dev/null 2>&1 && apt-get install -y -qq chromium >/dev/null 2>&1; } || \
	  echo "no chromium here: the tests of the page will be skipped"

# The script of the page, after a change of its sources (needs node): built/page.js is part of the repository.
page:
	cd $(PAGE) && npm install --no-save --ignore-scripts && npm run build

clean:
	rm -rf .venv .matrix site demo-out demo-out-small demo-out.html build dist .mypy_cache .ruff_cache .pytest_cache
