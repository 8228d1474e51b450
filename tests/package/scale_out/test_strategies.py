"""Training under tf.distribute strategies gives what training in one process gives."""

import pathlib
import re
import subprocess
import sys

import pytest
import sequence_sums

EXAMPLE = pathlib.Path(sequence_sums.__file__).parent
STEP_ROWS = sequence_sums.EPOCHS * sequence_sums.ROWS


def _run(script, *arguments, timeout):
    process = subprocess.run(
        [sys.executable, str(EXAMPLE / script), *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def _check_comparisons(text, count):
    """Checks the numbers that a script printed, not its opinion of them."""
    epochs = re.findall(r"^ +(\d) +([\d.]+) +([\d.]+)$", text, re.MULTILINE)
    assert [int(number) for number, *_ in epochs] == [*range(1, 1 + sequence_sums.EPOCHS)] * count
    for _, alone, together in epochs:
        assert float(together) == pytest.approx(float(alone), rel=0, abs=sequence_sums.BOUND)
    assert float(epochs[-1][2]) < 0.6 * float(epochs[0][2])
    found = re.findall(r"^largest difference: losses (\S+), weights (\S+) ", text, re.MULTILINE)
    assert len(found) == count
    assert all(float(number) <= sequence_sums.BOUND for pair in found for number in pair)


@pytest.mark.thorough
def test_mirrored_strategy():
    text = _run("mirrored.py", timeout=120)
    assert text.startswith("replicas: 2, weights on: CPU:0, CPU:1\n")
    _check_comparisons(text, count=1)


@pytest.mark.thorough
def test_multi_worker_mirrored_strategy():
    # The script ends its workers in time, so that this timeout leaves none behind.
    text = _run("multi_worker.py", "--timeout", "90", timeout=120)
    for worker in range(2):
        line = f"worker {worker}: task {worker}, {STEP_ROWS // 2} rows, replicas in all: 2"
        assert line in text.splitlines()
    _check_comparisons(text, count=2)


@pytest.mark.thorough
def test_parameter_servers():
    _check_comparisons(_run("parameter_server.py", "--timeout", "200", timeout=230), count=1)


@pytest.mark.thorough
def test_data_service():
    text = _run("data_service.py", "--timeout", "200", timeout=230)
    assert float(re.match(r"largest difference of the features: (\S+)\n", text)[1]) < 1e-6
    _check_comparisons(text, count=1)


def _half_of_the_rows(model):
    half = sequence_sums.dataset().shard(2, 0).batch(sequence_sums.GLOBAL_BATCH // 2)
    return sequence_sums.fit(model, half)


def _half_of_the_gradient(model):
    model.optimizer.learning_rate = 0.5 * model.optimizer.learning_rate
    return sequence_sums.fit(model)


@pytest.fixture(scope="module")
def alone():
    return sequence_sums.fit(sequence_sums.make_model())


@pytest.mark.parametrize("mistake", [_half_of_the_rows, _half_of_the_gradient])
def test_mistakes_exceed_the_bound(alone, mistake):
    """A replica that trains for itself, or a gradient averaged twice, is far outside the bound."""
    wrong = mistake(sequence_sums.make_model())
    assert min(sequence_sums.differences(alone, wrong)) > 1000 * sequence_sums.BOUND
