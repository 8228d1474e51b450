"""Pairs the layers and variables of a model with those of its copy.

They are paired by the path of attributes to them, as in Keras's files of weights. WHY not by their
position in a list: it depends on the order in which a class sets its attributes.
"""

import functools
from typing import NamedTuple

import keras

from tf_rnn_ops.keras._convert.advice import ACCELERATE
from tf_rnn_ops.keras._internals.layers import held


class Pairs(NamedTuple):
    """The layers and variables of a model, each with its copy.

    Attributes:
        layers: Pairs (layer, copy), the model first, each layer before the layers inside of it.
        variables: Pairs (variable, copy).
    """

    layers: list
    variables: list


def is_graph(layer):
    """Whether it is a sequential or functional model, whose layers have names of their own."""
    return isinstance(layer, (keras.Sequential, type(_functional())))


@functools.cache
def variable_class():
    """The class of Keras's variables; keras.Variable is a subclass of it in Keras 3.5."""
    return type(keras.random.SeedGenerator(0).state)


def pair(model, copy):
    """Pairs the layers and variables of a model with those of its copy, without Input layers.

    Args:
        model: A Keras 3 model or layer.
        copy: Its copy.

    Returns:
        Pairs.

    Raises:
        ValueError: The model and its copy do not have the same layers and variables.
    """
    walk = _Walk(model)
    walk.layer(model, copy, model.name)
    return Pairs(list(walk.layers.values()), list(walk.variables.values()))


class _Walk:
    """One walk through a model and its copy.

    Attributes:
        layers: {id of a layer: (layer, copy)}, in the order of Pairs.layers.
        variables: {id of a variable: (variable, copy)}.
    """

    def __init__(self, model):
        self.layers, self.variables = {}, {}
        self._seeds, self._paths, self._sources = {}, {}, {}
        self._model = model

    def layer(self, layer, copy, path):
        """Pairs two layers, their inner layers and their variables."""
        if not self._record(self.layers, layer, copy, path):
            return
        if type(layer).__name__ != type(copy).__name__ and not (is_graph(layer) and is_graph(copy)):
            self._fail(
                f"{path} must be a {type(layer).__name__}, but it is a {type(copy).__name__}"
            )
        if is_graph(layer):
            self._by_name(layer, copy, path)
        ours, theirs = vars(layer), vars(copy)
        for name, value in ours.items():
            if name in theirs and name not in _own_attributes():
                self._attributes(value, theirs[name], f"{path}/{name}", [])
        self._by_position(layer, copy, path)

    def _by_name(self, model, copy, path):
        layers, copies = self._without_inputs(model.layers), self._without_inputs(copy.layers)
        twins = {inner.name: inner for inner in copies}
        # Automatic names of layers differ in a copy.
        if {inner.name for inner in layers} == twins.keys():
            for inner in layers:
                self.layer(inner, twins[inner.name], f"{path}/{inner.name}")

    def _attributes(self, value, copy, path, around):
        """Pairs the values of two attributes, or two elements of containers. `around`: the containers."""
        if isinstance(value, keras.layers.Layer) and isinstance(copy, keras.layers.Layer):
            self.layer(value, copy, path)
        elif isinstance(value, variable_class()) and isinstance(copy, variable_class()):
            self._variable(value, copy, path)
        elif isinstance(value, keras.random.SeedGenerator):
            self._seed(value, copy, path)
        elif any(value is one for one in around):
            return  # The container contains itself.
        elif isinstance(value, dict) and isinstance(copy, dict):
            for key in value.keys() & copy.keys():
                self._attributes(value[key], copy[key], f"{path}/{key}", [*around, value])
        elif isinstance(value, (list, tuple)) and isinstance(copy, (list, tuple)):
            for k, pair_ in enumerate(zip(value, copy)):
                self._attributes(*pair_, f"{path}/{k}", [*around, value])

    def _by_position(self, layer, copy, path):
        """Pairs layers and variables that no attribute leads to by position. Their numbers must be equal."""
        in_copy = held(copy)
        for what, things in held(layer).items():
            seen = {"layers": self.layers, "variables": self.variables}.get(what, self._seeds)
            copied = {id(other) for _, other in seen.values()}
            both = self._without_inputs(things), self._without_inputs(in_copy[what])
            if len(both[0]) != len(both[1]):
                self._fail(
                    f"{path} must have {len(both[0])} {what} of its own, but it has {len(both[1])}"
                )
            left = [one for one in both[0] if id(one) not in seen]
            new = [one for one in both[1] if id(one) not in copied]
            pair_up = {"layers": self.layer, "variables": self._variable}.get(what, self._seed)
            for k, (one, other) in enumerate(zip(left, new)):
                pair_up(one, other, f"{path}/{getattr(one, 'name', k)}")

    def _without_inputs(self, things):
        """The layers without Input layers.

        A copy may have more of them, since its inner models do not share them.
        """
        return [one for one in things if not isinstance(one, keras.layers.InputLayer)]

    def _variable(self, variable, copy, path):
        if self._record(self.variables, variable, copy, path) and variable.shape != copy.shape:
            self._fail(f"{path} must have the shape {variable.shape}, but it has {copy.shape}")

    def _seed(self, generator, copy, path):
        if isinstance(copy, keras.random.SeedGenerator) and self._record(
            self._seeds, generator, copy, path
        ):
            self._variable(generator.state, copy.state, f"{path}/state")

    def _record(self, found, one, copy, path):
        """Records a pair, and tells whether it is new.

        Raises:
            ValueError: One of the two belongs to another pair.
        """
        before = found.get(id(one))
        if before is not None and before[1] is not copy:
            raise ValueError(
                f"convert: {self._paths[id(one)]} and {path} of {self._model.name!r} are one object, but the copy has two "
                "objects, because a config does not record that an object is shared: give each attribute its own "
                f"object, or do not make a copy: {ACCELERATE}"
            )
        if before is None and self._sources.get(id(copy), one) is not one:
            self._fail(
                f"{self._paths[id(self._sources[id(copy)])]} and {path} are one object in it"
            )
        found[id(one)] = (one, copy)
        self._paths.setdefault(id(one), path)
        self._sources[id(copy)] = one
        return before is None

    def _fail(self, difference):
        raise ValueError(
            f"The copy of {self._model.name!r} through get_config and from_config differs from it: "
            f"{difference}. If its class creates layers or weights when it is called, give it a build "
            f"method, or do not make a copy: {ACCELERATE}"
        )


@functools.cache
def _functional():
    inputs = keras.Input((1,))
    return keras.Model(inputs, keras.layers.Identity()(inputs))


@functools.cache
def _own_attributes():
    """Attributes that Keras itself adds to layers and models. Attributes of classes are not included."""
    sequential = keras.Sequential([keras.layers.Identity()])
    return set().union(*map(vars, (keras.layers.Identity(), sequential, _functional())))
