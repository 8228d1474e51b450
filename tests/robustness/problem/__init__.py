"""Problems of the ops as lines of text; see README.md."""
