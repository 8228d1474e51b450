"""The one door to what is private or undocumented in TensorFlow.

Each function says what it needs and what happens without it. TensorFlow 2.18 to 2.21 have all of it. No other module
imports tensorflow.python or tf.__internal__, or reads an attribute of TensorFlow's that begins with an underscore
(tests/package/wheel/test_private_names.py).
"""
