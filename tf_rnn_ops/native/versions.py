"""The one place for the version of this package and for the TensorFlow and Keras that it works with."""

VERSION = "0.1.0"
# Minor versions, oldest first: `make release` builds libraries for each, since TensorFlow's C++
# interface changes with every one. The last is the one to develop with.
TENSORFLOW = ("2.18", "2.19", "2.20", "2.21")
# A range for pip, of the versions in docs/compatibility.md.
KERAS = ">=3.5,<4"
