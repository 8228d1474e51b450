"""Names and sentences that several rooms write or read."""

# The beginning of the names of the conditions of masked layers, which save a gather for masks that only pad at the
# end. Such a condition may be replaced by its else branch, which is right for any mask. The end of a name says what
# the condition does, for the writer of ONNX: see keras/dispatch/masks.py.
MASK_CONDITION = "padded_or_gathered"

# The error of a gradient of inference with int8 weights.
NO_GRADIENT_OF_INT8 = (
    "An op with int8 weights has no gradient. A Keras layer has one if it is called with training=True, which "
    "computes with the dequantized weights."
)
