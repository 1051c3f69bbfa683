# The two commands of a fresh machine: `make sweep` and `make test`. Both set up .venv themselves.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: sweep test test-slow test-slurm test-browser lint clean

# The quick comparison: eight schemes on Austen, one seed, a table and figures at the end.
sweep: .venv/installed
	$(BIN)/posexp train -m experiment=quick

test: .venv/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python -m pytest -n auto

# Minutes long: every kill and resume, the n-gram figures of both corpora, the wheel elsewhere.
test-slow: .venv/installed-dev
	$(BIN)/python -m pytest -m slow

# A sweep on a real Slurm of one node, which is started for it: needs root, slurm-wlm and munge.
test-slurm: .venv/installed-dev
	@command -v slurmctld munged >/dev/null || { echo 'make test-slurm needs Debian packages: apt-get install slurm-wlm munge'; exit 1; }
	$(BIN)/python -m pytest -m slow tests/cluster

# The pages in a real browser without a window; `make test` skips these where there is none.
test-browser: .venv/installed-dev
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || { echo 'make test-browser needs the Debian package chromium: apt-get install chromium'; exit 1; }
	POSEXP_REQUIRE_BROWSER=1 $(BIN)/python -m pytest tests/browser

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "posexp needs Python 3.11 or newer: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

.venv/installed-dev: .venv/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@

clean:
	rm -rf .venv build dist .pytest_cache .ruff_cache
