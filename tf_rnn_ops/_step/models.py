"""The content of a file for a Keras model. The rooms of Keras, which lie above this one, hand over the function."""

from typing import Any, Callable

_content: Callable[..., bytes] | None = None


def install(content: Callable[..., bytes]) -> None:
    """Hands over keras/_export/stepper/stepper.content, or a function that imports it first."""
    global _content
    _content = content


def content(model: Any, *arguments: Any) -> bytes:
    """See keras/_export/stepper/stepper.content."""
    assert _content is not None  # tf_rnn_ops itself calls install()
    return _content(model, *arguments)
