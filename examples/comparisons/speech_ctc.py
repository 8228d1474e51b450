"""Speech recognition with CTC: two bidirectional LSTM layers, from frames of features to symbols.

Each symbol lasts 6 frames of 16 noisy features. Utterances have different lengths and are padded with 0.
"""

import comparison
import keras
import numpy as np

SYMBOLS, FEATURES, FRAMES, LONGEST = 10, 16, 6, 8


def spoken(rng, voice, labels):
    """Returns the noisy features [count, time, FEATURES] of labels [count, LONGEST]."""
    sounds = np.repeat(labels, FRAMES, axis=1)
    sounds[:, ::FRAMES] = 0  # silence between symbols
    return voice[sounds] + rng.normal(size=(*sounds.shape, FEATURES))


def utterances(rng, voice, count):
    """Returns the features [count, time, FEATURES], and labels with the lengths that CTC needs."""
    labels = rng.integers(1, SYMBOLS + 1, size=(count, LONGEST))
    label_lengths = rng.integers(3, LONGEST + 1, size=count)
    labels[np.arange(LONGEST) >= label_lengths[:, None]] = 0
    x = spoken(rng, voice, labels)
    lengths = FRAMES * label_lengths
    x[np.arange(x.shape[1]) >= lengths[:, None]] = 0
    y = {"labels": labels, "label_lengths": label_lengths, "lengths": lengths}
    return x.astype(keras.config.floatx()), y


class Recognizer(keras.Model):
    """A model whose loss is CTC's; symbol 0 is the blank."""

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        losses = keras.ops.ctc_loss(
            y["labels"], y_pred, y["label_lengths"], y["lengths"], mask_index=0
        )
        return keras.ops.mean(losses)


def make_model(layers, units, bidirectional=True):
    """A model whose recurrent layers come from the module `layers`."""
    features = keras.Input((None, FEATURES))
    x = keras.layers.Masking()(features)
    for _ in range(2):
        layer = layers.LSTM(units, return_sequences=True)
        x = (keras.layers.Bidirectional(layer) if bidirectional else layer)(x)
    model = Recognizer(features, keras.layers.Dense(SYMBOLS + 1)(x))
    model.compile(keras.optimizers.Adam(0.01))
    return model


def right(model, x, y):
    """The fraction of utterances whose symbols are all right."""
    decoded, _ = keras.ops.ctc_decode(model.predict(x, verbose=0), y["lengths"], mask_index=0)
    pairs = zip(np.asarray(decoded[0]), y["labels"], strict=True)
    return np.mean([list(found[found > 0]) == list(label[label > 0]) for found, label in pairs])


def main(argv=None):
    """Trains and prints the comparison; returns the runs."""
    options = comparison.parse(
        __doc__,
        argv,
        count=(512, "training utterances"),
        units=(64, "units of each layer and direction"),
        epochs=(4, "epochs of each training"),
    )
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    voice = rng.normal(size=(SYMBOLS + 1, FEATURES))
    x, y = utterances(rng, voice, options.count)
    test = utterances(rng, voice, 64)

    def fit(model, callbacks):
        model.fit(x, y, batch_size=32, shuffle=False, verbose=0, callbacks=callbacks)

    runs = comparison.train(lambda layers: make_model(layers, options.units), fit, options.epochs)
    shares = [f"{right(run.model, *test):.0%}" for run in runs]
    comparison.show(runs, "right test utterances", shares)
    return runs


if __name__ == "__main__":
    main()
