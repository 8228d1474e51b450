"""The shared objects: finds and loads them, and tells why one is missing."""
