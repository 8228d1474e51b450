"""Reports on a model: explain and compare."""
