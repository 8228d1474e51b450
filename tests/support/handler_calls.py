"""Calls of the handlers of XLA's foreign function interface with any types, as another user of XLA may make them."""

import tensorflow as tf

DTYPES = {"f32": tf.float32, "f64": tf.float64, "i8": tf.int8, "i32": tf.int32, "i64": tf.int64}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


def zeros(types):
    """Tensors of types such as `2x3xf32 f32`."""

    def tensor(text):
        *sizes, kind = text.split("x")
        return tf.zeros([int(size) for size in sizes], DTYPES[kind])

    return [tensor(text) for text in types.split()]


def _type(tensor):
    return f"tensor<{''.join(f'{size}x' for size in tensor.shape)}{NAMES[tensor.dtype]}>"


def run(op, arguments, results, attrs, platform="CPU"):
    """Calls the handler of an op without its kernel for XLA.

    Args:
        op: Its name.
        arguments: Tensors.
        results: Tensors of the types and shapes of the results.
        attrs: The attributes as text of MLIR.
        platform: XLA's name for the device in scope.
    """
    from tensorflow.compiler.tf2xla.python import xla as tf2xla

    target = f"TfRnnOps>{op}"
    given, wanted = (", ".join(map(_type, tensors)) for tensors in (arguments, results))
    parameters = ", ".join(f"%a{k}: {_type(tensor)}" for k, tensor in enumerate(arguments))
    operands = ", ".join(f"%a{k}" for k in range(len(arguments)))
    outputs = ", ".join(f"%r#{k}" for k in range(len(results)))
    module = f"""
    module {{ func.func public @main({parameters}) -> ({wanted}) {{
      %r:{len(results)} = stablehlo.custom_call @"{target}"({operands}) {{
        api_version = 4 : i32, backend_config = {{{attrs}}}}} : ({given}) -> ({wanted})
      return {outputs} : {wanted}
    }} }}"""
    return tf2xla.call_module(
        arguments,
        version=9,
        module=module,
        Tout=[tensor.dtype for tensor in results],
        Sout=[tensor.shape for tensor in results],
        platforms=[platform],
        disabled_checks=[f"custom_call:{target}"],
    )
