"""Writes the parts of docs/history/gpu-h100.md that runs on a GPU make."""

import os


def write(path, part, text):
    """Puts text between the marks of a part of a page, or makes the page.

    A process that is killed meanwhile leaves the page as it was.
    """
    begin, end = f"<!-- begin {part} -->", f"<!-- end {part} -->"
    page = path.read_text() if path.exists() else f"{begin}\n{end}\n"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    new = path.with_name(path.name + ".new")
    new.write_text(f"{before}{begin}\n{text}{end}{after}")
    os.replace(new, path)
