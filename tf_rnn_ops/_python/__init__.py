"""Tools that Python lacks. They import the standard library only."""
