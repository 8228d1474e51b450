"""Carries the flag supports_jit, by which a user keeps a layer out of XLA."""


def carry(layers, new_layers):
    """Keeps copies out of XLA if a user has set supports_jit=False of one of the layers.

    Args:
        layers: Layers of the model.
        new_layers: The layers in their place. False that their own classes say stays.
    """
    if any(_is_forbidden(layer) for layer in layers):
        for layer in new_layers:
            if layer.supports_jit:
                layer.supports_jit = False


def _is_forbidden(layer):
    """True also for a class that forbids XLA itself; its copy does so too."""
    return vars(layer).get("_jit_forbidden", not layer.supports_jit)
