"""The one place for the version of this package and for the TensorFlow that it works with."""

VERSION = "0.1.0"
# The libraries use TensorFlow's C++ interface, which changes with every minor version.
TENSORFLOW = "2.21"
