"""Pairs the layers and variables of a model with those of its copy.

They are paired by the path of attributes to them, as in Keras's files of weights. WHY not by their
position in a list: it depends on the order in which a class sets its attributes.
"""

import functools
from typing import Any, NamedTuple, NoReturn, Sequence

import keras

from tf_rnn_ops.keras._internals.layers import held

# The end of several error messages of the copy of a model.
ACCELERATE = "tf_rnn_ops.keras.accelerate() speeds up a model without a copy."


class Pairs(NamedTuple):
    """The layers and variables of a model, each with its copy.

    Attributes:
        layers: Pairs (layer, copy), the model first, each layer before the layers inside of it.
        variables: Pairs (variable, copy).
    """

    layers: list[tuple[Any, Any]]
    variables: list[tuple[Any, Any]]


def is_graph(layer: Any) -> bool:
    """Whether it is a sequential or functional model, whose layers have names of their own."""
    return isinstance(layer, (keras.Sequential, type(_functional())))


@functools.cache
def variable_class() -> type:
    """The class of Keras's variables; keras.Variable is a subclass of it in Keras 3.5."""
    return type(keras.random.SeedGenerator(0).state)


def pair(model: keras.layers.Layer, copy: keras.layers.Layer) -> Pairs:
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
    rows = [(row.original, row.copy) for row in walk.rows.values()]
    no_layers = (variable_class(), keras.random.SeedGenerator)
    return Pairs(
        layers=[row for row in rows if not isinstance(row[0], no_layers)],
        variables=[row for row in rows if isinstance(row[0], variable_class())],
    )


class _Row(NamedTuple):
    """An object of a model and that of the copy, with the path that first led to them."""

    path: str
    original: Any
    copy: Any


class _Walk:
    """One walk through a model and its copy.

    Attributes:
        rows: {id of an object of the model: its _Row}, in the order of Pairs.
    """

    def __init__(self, model: keras.layers.Layer) -> None:
        self.rows: dict[int, _Row] = {}
        # {id of an object of the copy: the same row}.
        self._of_copies: dict[int, _Row] = {}
        self._model = model

    def layer(self, layer: Any, copy: Any, path: str) -> None:
        """Pairs two layers, their inner layers and their variables."""
        if not self._record(layer, copy, path):
            return
        if type(layer).__name__ != type(copy).__name__ and not (is_graph(layer) and is_graph(copy)):
            self._fail(
                f"{path} must be a {type(layer).__name__}, but it is a {type(copy).__name__}"
            )
        if is_graph(layer):
            self._by_name(layer, copy, path)
        attributes, of_copy = vars(layer), vars(copy)
        for name, value in attributes.items():
            if name in of_copy and name not in _own_attributes():
                self._attributes(value, of_copy[name], f"{path}/{name}", [])
        self._by_position(layer, copy, path)

    def _by_name(self, model: Any, copy: Any, path: str) -> None:
        layers, copies = _without_inputs(model.layers), _without_inputs(copy.layers)
        twins = {inner.name: inner for inner in copies}
        # Automatic names of layers differ in a copy.
        if {inner.name for inner in layers} == twins.keys():
            for inner in layers:
                self.layer(inner, twins[inner.name], f"{path}/{inner.name}")

    def _attributes(self, value: Any, copy: Any, path: str, around: list) -> None:
        """Pairs the values of two attributes, or two elements of containers. `around`: the containers."""
        if isinstance(value, keras.layers.Layer) and isinstance(copy, keras.layers.Layer):
            self.layer(value, copy, path)
        elif isinstance(value, variable_class()) and isinstance(copy, variable_class()):
            self._variable(value, copy, path)
        elif isinstance(value, keras.random.SeedGenerator):
            self._seed(value, copy, path)
        elif any(value is container for container in around):
            return  # The container contains itself.
        elif isinstance(value, dict) and isinstance(copy, dict):
            for key in value.keys() & copy.keys():
                self._attributes(value[key], copy[key], f"{path}/{key}", [*around, value])
        elif isinstance(value, (list, tuple)) and isinstance(copy, (list, tuple)):
            for k, (element, of_copy) in enumerate(zip(value, copy)):
                self._attributes(element, of_copy, f"{path}/{k}", [*around, value])

    def _by_position(self, layer: Any, copy: Any, path: str) -> None:
        """Pairs layers and variables that no attribute leads to by position. Their numbers must be equal."""
        of_layer, of_copy = held(layer), held(copy)
        for kind, pair_up in (
            ("layers", self.layer),
            ("variables", self._variable),
            ("seed generators", self._seed),
        ):
            members, copies = _without_inputs(of_layer[kind]), _without_inputs(of_copy[kind])
            if len(members) != len(copies):
                self._fail(
                    f"{path} must have {len(members)} {kind} of its own, but it has {len(copies)}"
                )
            members = [member for member in members if id(member) not in self.rows]
            copies = [twin for twin in copies if id(twin) not in self._of_copies]
            for k, (member, twin) in enumerate(zip(members, copies)):
                pair_up(member, twin, f"{path}/{getattr(member, 'name', k)}")

    def _variable(self, variable: Any, copy: Any, path: str) -> None:
        if self._record(variable, copy, path) and variable.shape != copy.shape:
            self._fail(f"{path} must have the shape {variable.shape}, but it has {copy.shape}")

    def _seed(self, generator: Any, copy: Any, path: str) -> None:
        if isinstance(copy, keras.random.SeedGenerator) and self._record(generator, copy, path):
            self._variable(generator.state, copy.state, f"{path}/state")

    def _record(self, original: Any, copy: Any, path: str) -> bool:
        """Adds a row, and tells whether it is new.

        Raises:
            ValueError: One of the two belongs to another row.
        """
        row = self.rows.get(id(original))
        if row is not None and row.copy is not copy:
            raise ValueError(
                f"convert: {row.path} and {path} of {self._model.name!r} are one object, but the copy "
                "has two objects, because a config does not record that an object is shared: give each attribute its "
                f"own object, or do not make a copy: {ACCELERATE}"
            )
        if row is None:
            if other := self._of_copies.get(id(copy)):
                self._fail(f"{other.path} and {path} are one object in it")
            self.rows[id(original)] = self._of_copies[id(copy)] = _Row(path, original, copy)
        return row is None

    def _fail(self, difference: str) -> NoReturn:
        raise ValueError(
            f"The copy of {self._model.name!r} through get_config and from_config differs from it: "
            f"{difference}. If its class creates layers or weights when it is called, give it a build "
            f"method, or do not make a copy: {ACCELERATE}"
        )


def _without_inputs(members: Sequence) -> list:
    """The members without Input layers. A copy may have more of these, since its inner models do not share them."""
    return [member for member in members if not isinstance(member, keras.layers.InputLayer)]


@functools.cache
def _functional() -> keras.Model:
    inputs = keras.Input((1,))
    return keras.Model(inputs, keras.layers.Identity()(inputs))


@functools.cache
def _own_attributes() -> set[str]:
    """Attributes that Keras itself adds to layers and models. Attributes of classes are not included."""
    sequential = keras.Sequential([keras.layers.Identity()])
    return set().union(*map(vars, (keras.layers.Identity(), sequential, _functional())))
