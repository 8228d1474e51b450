"""The only modules with private or undocumented names of Keras 3: the door to Keras.

The docstring of each function names what it needs and what happens without it. Keras 3.5 to 3.15 have all
these names, unless a function names another version. tf_rnn_ops/params/keras/internals.py defines attribute() and
flatten_layers(), which params uses without importing Keras. No other module imports keras.src or reads an attribute
of Keras that begins with an underscore (ruff finds others).
"""
