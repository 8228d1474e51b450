"""Time-series forecasting: a stateful LSTM that reads many hourly series in windows, one after the other.

The states of the layer stay between windows, so each forecast of the next hour knows the whole past.
"""

import comparison
import keras
import numpy as np

WINDOW = 24  # hours in a call
FEATURES = 3


def make_series(rng, count, windows):
    """Returns the features [count, hours, FEATURES] and the next value [count, hours, 1]."""
    hours = np.arange(windows * WINDOW + 1)
    day, week = 2 * np.pi * hours / 24, 2 * np.pi * hours / (24 * 7)
    scale, phase = rng.uniform(0.5, 1.5, size=(2, count, 1))
    load = scale * np.sin(day + phase) + 0.4 * np.sin(week + phase)
    load += 0.1 * rng.normal(size=load.shape)
    clock = np.broadcast_to([np.sin(day), np.cos(day)], (count, 2, len(hours)))
    x = np.concatenate([load[:, :, None], np.moveaxis(clock, 1, 2)], axis=-1)
    dtype = keras.config.floatx()
    return x[:, :-1].astype(dtype), load[:, 1:, None].astype(dtype)


def in_windows(series):
    """Cuts [count, hours, n] into batches: batch k has window k of each series."""
    parts = np.split(series, series.shape[1] // WINDOW, axis=1)
    return np.concatenate(parts, axis=0)


def make_model(layers, count, units):
    """A model for `count` series whose recurrent layers come from the module `layers`."""
    model = keras.Sequential(
        [
            keras.Input((WINDOW, FEATURES), batch_size=count),
            layers.LSTM(units, return_sequences=True, stateful=True),
            layers.LSTM(units, return_sequences=True, stateful=True),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(0.005), "mse")
    return model


def reset(model):
    """Forgets the past, before the series begin again."""
    for layer in model.layers:
        if getattr(layer, "stateful", False):
            layer.reset_state()


def error(model, x, y, tested):
    """The mean absolute error of the forecasts in the last `tested` values of y."""
    reset(model)
    forecast = model.predict(x, batch_size=model.input_shape[0], verbose=0)
    return np.abs(forecast - y)[-tested:].mean()


def main(argv=None):
    """Trains and prints the comparison; returns the runs."""
    options = comparison.parse(
        __doc__,
        argv,
        series=(32, "series, which are the batch"),
        windows=(60, "training windows of 24 hours"),
        units=(64, "units of each layer"),
        epochs=(5, "epochs of each training"),
    )
    keras.utils.set_random_seed(0)
    tested = max(1, options.windows // 4)
    data = make_series(np.random.default_rng(0), options.series, options.windows + tested)
    x, y = map(in_windows, data)
    first_tested = options.series * options.windows

    def fit(model, callbacks):
        reset(model)
        model.fit(
            x[:first_tested],
            y[:first_tested],
            batch_size=options.series,
            shuffle=False,
            verbose=0,
            callbacks=callbacks,
        )

    runs = comparison.train(
        lambda layers: make_model(layers, options.series, options.units), fit, options.epochs
    )
    count = options.series * tested
    errors = [f"{error(run.model, x, y, count):.4f}" for run in runs]
    comparison.show(runs, "mean absolute error", errors)
    last = np.abs(y[first_tested:] - x[first_tested:, :, :1]).mean()
    print(f"Forecast that repeats the last value: {last:.4f}")
    return runs


if __name__ == "__main__":
    main()
