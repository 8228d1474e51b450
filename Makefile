# Each target sets up what it needs: system packages (as root), .venv, configuration.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The steps of a target are in order; what is parallel is inside them.
.NOTPARALLEL:

PYTHON ?= python3
# The flavour of TensorFlow to build and test with: that of .venv, or the newest for a new .venv.
TENSORFLOW ?= $(or $(VENV_HAS),$(shell . tools/common.sh && tensorflow_requirement))
JOBS ?= 2
# More arguments for pytest: make test PYTEST_ARGS="-k dropout"
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=
# More arguments for the benchmarks beside `make bench`.
KERNELS_ARGS ?= benchmarks/shapes/lstm.txt benchmarks/shapes/gru.txt
STREAMING_ARGS ?=
ACCURACY_ARGS ?=
COSTS_ARGS ?=
THREADS_ARGS ?=
SOAK_ARGS ?= --seconds 600
# What `make problems` runs. It goes on where it stopped.
PROBLEMS_ARGS ?= --set ci --seconds 600
# The same for random ONNX graphs.
GRAPHS_ARGS ?= --set ci --seconds 600
# The same for random models and their exported files.
MODELS_ARGS ?= --set ci --seconds 600
# All three go on where they stopped.
COVERAGE_ARGS ?=
FUZZ_ARGS ?= --seconds 600
MUTANTS_ARGS ?= --seconds 600
GPU_ARGS ?=
# For pytest, from build/nightly; empty: the tests of `make check`.
NIGHTLY_ARGS ?=
# For tools/test_matrix.py, such as --only 3.12-2.18
MATRIX_ARGS ?=

VENV := .venv
VENV_HAS = $(shell cat $(VENV)/.ready 2>/dev/null)
PY := $(VENV)/bin/python
READY := $(VENV)/.ready
CONFIG := .tf_configure.bazelrc
BAZEL := tools/bazelisk.sh
CC_FILES = $(shell git ls-files '*.c' '*.cc' '*.h')

.PHONY: help preflight demo docs test test-rest test-all check problems coverage fuzz mutants mutants-isa soak test-matrix test-aarch64 test-neon test-gpu gpu-kit test-export test-docs test-gpu-mock test-nightly wheel release wheel-aarch64 wheel-any install develop cc-test sanitize tsan exhaustive lint format bench bench-kernels bench-streaming bench-costs bench-threads bench-exported bench-accuracy clean

help:
	@echo "For users"
	@echo "  make demo     train a classifier on real data, on our ops and on Keras's layers"
	@echo "  make wheel    the wheel for the TensorFlow at hand, in dist/"
	@echo "  make bench    the benchmarks next to other libraries"
	@echo "For every change"
	@echo "  make check    lint, C++ tests of the core, one test of each feature; TEST=path: that test"
	@echo "  make test     C++ tests, the wheel, the Python tests on the wheel"
	@echo "  make test-all the same with every test and every combination (make test-rest: only those"
	@echo "                that make test leaves out)"
	@echo "  make format   ruff and clang-format;  make lint: ruff, mypy, clang-format, textlint, changing nothing"
	@echo "  make develop  the shared objects next to the Python files, for PYTHONPATH=."
	@echo "  make cc-test  the C++ tests alone;  make docs: the site, in build/site/"
	@echo "  make clean    remove what was built (not .venv)"
	@echo "Deeper: see tests/README.md"
	@echo "  make problems coverage fuzz mutants mutants-isa soak sanitize tsan exhaustive"
	@echo "Other machines and versions: see docs/building.md"
	@echo "  make release test-matrix test-nightly test-export test-docs wheel-any wheel-aarch64 test-aarch64 test-neon"
	@echo "  make test-gpu (on a GPU) test-gpu-mock (without one) gpu-kit (a folder for a GPU machine with PyTorch)"
	@echo "Other benchmarks"
	@echo "  make bench-kernels bench-streaming bench-costs bench-threads bench-exported bench-accuracy"

# What this machine lacks, before minutes have passed; installed where that is possible.
preflight:
	tools/preflight.sh --install $(PREFLIGHT) --python "$(PYTHON)" $(VENV)=3 $(DOWNLOADS)
lint format wheel-any: PREFLIGHT := --no-compiler

$(READY): tools/setup_venv.sh tools/requirements-dev.txt | preflight
	rm -f $@
	tools/setup_venv.sh "$(PYTHON)" "$(VENV)" "$(TENSORFLOW)"
	echo "$(TENSORFLOW)" >$@

# A TENSORFLOW from the command line or the environment replaces another one in .venv.
ifneq ($(origin TENSORFLOW),file)
ifneq ($(TENSORFLOW),$(VENV_HAS))
.PHONY: $(READY)
endif
endif

