"""Imports TensorFlow before the modules that need it, or raises the ImportError of loader.import_tensorflow().

WHY: the registration, which runs at the end of that import, imports some of these modules, and none of them may be
half imported then.
"""

from tf_rnn_ops.native import loader

loader.import_tensorflow()
