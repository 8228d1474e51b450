# Each target sets up what it needs: system packages (as root), .venv, configuration. The targets of this file
# are for users and for every change; tools/maintenance.mk has the others.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The steps of a target are in order; what is parallel is inside them.
.NOTPARALLEL:

PYTHON ?= python3
# The flavour of TensorFlow to build and test with: that of .venv, or the newest for a new .venv.
TENSORFLOW ?= $(or $(VENV_HAS),$(shell . tools/common.sh && tensorflow_requirement))
JOBS ?= 2
# Which Python tests `make test` runs: usual, all, or landing (tests/support/selection.py).
TESTS ?= usual
# More arguments for pytest: make test PYTEST_ARGS="-k dropout"
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=

VENV := .venv
VENV_HAS = $(shell cat $(VENV)/.ready 2>/dev/null)
PY := $(VENV)/bin/python
# The packages for building, and those for testing. See tools/setup_venv.sh.
READY := $(VENV)/.ready
TESTED := $(VENV)/.tests
INSTALLED := $(VENV)/.installed
WHEEL := dist/.ready
CONFIG := .tf_configure.bazelrc
BAZEL := tools/bazelisk.sh
CC_FILES = $(shell git ls-files '*.c' '*.cc' '*.h')

.PHONY: help wheel demo bench check test test-all lint format develop cc-test python-test executed clean preflight FORCE

help:
	@echo "For users"
	@echo "  make wheel     the wheel for the TensorFlow at hand, in dist/"
	@echo "  make demo      train a classifier on real data, on our ops and on Keras's layers"
	@echo "  make bench     the benchmarks next to other libraries"
	@echo "For every change"
	@echo "  make check     lint, C++ tests of the core, one test of each feature; TEST=path: that test"
	@echo "  make test      C++ tests, the wheel, the Python tests on the wheel and on a mock GPU"
	@echo "  make test-all  the same with every test, and the kernels of aarch64"
	@echo "  make cc-test   the C++ tests alone"
	@echo "  make develop   the shared objects next to the Python files, for PYTHONPATH=."
	@echo "  make format    ruff and clang-format;  make lint: ruff, mypy, clang-format, textlint, changing nothing"
	@echo "  make clean     remove what was built (not .venv)"
	@echo "What to run for which change, and how long it takes: tests/README.md"
	@echo "Random cases, coverage, mutants, other machines and versions: tools/maintenance.mk and docs/building.md"

# What this machine lacks, before minutes have passed; installed where that is possible.
preflight:
	tools/preflight.sh --install $(PREFLIGHT) --python "$(PYTHON)" $(READY)=2 $(TESTS_DISK) $(DOWNLOADS)
lint format wheel-any lock: PREFLIGHT := --no-compiler
$(TESTED): TESTS_DISK := $(TESTED)=2

# A target that needs both names $(TESTED) first, which installs both at once.
$(READY): tools/setup_venv.sh tools/install_locked.py tools/requirements/build.txt | preflight
	tools/setup_venv.sh "$(PYTHON)" "$(VENV)" "$(TENSORFLOW)" build

$(TESTED): tools/setup_venv.sh tools/install_locked.py tools/requirements/test.txt | preflight
	tools/setup_venv.sh "$(PYTHON)" "$(VENV)" "$(TENSORFLOW)" test

# A TENSORFLOW from the command line or the environment replaces another one in .venv.
ifneq ($(origin TENSORFLOW),file)
ifneq ($(TENSORFLOW),$(VENV_HAS))
.PHONY: $(READY) $(TESTED)
endif
endif

$(CONFIG): configure.sh tools/tf_info.py tools/common.sh $(READY)
	tools/preflight.sh --install
	$(PY) tools/fetch_tensorflow.py --for-kernels
	./configure.sh --python $(PY)

# Changes only when a file does that the wheel is made of.
build/wheel_inputs.txt: FORCE
	@mkdir -p build
	@find BUILD WORKSPACE .bazelrc README.md NOTICE LICENSE LICENSES MANIFEST.in setup.py pyproject.toml pip_pkg.sh \
	  cc build_defs third_party tf_rnn_ops tools -type f ! -name '*.pyc' ! -path 'tf_rnn_ops/*.so' ! -path 'tf_rnn_ops/include/*' \
	  -exec sha256sum {} + | sort -k 2 >$@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

