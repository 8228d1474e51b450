"""Replaces products of int8 matrices, as in Keras's Dense with int8 weights, by float products.

LiteRT rejects such a product, and OpenVINO gives wrong results for it. A float32 sum of up to 1040 products
of integers in [-127, 127] is exact.
"""

from typing import Any

import tensorflow as tf

_OP = "BatchMatMulV3"


def replace(graph_def: Any) -> None:
    """Replaces the products of a GraphDef and of its functions.

    Args:
        graph_def: A GraphDef; it is changed.
    """
    for host in (None, *graph_def.library.function):
        nodes = graph_def.node if host is None else host.node_def
        for node in [node for node in nodes if _is_integer_product(node)]:
            _replace(node, nodes, host)


def _is_integer_product(node: Any) -> bool:
    types = [node.attr[name].type for name in ("Ta", "Tb", "Tout")] if node.op == _OP else []
    return types == [tf.int8, tf.int8, tf.int32]


def _replace(node: Any, nodes: Any, host: Any) -> None:
    """Makes the node the cast of a float product to integers, so that its output keeps its type."""

    def output(name: str, of_op: str) -> str:
        return name if host is None else f"{name}:{of_op}:0"

    factors = []
    for k, ref in enumerate(node.input[:2]):
        cast = nodes.add(name=f"{node.name}/factor_{k}", op="Cast", input=[ref])
        cast.attr["SrcT"].type = tf.int8.as_datatype_enum
        cast.attr["DstT"].type = tf.float32.as_datatype_enum
        factors.append(output(cast.name, "y"))
    product = nodes.add(name=f"{node.name}/product", op="BatchMatMulV2", input=factors)
    product.attr["T"].type = tf.float32.as_datatype_enum
    for name in ("adj_x", "adj_y"):
        product.attr[name].b = node.attr[name].b
    for name in [name for name in node.attr if not name.startswith("_")]:
        del node.attr[name]
    node.op = "Cast"
    node.attr["SrcT"].type = tf.float32.as_datatype_enum
    node.attr["DstT"].type = tf.int32.as_datatype_enum
    node.input[:] = [output(product.name, "output"), *node.input[2:]]
    if host is not None:
        _rename(host, f"{node.name}:output:0", f"{node.name}:y:0")


def _rename(host: Any, old: str, new: str) -> None:
    """Renames a tensor in a function, where it has the name of the op's output."""
    for user in host.node_def:
        user.input[:] = [new if ref == old else ref for ref in user.input]
    for name, ref in dict(host.ret).items():
        host.ret[name] = new if ref == old else ref
