"""docs/troubleshooting.md quotes messages as they are."""

import re

import pages

from support import subproc

PAGE = pages.ROOT / "docs" / "troubleshooting.md"

MAKE = """
import keras, tensorflow as tf, tf_rnn_ops.keras
model = keras.Sequential([keras.Input((None, 3)), tf_rnn_ops.keras.LSTM(4)])
model.save("model.keras")
model.export("exported", verbose=False)

@tf.function(input_signature=[tf.TensorSpec([5, 2, 3])])
def trained_on_a_gpu(x):
    states = tf.zeros([1, 2, 4])
    return tf.raw_ops.CudnnRNNV3(
        input=x, input_h=states, input_c=states, params=tf.zeros([144]), sequence_lengths=[5, 5])[0]

tf.saved_model.save(tf.Module(), "cudnn", signatures=trained_on_a_gpu)
"""
# Each of these makes a mistake, and prints what TensorFlow or Keras says of it.
MISTAKES = """
import keras, tensorflow as tf

def attempt(mistake):
    try:
        mistake()
    except Exception as error:
        print(error)

attempt(lambda: keras.saving.load_model("model.keras"))
attempt(lambda: tf.saved_model.load("exported"))
served = tf.saved_model.load("cudnn").signatures["serving_default"]
attempt(lambda: served(x=tf.zeros([5, 2, 3])))
"""
# The quotations on the page.
QUOTED = (
    "Could not locate class 'LSTM'",
    "Op type not registered 'TfRnnOps>",
    "No OpKernel was registered to support Op 'CudnnRNNV3'",
)


def _run(code, folder):
    """Runs code in a process that has not imported the package, and returns what it prints."""
    process = subproc.run(["-c", code], folder)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_messages_of_tensorflow_and_keras(tmp_path):
    _run(MAKE, tmp_path)
    said = _run(MISTAKES, tmp_path)
    for message in QUOTED:
        assert message in said
        assert message in PAGE.read_text()


def test_the_message_of_a_mask_with_holes():
    layer = (pages.ROOT / "tf_rnn_ops/keras/layers/stack_layer.py").read_text()
    message = "The mask must be True first and then False in each sequence. Valid steps:"
    assert message in layer and message in PAGE.read_text()


def test_our_own_messages():
    """Each quotation about importing is in a source, except the values that are inserted there."""
    section = re.search(r"\n## Installing and importing\n(.*?)\n## ", PAGE.read_text(), re.DOTALL)
    quoted = re.findall(r"^\*\*`(.*?)`\*\*", section.group(1), re.MULTILINE)
    assert len(quoted) >= 5
    sources = "".join(p.read_text() for p in (pages.ROOT / "tf_rnn_ops").rglob("*.py"))
    sources = re.sub(r'"\s*\n\s*f?"', "", sources)  # a sentence in several strings
    for message in quoted:
        if "GLIBC" in message:  # the dynamic linker's
            continue
        for piece in message.split("..."):
            assert piece.strip(" ,`") in sources, message
