"""The dtype policies of quantized layers."""

import keras

from tf_rnn_ops._python import patches


def policy_of(layer: keras.layers.Layer) -> keras.DTypePolicy:
    """The dtype policy of a layer itself: of a DTypePolicyMap the policy of the layer's path.

    A map gives its default policy for a layer that is not built, because the path is not known yet.
    """
    policy = layer.dtype_policy
    if not isinstance(policy, keras.dtype_policies.DTypePolicyMap):
        return policy
    return policy[layer.path] if layer.path else policy.default_policy


def is_known(layer: keras.layers.Layer) -> bool:
    """Whether the policy of a layer is known. A DTypePolicyMap tells it when the layer is built."""
    in_map = isinstance(layer.dtype_policy, keras.dtype_policies.DTypePolicyMap)
    return bool(layer.path) or not in_map


def name_of(layer: keras.layers.Layer) -> str:
    """The name of the dtype policy of a layer."""
    # Keras removes the names of policies when it saves a DTypePolicyMap.
    name = policy_of(layer).name
    mode = layer.quantization_mode
    return name or (f"{mode}_from_{_float_name(layer)}" if mode else _float_name(layer))


def int8_policy(layer: keras.layers.Layer) -> keras.DTypePolicy:
    """The policy of a layer with int8 weights."""
    if layer.quantization_mode == "int8":
        return policy_of(layer)
    return keras.dtype_policies.get(f"int8_from_{_float_name(layer)}")


def float_policy(layer: keras.layers.Layer) -> keras.DTypePolicy:
    """The policy of a layer without quantization."""
    return keras.dtype_policies.get(_float_name(layer))


def _float_name(layer: keras.layers.Layer) -> str:
    policy = policy_of(layer)
    variable, compute = policy.variable_dtype, policy.compute_dtype
    return compute if variable == compute else f"mixed_{compute}"


def check_mode(layer: keras.layers.Layer, reason: str | None) -> None:
    """Raises an error for a policy with which a layer was made, and with which it cannot run.

    Args:
        layer: The layer or cell. Nothing is checked before its policy is known.
        reason: Why there are no int8 weights for it; None if there are.

    Raises:
        ValueError: The policy quantizes to something other than int8, or to int8 without int8 weights.
    """
    mode = layer.quantization_mode
    if mode is None or (mode == "int8" and reason is None) or not is_known(layer):
        return
    wanted = "a policy without quantization" + (" or with int8" if reason is None else "")
    because = f": {reason}" if reason else ""
    raise ValueError(
        f"dtype of the layer {layer.name!r} must be {wanted}, but it is {name_of(layer)!r}{because}."
    )


def withdraw(layer: keras.layers.Layer) -> None:
    """Gives a layer with float weights a float policy again. Keras sets a policy before it quantizes."""
    if layer.quantization_mode is not None:
        patches.put(layer, "dtype_policy", float_policy(layer))
