"""The shared objects: finding and loading them, and saying why one is missing."""
