# Targets beside those of the Makefile, which includes this file. tests/README.md and docs/building.md describe them.

# More arguments for the benchmarks beside `make bench`.
KERNELS_ARGS ?= benchmarks/shapes/lstm.txt benchmarks/shapes/gru.txt
STREAMING_ARGS ?=
ACCURACY_ARGS ?=
COSTS_ARGS ?=
INSTRUCTIONS_ARGS ?=
SOAK_ARGS ?= --seconds 600
# What `make problems` runs, for random cases of the ops, random ONNX graphs, and random models and their
# exported files. Each goes on where it stopped.
PROBLEMS_ARGS ?= --set ci --seconds 600
GRAPHS_ARGS ?= --set ci --seconds 600
MODELS_ARGS ?= --set ci --seconds 600
FUZZ_ARGS ?= --seconds 600
# For tests/robustness/mutants, such as --only masks.py
MUTANTS_ARGS ?=
GPU_ARGS ?=
# For pytest, from build/nightly; empty: the tests of `make check`.
NIGHTLY_ARGS ?=
# For tools/test_matrix.py, such as --only 3.12-2.18
MATRIX_ARGS ?=

.PHONY: environment lock install test-wheel release test-matrix wheel-aarch64 test-aarch64 wheel-any \
	test-nightly test-neon test-gpu-mock test-gpu gpu-kit test-export sanitize sanitize-quick tsan exhaustive problems coverage-python fuzz \
	mutants mutants-isa mutants-python soak bench-kernels bench-streaming bench-costs bench-accuracy bench-instructions docs \
	test-docs

# What the other targets need, and nothing else: the first step of .ci/run.
environment: $(TESTED) $(CONFIG) $(TEXTLINT)

# New versions in tools/requirements, to be committed.
lock: | preflight
	tools/lock.sh "$(PYTHON)"

install: $(INSTALLED)

