# Needs make and a Python >= 3.11 with the venv module; everything else is installed into .venv.
#   make demo          compile and simulate the bundled models, checked against references
#   make test          format, lint, types, import rules, test suites (what CI runs)
#   make test-fast     the tests most likely to fail, in a minute
#   make test-browser  the explorer in a headless Chromium, with a picture of each view in build/explorer
#   make test-nightly  long property tests and tests marked `nightly`
#   make test-peers    the front ends against PyTorch, JAX and Paddle, which an environment of its own gets
#   make fuzz          a million mutated program texts and 20,000 mutated folders
#   make fuzz-passes   every pass, the pipelines and the compiler, ten minutes each; goes on where it was stopped
#   make bench         benchmarks
#   make lint | format | docs | notebooks | clean

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp
BENCH_STAMP := $(VENV)/.stamp-bench
DOCS_STAMP := $(VENV)/.stamp-docs
WORKERS ?= 2
PYTEST_ARGS ?=
FUZZ_SEED ?= 0

# One BLAS thread per test worker: two workers on two cores.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1

.PHONY: help
help:
	@sed -n 's/^#   //p' Makefile

# The first interpreter that runs, is new enough and can make a virtual environment (PYTHON=... chooses one).
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3 /usr/bin/python3.11; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v "$$p"; break; }; done)

$(STAMP): pyproject.toml constraints.txt
	@if [ -z "$(PYTHON)" ]; then \
		echo "error: no Python >= 3.11 with the venv module on PATH; install one (Debian: apt install python3.11-venv)" \
		     "or name it: make PYTHON=/path/to/python3.11 ..." >&2; exit 1; fi
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,viz]'
	@touch $@

$(BENCH_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,viz,bench]'
	@touch $@

$(DOCS_STAMP): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,viz,docs]'
	@touch $@

.PHONY: setup
setup: $(STAMP)

# Each bundled model in two formats: compiled, simulated, compared with the interpreter and with PyTorch's answers.
DEMO_RUNS := resnet18/fp32 resnet18/bf16 gpt2/fp32 gpt2/bf16

.PHONY: demo
demo: $(STAMP)
	@for run in $(DEMO_RUNS); do \
		model=tests/data/models/$${run%/*}; \
		echo "$$ tx8ir run $$model/model.onnx --inputs $$model/data.npz --dtype $${run#*/} --check"; \
		$(BIN)/tx8ir run $$model/model.onnx --inputs $$model/data.npz --dtype $${run#*/} --check; \
	done
	@echo "demo: $(words $(DEMO_RUNS)) runs, every output within its bound"

.PHONY: lint
lint: $(STAMP)
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/lint-imports
	$(BIN)/pyright

.PHONY: format
format: $(STAMP)
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

.PHONY: test
test: lint
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --hypothesis-profile=ci --suite-times $(PYTEST_ARGS)

# The graph, what runs on it and what becomes of it: what a change breaks first. The rest is the chip and the tools.
FAST := core dialects interpreter analysis rewriting passes transforms backend/lowering integration/test_single_ops.py

.PHONY: test-fast
test-fast: $(STAMP)
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --hypothesis-profile=fast \
		-m "not nightly and not slow" $(addprefix tests/,$(FAST)) $(PYTEST_ARGS)

# Says what is missing where there is no Chromium (Debian: apt-get install chromium chromium-driver).
.PHONY: test-browser
test-browser: $(STAMP)
	$(TEST_ENV) $(BIN)/python -m pytest tests/browser -m browser $(PYTEST_ARGS)

.PHONY: test-nightly
test-nightly: $(STAMP)
	$(TEST_ENV) $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --hypothesis-profile=nightly -m "not browser" \
		-o timeout=7200 $(PYTEST_ARGS)

# PyTorch and JAX are large: they are installed into an environment that nothing else uses. SAMPLES=1 writes the samples of
# `make test` anew.
PEERS := .venv-peers
PEERS_STAMP := $(PEERS)/.stamp

$(PEERS_STAMP): pyproject.toml
	@test -x $(PEERS)/bin/python || "$(PYTHON)" -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[onnx,test,torch]' expecttest jax paddlepaddle
	@touch $@

.PHONY: test-peers
test-peers: $(PEERS_STAMP)
	$(if $(SAMPLES),$(PEERS)/bin/python tests/frontends/torch/make_samples.py)
	$(if $(SAMPLES),$(PEERS)/bin/python tests/frontends/stablehlo/make_samples.py)
	$(if $(SAMPLES),$(PEERS)/bin/python tests/frontends/paddle/make_samples.py)
	PYTHONPATH=tests/frontends/torch $(TEST_ENV) $(PEERS)/bin/python -m pytest tests/frontends/torch/with_pytorch.py $(PYTEST_ARGS)
	PYTHONPATH=tests/frontends/stablehlo $(TEST_ENV) $(PEERS)/bin/python -m pytest tests/frontends/stablehlo/with_jax.py $(PYTEST_ARGS)
	$(TEST_ENV) $(PEERS)/bin/python -m pytest tests/frontends/paddle/with_paddle.py $(PYTEST_ARGS)

.PHONY: fuzz
fuzz: $(STAMP)
	PYTHONPATH=tests $(TEST_ENV) $(BIN)/python -m support.campaign texts --count 1000000 --seed $(FUZZ_SEED)
	PYTHONPATH=tests $(TEST_ENV) $(BIN)/python -m support.campaign folders --count 20000 --seed $(FUZZ_SEED)

# Each benchmark is a target of its own and runs when its file exists.
BENCHMARKS := $(patsubst benchmarks/bench_%.py,bench-%,$(sort $(wildcard benchmarks/bench_*.py)))

.PHONY: bench $(BENCHMARKS)
bench: $(BENCHMARKS)
	@if [ -z "$(BENCHMARKS)" ]; then echo "no benchmarks/bench_*.py"; fi

$(BENCHMARKS): bench-%: $(BENCH_STAMP)
	$(BIN)/python benchmarks/bench_$*.py

# Goes on where the last run with these seconds and this seed stopped; the log is build/shipped.jsonl.
FUZZ_SECONDS ?= 600

.PHONY: fuzz-passes
fuzz-passes: $(STAMP)
	PYTHONPATH=tests $(TEST_ENV) $(BIN)/python -W ignore -m support.shipped --seconds $(FUZZ_SECONDS) --seed $(FUZZ_SEED)

.PHONY: docs
docs: $(DOCS_STAMP)
	$(BIN)/python docs/build.py

# Executes the notebooks of examples/notebooks and writes into them what their cells show.
.PHONY: notebooks
notebooks: $(STAMP)
	$(TEST_ENV) $(BIN)/python docs/notebooks.py

.PHONY: clean
clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
