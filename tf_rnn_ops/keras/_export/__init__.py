"""export: writes a model for another runtime and compares the two."""
