"""The readers of fuzz_readers.py under coverage: `python -m robustness.fuzz.guided_readers CORPUS [-OPTION=VALUE ...]`.

Needs atheris, which runs libFuzzer with its options. Cases are those of fuzz_readers.py, drawn from bytes
that libFuzzer chooses by the edges of tf_rnn_ops.params, .portable and .contrib that they reach.
"""

import sys

import atheris
import numpy as np

with atheris.instrument_imports(
    include=["tf_rnn_ops.params", "tf_rnn_ops.portable", "tf_rnn_ops.contrib"]
):
    import tf_rnn_ops.contrib  # noqa: F401  (the sources import it when they run)
    from robustness.fuzz import fuzz_readers


class Drawn:
    """Draws the values from bytes that fuzz_readers draws with a numpy Generator."""

    def __init__(self, data):
        self._bytes = atheris.FuzzedDataProvider(data)

    def integers(self, low, high=None):
        low, high = (0, low) if high is None else (low, high)
        return self._bytes.ConsumeIntInRange(low, high - 1)

    def random(self):
        return self.integers(1000) / 1000

    def choice(self, values):
        return values[self.integers(len(values))]

    def standard_normal(self, shape):
        return np.random.default_rng(self.integers(256)).standard_normal(shape)


def run_one(data):
    rng = Drawn(data)
    found, _ = fuzz_readers.complaint(rng, rng.choice(list(fuzz_readers.SOURCES)))
    if found:
        raise AssertionError(found)


def main():
    # libFuzzer puts this before the arguments of the processes that it starts to merge corpora.
    again = f"{sys.executable} -m robustness.fuzz.guided_readers"
    atheris.Setup([again, *sys.argv[1:]], run_one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
