"""The check of a file against its model."""
