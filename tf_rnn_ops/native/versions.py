"""The version of this package, and the versions of TensorFlow and Keras that it works with."""

VERSION = "0.1.0"
# Minor versions, oldest first. `make release` builds libraries for each, because TensorFlow's C++
# interface changes with every minor version. The last version is for development.
TENSORFLOW = ("2.18", "2.19", "2.20", "2.21")
# A range for pip. docs/versions.md has the versions.
KERAS = ">=3.5,<4"