$(CONFIG): configure.sh tools/tf_info.py tools/common.sh $(READY)
	tools/preflight.sh --install
	$(PY) tools/fetch_tensorflow.py --for-kernels
	./configure.sh --python $(PY)

wheel: $(CONFIG)
	./pip_pkg.sh

# The wheel for every supported TensorFlow and the source distribution, in build/release/. Not in
# dist/, which has one wheel.
release: DOWNLOADS := .tools/tensorflow=2
release: $(CONFIG)
	./pip_pkg.sh --release
	tools/check_release.sh $(PY) build/release

# The installed release wheel on every pair of Python and TensorFlow that this machine has.
test-matrix: release
	$(PY) tools/test_matrix.py --jobs $(JOBS) $(MATRIX_ARGS) build/release/*.whl

# The wheel for aarch64, cross-compiled, in build/aarch64/; tested under qemu, which is slow.
wheel-aarch64: $(CONFIG)
	./pip_pkg.sh --aarch64

test-aarch64: wheel-aarch64
	tools/test_aarch64.sh build/aarch64/*.whl

# The Python files alone, for machines that no library fits. Beside dist/, which has one wheel.
wheel-any: $(READY)
	rm -rf build/lib build/lib.* build/any
	TF_RNN_OPS_PURE=1 $(PY) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/any .

# The Python tests of `make check` on tf-nightly and keras-nightly; docs/compatibility.md has the result.
test-nightly: DOWNLOADS := build/nightly=3
test-nightly: $(CONFIG)
	tools/test_nightly.sh $(NIGHTLY_ARGS)

# The wheel without its gate, which `make test` runs with the other Python tests.
install: $(CONFIG)
	./pip_pkg.sh --no-gate
	$(PY) -m pip install --quiet --no-deps --force-reinstall dist/*.whl

develop: $(CONFIG)
	tools/build_native.sh tf_rnn_ops

cc-test: $(CONFIG)
	tools/need_gtest.sh
	$(BAZEL) test //tests/cc/... $(BESIDE_TESTS)

sanitize: $(CONFIG)
	tools/need_gtest.sh
	$(BAZEL) test --config=asan -- //tests/cc/... -//tests/cc/fuzz:plugin_replay_test

# What threads share. The kernels themselves are in it through concurrent calls of small problems.
tsan: $(CONFIG)
	tools/need_gtest.sh
	$(BAZEL) test --config=tsan //tests/cc/core/... //tests/cc/cpu:dispatch_test \
		//tests/cc/cpu:concurrent_kernels_test

exhaustive: $(CONFIG)
	tools/need_gtest.sh
	$(BAZEL) test --test_output=all //tests/cc/cpu:activation_exhaustive_test

problems: develop
	tools/need_gtest.sh
	$(BAZEL) build //tests/cc/cpu:problems_test
	PYTHONPATH=. $(PY) -m tests.robustness.problem $(PROBLEMS_ARGS)
	PYTHONPATH=. $(PY) -m tests.robustness.graph_problem $(GRAPHS_ARGS)
	PYTHONPATH=. $(PY) -m tests.robustness.model_problem $(MODELS_ARGS)

coverage: $(CONFIG)
	tools/need_gtest.sh
	PYTHONPATH=tests $(PY) -m robustness.coverage.run_coverage --jobs $(JOBS) $(COVERAGE_ARGS)

fuzz: develop
	tools/need_gtest.sh
	PYTHONPATH=.:tests $(PY) -m robustness.fuzz.run_fuzz --jobs $(JOBS) $(FUZZ_ARGS)

mutants: develop
	tools/need_gtest.sh
	PYTHONPATH=.:tests $(PY) -m robustness.mutants.run_mutants --jobs $(JOBS) $(MUTANTS_ARGS)

# The tests run these objects, and one of them at a time is compiled again with a fault.
mutants-isa: cc-test test-neon
	PYTHONPATH=tests $(PY) -m robustness.mutants.instruction_sets

soak: develop
	PYTHONPATH=.:tests $(PY) -m robustness.soak.run_soak $(SOAK_ARGS)

# From build/, so that the package under test is the installed wheel and not the source tree. One
# worker more than CPUs: a test also waits for files and for processes that it starts.
PYTEST = cd build && ../$(PY) -m pytest -n $$(($(JOBS) + 1)) -p no:cacheprovider

test test-rest test-gpu-mock: DOWNLOADS := .tools/tensorflow-gpu=2
# The test of the source distribution builds everything again, out of this cache.
test test-rest: export TF_RNN_OPS_BUILD_CACHE := $(CURDIR)/build/cache
# The wheel's libraries compile while the kernels do that the C++ tests wait for.
test: BESIDE_TESTS := //:op_libraries //:kernel_libraries
test: cc-test install
	$(PYTEST) ../tests $(PYTEST_ARGS)
	tools/test_gpu_mock.sh $(PY) -n $(JOBS)
	$(PY) tools/executed.py bazel-testlogs/tests/cc/cpu

# The tests that `make test` leaves out; tests/support/selection.py says which.
test-rest: install test-neon
	$(PYTEST) --tests=rest ../tests $(PYTEST_ARGS)
	tools/test_gpu_mock.sh $(PY) --tests=rest -n $(JOBS)

test-all: test test-rest

# The kernels of aarch64 under qemu.
test-neon: $(CONFIG)
	tools/need_gtest.sh
	tools/test_neon.sh

# TEST: a Python test as pytest names it, or the label or folder of a C++ test.
ifdef TEST
check: develop
ifneq ($(filter tests/cc/% //tests/cc/%,$(TEST)),)
	tools/need_gtest.sh
	$(BAZEL) test //$(patsubst //%,%,$(TEST))$(if $(findstring :,$(TEST)),,/...)
else
	PYTHONPATH=. $(PY) -m pytest -p no:cacheprovider --tests=all $(TEST) $(PYTEST_ARGS)
endif
else
check: lint develop
	tools/need_gtest.sh
	$(BAZEL) test //tests/cc/core/...
	PYTHONPATH=. $(PY) -m pytest -q -n $$(($(JOBS) + 1)) -p no:cacheprovider --tests=usual @tests/check.txt $(PYTEST_ARGS)
endif

# On TensorFlow's GPU build, with a pretend CUDA driver.
test-gpu-mock: install
	tools/test_gpu_mock.sh $(PY) -n $(JOBS) $(PYTEST_ARGS)

# A folder for a machine with a GPU and PyTorch, in a folder that git ignores.
gpu-kit:
	tools/gpu_kit.sh .kit/core

# On a machine with a GPU: make test-gpu TENSORFLOW='tensorflow[and-cuda]~=2.21.0'
test-gpu: install
	cd build && ../$(PY) ../tools/test_gpu.py $(GPU_ARGS)

# Exported and rewritten models in other runtimes.
test-export: develop
	PYTHONPATH=. $(PY) -m pytest -p no:cacheprovider tests/portable/test_exporters.py \
		tests/portable/export $(PYTEST_ARGS)

demo: install
	$(PY) examples/japanese_vowels/demo.py $(DEMO_ARGS)

bench: install
	tools/setup_bench.sh $(PY)
	$(PY) -m benchmarks.run $(BENCH_ARGS)

KERNELS := bazel-bin/benchmarks/kernels/bench_kernels

bench-kernels: $(CONFIG)
	$(BAZEL) build //benchmarks/kernels:bench_kernels
	$(KERNELS) $(KERNELS_ARGS)

bench-streaming: install
	$(BAZEL) build //benchmarks/kernels:bench_kernels
	$(PY) -m benchmarks.streaming --kernels $(KERNELS) --output bench_output/streaming.json $(STREAMING_ARGS)

bench-costs: install
	$(PY) -m benchmarks.shape_costs --output bench_output/shape_costs.json $(COSTS_ARGS)

bench-threads: install
	tools/setup_bench.sh $(PY)
	$(PY) -m benchmarks.threads $(THREADS_ARGS)

bench-exported: develop
	PYTHONPATH=. $(PY) -m benchmarks.exported --output bench_output/exported.json $(EXPORTED_ARGS)

# Models are trained: four minutes.
bench-accuracy: develop
	PYTHONPATH=. $(PY) -m benchmarks.accuracy_int8 --output bench_output/accuracy_int8.json $(ACCURACY_ARGS)

# The guides and the API reference as a site, in build/site/.
docs: $(READY)
	tools/site/build.sh $(PY)

# The site at phone and desktop width, and its search, in a headless browser.
test-docs: docs
	tools/need_chromium.sh
	PYTHONPATH=. $(PY) -m pytest -p no:cacheprovider tests/package/docs/test_site.py $(PYTEST_ARGS)

TEXTLINT := .tools/prose/node_modules/.bin/textlint

$(TEXTLINT): tools/setup_prose.sh
	tools/setup_prose.sh
	touch $@

lint: $(READY) $(TEXTLINT)
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check --quiet .
	$(VENV)/bin/mypy
	$(VENV)/bin/clang-format --dry-run --Werror $(CC_FILES)
	$(PY) tools/prose/lint.py

format: $(READY)
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .
	$(VENV)/bin/clang-format -i $(CC_FILES)

clean:
	if [ -e $(CONFIG) ]; then $(BAZEL) clean; fi
	rm -rf build dist *.egg-info tf_rnn_ops/*.so $(CONFIG)
