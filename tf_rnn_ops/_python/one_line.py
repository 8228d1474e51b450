"""The reason of an error of Keras, TensorFlow or another runtime, as one sentence."""

import re

# The beginnings of lines that Keras and TensorFlow write around the reason of an error.
_AROUND = (
    "Exception encountered when calling",
    "Graph execution error:",
    "Detected at node",
    "<stack traces unavailable>",
    "in user code:",
    "Exception from",
    'File "',
)
# The lines of code before the reason of an error in a tf.function.
_CODE = re.compile(r'(?:^ *File ".*\n.*\n)+\s*(?:[\w.]+: )?', re.MULTILINE)
# Keras writes the error of an object inside of a saved model behind these words and the whole config of the model.
_CAUSE = "Exception encountered: "
_CONFIG = re.compile(r"\s*Full (object )?config: .*")
_ESCAPE_CODE = re.compile(r"\x1b\[[\d;]*m")


def one_line(error: BaseException) -> str:
    """The first line of an error message that names the fault, as a sentence."""
    text = _ESCAPE_CODE.sub("", str(getattr(error, "message", None) or error))
    text = _CODE.sub("", _CONFIG.sub("", text.rpartition(_CAUSE)[2]))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    text = next((line for line in lines if not line.startswith(_AROUND)), type(error).__name__)
    return text if text.endswith((".", "!", "?")) else f"{text}."
