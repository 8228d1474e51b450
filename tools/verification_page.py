"""Writes the report of a run on a GPU: tools/test_gpu.py and tests/gpu/core/run.py each write a part."""

import os


def write(path, part, text):
    """Writes text between the marks of a part of a page, or makes the page.

    If the process is killed during the call, the page does not change.
    """
    begin, end = f"<!-- begin {part} -->", f"<!-- end {part} -->"
    page = path.read_text() if path.exists() else f"{begin}\n{end}\n"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    new = path.with_name(path.name + ".new")
    new.write_text(f"{before}{begin}\n{text}{end}{after}")
    os.replace(new, path)