test-wheel: $(TESTED) $(WHEEL)
	tools/test_wheel.sh $(PY) dist/*.whl

# The wheel for every supported TensorFlow and the source distribution, in build/release/. Not in
# dist/, which has one wheel.
release: DOWNLOADS := .tools/tensorflow=2
release: export TF_RNN_OPS_TENSORFLOWS ?= $(shell . tools/common.sh && tensorflow_versions | xargs)
release: $(TESTED) $(CONFIG)
	./pip_pkg.sh --release
	tools/test_wheel.sh $(PY) build/release/*.whl
	tools/check_release.sh $(PY) build/release

# The installed release wheel on every pair of Python and TensorFlow that this machine has.
test-matrix: release
	$(PY) tools/test_matrix.py --jobs $(JOBS) $(MATRIX_ARGS) build/release/*.whl

# The wheel for aarch64, cross-compiled, in build/aarch64/; tested under qemu, which is slow.
wheel-aarch64: export TF_RNN_OPS_TENSORFLOWS ?= $(shell . tools/common.sh && tensorflow_versions | tail -n 1)
wheel-aarch64: $(TESTED) $(CONFIG)
	./pip_pkg.sh --aarch64
	# The other acceptance tests run the wheel.
	TF_RNN_OPS_MACHINE=aarch64 tools/test_wheel.sh $(PY) build/aarch64/*.whl tests/package/wheel/test_artefacts.py

test-aarch64: wheel-aarch64
	tools/test_aarch64.sh build/aarch64/*.whl

# The Python files alone, for machines that no library fits. Beside dist/, which has one wheel.
wheel-any: $(READY)
	rm -rf build/lib build/lib.* build/any
	TF_RNN_OPS_PURE=1 $(PY) -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir build/any .

# The Python tests of `make check` on tf-nightly and keras-nightly; docs/versions.md has the result.
test-nightly: DOWNLOADS := build/nightly=3
test-nightly: $(TESTED) $(CONFIG)
	tools/test_nightly.sh $(NIGHTLY_ARGS)

# The kernels of aarch64 under qemu.
test-neon: $(TESTED) $(CONFIG)
	tools/need_gtest.sh
	tools/test_neon.sh

# On TensorFlow's GPU build, with a pretend CUDA driver.
test-gpu-mock: $(TESTED) $(INSTALLED)
	tools/test_gpu_mock.sh $(PY) --tests=$(TESTS:landing=usual) -n $(JOBS) $(PYTEST_ARGS)

# On a machine with a GPU: make test-gpu TENSORFLOW='tensorflow[and-cuda]~=2.21.0'
test-gpu: $(TESTED) $(INSTALLED)
	cd build && ../$(PY) ../tools/test_gpu.py $(GPU_ARGS)

# A folder for a machine with a GPU and PyTorch, in a folder that git ignores. OLD: a commit to compare times with.
gpu-kit:
	tools/gpu_kit.sh .kit/core $(OLD)

# Exported and rewritten models in other runtimes.
test-export: $(TESTED) develop
	PYTHONPATH="$(CURDIR)" $(PY) -m pytest -p no:cacheprovider tests/portable/export $(PYTEST_ARGS)

sanitize: $(TESTED) $(CONFIG)
	tools/need_gtest.sh
	$(BAZEL) test --config=asan //tests/cc/...

# The corpora of the fuzzers, and steppers, on the baseline kernels alone: the others take minutes to compile.
sanitize-quick: $(TESTED) $(CONFIG)
	tools/need_gtest.sh
	$(BAZEL) test --config=asan -- //tests/cc/fuzz/... //tests/cc/step/... \
		-//tests/cc/fuzz:kernels_replay_test -//tests/cc/step:dense_test -//tests/cc/step:elementwise_test

# What threads share. The kernels themselves are in it through concurrent calls of small problems.
tsan: $(TESTED) $(CONFIG)
	tools/need_gtest.sh
	$(BAZEL) test --config=tsan //tests/cc/core/... //tests/cc/cpu:dispatch_test \
		//tests/cc/cpu:concurrent_kernels_test //tests/cc/step:rnn_step_test //tests/cc/step:streams_test

exhaustive: $(CONFIG)
	tools/need_gtest.sh
	$(BAZEL) test --test_output=all //tests/cc/cpu:activation_exhaustive_test

problems: $(TESTED) develop
	tools/need_gtest.sh
	$(BAZEL) build //tests/cc/cpu:problems_test
	PYTHONPATH=. $(PY) -m tests.robustness.problem $(PROBLEMS_ARGS)
	PYTHONPATH=. $(PY) -m tests.robustness.graph_problem $(GRAPHS_ARGS)
	PYTHONPATH=. $(PY) -m tests.robustness.model_problem $(MODELS_ARGS)

# The lines and branches of the Python package that its tests execute.
coverage-python: $(TESTED) $(INSTALLED)
	tests/robustness/coverage/python.sh $(PY) -n $$(($(JOBS) + 1)) ../tests $(PYTEST_ARGS)

fuzz: $(TESTED) develop
	tools/need_gtest.sh
	PYTHONPATH=.:tests $(PY) -m robustness.fuzz.run_fuzz --jobs $(JOBS) $(FUZZ_ARGS)

mutants: mutants-isa mutants-python

# The tests run these objects, and one of them at a time is compiled again with a fault.
mutants-isa: $(TESTED) cc-test test-neon
	PYTHONPATH=tests $(PY) -m robustness.mutants.run_faults instruction_sets $(MUTANTS_ARGS)

mutants-python: $(TESTED) develop
	PYTHONPATH=tests $(PY) -m robustness.mutants.run_faults python_faults --jobs $(JOBS) $(MUTANTS_ARGS)

soak: $(TESTED) develop
	PYTHONPATH=.:tests $(PY) -m robustness.soak.run_soak $(SOAK_ARGS)

KERNELS := bazel-bin/benchmarks/kernels/bench_kernels

bench-kernels: $(CONFIG)
	$(BAZEL) build //benchmarks/kernels:bench_kernels
	$(KERNELS) $(KERNELS_ARGS)

bench-streaming: $(TESTED) $(INSTALLED)
	$(BAZEL) build //benchmarks/kernels:bench_kernels
	$(PY) -m benchmarks.streaming --kernels $(KERNELS) --output bench_output/streaming.json $(STREAMING_ARGS)

bench-costs: $(TESTED) $(INSTALLED)
	$(PY) -m benchmarks.run costs --output bench_output/costs $(COSTS_ARGS)

# Beside the counts of the last landing, benchmarks/instructions.txt. INSTRUCTIONS_ARGS=--store writes that file.
bench-instructions: $(CONFIG)
	command -v valgrind >/dev/null || (. tools/common.sh && apt_install valgrind) || true
	$(BAZEL) build //benchmarks/kernels:bench_kernels
	$(PY) -m benchmarks.instructions --jobs $(JOBS) --optional $(INSTRUCTIONS_ARGS)

# Models are trained: four minutes.
bench-accuracy: $(TESTED) develop
	PYTHONPATH=. $(PY) -m benchmarks.accuracy_int8 --output bench_output/accuracy_int8.json $(ACCURACY_ARGS)

# The guides and the API reference as a site, in build/site/.
docs: $(TESTED)
	tools/site/build.sh $(PY)

# The site at phone and desktop width, and its search, in a headless browser.
test-docs: $(TESTED) docs
	tools/need_chromium.sh
	PYTHONPATH="$(CURDIR)" $(PY) -m pytest -p no:cacheprovider tests/package/docs/test_site.py $(PYTEST_ARGS)
