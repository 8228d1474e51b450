"""The notebook of the examples runs from top to bottom, and prints what is stored in it."""

from support import pages

NOTEBOOK = pages.ROOT / "examples" / "quickstart.ipynb"


def test_the_cells_run_and_print_what_is_stored(tmp_path):
    for printed, stored in pages.run_notebook(NOTEBOOK, tmp_path):
        assert pages.skeleton(printed) == pages.skeleton(stored)