# The libraries also go into the source tree, which a Python that runs in this folder imports.
$(WHEEL): $(CONFIG) build/wheel_inputs.txt
	./pip_pkg.sh
	tools/build_native.sh tf_rnn_ops
	touch $@

$(INSTALLED): $(WHEEL)
	$(PY) -m pip install --quiet --no-deps --force-reinstall dist/*.whl
	touch $@

wheel: $(WHEEL)
	@echo "Now install it in the environment that you work in: pip install '$$(ls dist/*.whl)[cpu]', or [gpu]"

develop: $(CONFIG)
	tools/build_native.sh tf_rnn_ops

cc-test: $(CONFIG)
	tools/need_gtest.sh
	$(BAZEL) test //tests/cc/... $(BESIDE_TESTS)

# From build/, so that the package under test is the installed wheel and not the source tree. One
# worker more than CPUs: a test also waits for files and for processes that it starts. Few tests at a time:
# otherwise the first worker gets a twelfth of them at once, which are the longest ones. Not --dist loadfile:
# with it, pytest-xdist starts a test that ends its worker again and again.
PYTEST = cd build && ../$(PY) -m pytest -n $$(($(JOBS) + 1)) --maxschedchunk 8 -p no:cacheprovider

python-test: $(TESTED) $(INSTALLED)
	$(PYTEST) --tests=$(TESTS) ../tests $(PYTEST_ARGS)

# The kernels that the C++ tests executed.
executed:
	$(PY) tools/executed.py bazel-testlogs/tests/cc/cpu

test test-gpu-mock: DOWNLOADS = $(shell . tools/common.sh && cache_folder)/tensorflow-gpu=2
# One call of Bazel compiles the wheel's libraries and runs the C++ tests.
test: BESIDE_TESTS := //:op_libraries //:kernel_libraries
test: $(TESTED) cc-test python-test test-gpu-mock executed

test-all: TESTS := all
test-all: test test-neon

# TEST: a Python test as pytest names it, or the label or folder of a C++ test.
ifdef TEST
check: $(TESTED) develop
ifneq ($(filter tests/cc/% //tests/cc/%,$(TEST)),)
	tools/need_gtest.sh
	$(BAZEL) test //$(patsubst //%,%,$(TEST))$(if $(findstring :,$(TEST)),,/...)
else
	PYTHONPATH="$(CURDIR)" $(PY) -m pytest -p no:cacheprovider --tests=all $(TEST) $(PYTEST_ARGS)
endif
else
check: $(TESTED) lint develop
	tools/need_gtest.sh
	$(BAZEL) test //tests/cc/core/...
	PYTHONPATH="$(CURDIR)" $(PY) -m pytest -q -n $$(($(JOBS) + 1)) -p no:cacheprovider --tests=usual @tests/check.txt $(PYTEST_ARGS)
endif

demo: $(INSTALLED)
	$(PY) examples/japanese_vowels/demo.py $(DEMO_ARGS)

bench: $(TESTED) $(INSTALLED)
	tools/setup_bench.sh
	$(PY) -m benchmarks.run $(BENCH_ARGS)

TEXTLINT := .tools/prose/node_modules/.bin/textlint

$(TEXTLINT): tools/setup_prose.sh
	tools/setup_prose.sh
	touch $@

lint: $(TESTED) $(TEXTLINT)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check --quiet .
	$(VENV)/bin/mypy
	@echo "clang-format --dry-run of $(words $(CC_FILES)) files"
	@$(VENV)/bin/clang-format --dry-run --Werror $(CC_FILES)
	$(PY) tools/prose/lint.py

format: $(TESTED)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/clang-format -i $(CC_FILES)

clean:
	if [ -e $(CONFIG) ]; then $(BAZEL) clean; fi
	rm -rf build dist *.egg-info tf_rnn_ops/*.so tf_rnn_ops/include $(CONFIG)

include tools/maintenance.mk
