"""What export() may reject: the rows of a table of docs/export.md."""


def outcome(network, format, message):
    return f"refused: {message[:300]}"
