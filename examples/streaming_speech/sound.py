"""Made speech in a WAV file, and the features of its frames.

The model of ../comparisons/speech_ctc.py reads 16 features a frame. Here feature k is twice the logarithm of the amplitude of
a tone of 250 * (k + 1) Hz. So a sound is a sum of 16 tones, and the spectrum of a frame has its features.
"""

import wave

import numpy as np

SAMPLES = 128  # a frame
SAMPLE_RATE = 16_000
TONES = 2 * np.arange(1, 17)  # in periods a frame
QUIET = 1 / 64  # the amplitude of a feature of 0


def write(path, features):
    """Writes features [time, 16] as sound: 16 kHz, one channel, 16 bits."""
    angles = 2 * np.pi * np.outer(TONES, np.arange(SAMPLES)) / SAMPLES
    # Different phases, so that the tones do not have their peaks together.
    samples = QUIET * np.exp(features / 2) @ np.cos(angles + np.arange(16)[:, None] ** 2)
    with wave.open(str(path), "wb") as file:
        file.setparams((1, 2, SAMPLE_RATE, 0, "NONE", ""))
        file.writeframes((32767 * np.clip(samples, -1, 1)).astype("<i2").tobytes())


def frames(path):
    """Yields the frames of a file, each SAMPLES numbers between -1 and 1.

    Raises:
        ValueError: The file has another form than `write` gives it.
    """
    with wave.open(str(path), "rb") as file:
        form = file.getnchannels(), file.getsampwidth(), file.getframerate()
        if form != (1, 2, SAMPLE_RATE):
            raise ValueError(
                f"{path} must have 1 channel, 2 bytes a sample and {SAMPLE_RATE} samples a second, but it has "
                f"{form}."
            )
        while len(data := file.readframes(SAMPLES)) == 2 * SAMPLES:
            yield np.frombuffer(data, "<i2") / 32768


def features(frame):
    """The features [16] of a frame."""
    amplitudes = np.abs(np.fft.rfft(frame))[TONES] * 2 / SAMPLES
    return (2 * np.log(np.maximum(amplitudes / QUIET, 1e-3))).astype("float32")
