"""The door to what is private or undocumented in Keras 3.

Each function says what it needs and what happens without it. Keras 3.5 to 3.15 have all of it where no other version
is named. tf_rnn_ops/params/keras_internals.py has what also serves weights of Keras 1 and 2, without importing Keras.
No other module imports keras.src or reads an attribute of Keras's that begins with an underscore
(tests/package/wheel/test_private_names.py).
"""
