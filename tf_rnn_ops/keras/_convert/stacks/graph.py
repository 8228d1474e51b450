"""The masks of functional and sequential models of Keras and of the models inside of them."""

import keras

from tf_rnn_ops.params.keras.internals import call_of, mask_of


def calls_of(model):
    """The calls in a functional or built sequential model, each once, from the outputs to the inputs."""
    found, pending = {}, list(model.outputs)
    for tensor in pending:
        node = call_of(tensor)[0]
        if id(node) not in found:
            found[id(node)] = node
            pending += node.input_tensors
    return list(found.values())


def has_graph(model):
    """Whether a model is functional, or sequential with inputs whose shapes Keras knows."""
    return model.built and getattr(model, "outputs", None) is not None


def given(node, name):
    """The value of an argument of a call; None if it is not given."""
    return node.arguments.kwargs.get(name)


def maskable(model, is_rebuilt):
    """The layers of models that get a mask only at run time.

    A model inside of another model has its own graph, in which its inputs have no mask.

    Args:
        model: A Keras 3 model. Its inputs are assumed to have no mask.
        is_rebuilt: A function that tells whether a copy of a model can have other layers.

    Returns:
        {id of a layer: the name of the model around it}.
    """
    found, seen = {}, set()

    def visit(outer, is_masked):
        if (id(outer), is_masked) in seen or not is_rebuilt(outer):
            return
        seen.add((id(outer), is_masked))
        if is_masked:
            found.update({id(layer): outer.name for layer in outer.layers})
        masked = _called_with_masks(outer)
        for inner in outer.layers:
            visit(inner, is_masked or id(inner) in masked)

    visit(model, False)
    return found


def _called_with_masks(model):
    """Ids of the layers that a model calls with a mask, as far as its graph tells; all without a graph."""
    if not has_graph(model):
        return set(map(id, model.layers))
    return {
        id(node.operation)
        for node in calls_of(model)
        if any(
            mask is not None
            for mask in (
                *keras.tree.flatten(given(node, "mask")),
                *(mask_of(one) for one in node.input_tensors),
            )
        )
    }
