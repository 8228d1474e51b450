"""The only module with private or undocumented names of TensorFlow: the door to TensorFlow.

The docstring of each function names what it needs and what happens without it. TensorFlow 2.18 to 2.21
have all these names. No other module imports tensorflow.python or tf.__internal__, or reads an attribute
of TensorFlow that begins with an underscore (ruff finds others).
"""
