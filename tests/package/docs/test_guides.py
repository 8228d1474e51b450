"""The guides run from top to bottom, and print what they say that they print."""

import outputs
import pages
import pytest

GUIDES = (
    "docs/getting-started.md",
    "docs/masks-and-lengths.md",
    "docs/streaming.md",
    "docs/speech.md",
    "docs/forecasting.md",
    "docs/raw-ops.md",
)


@pytest.mark.parametrize("name", GUIDES)
def test_the_blocks_run_and_print_what_the_page_shows(name, tmp_path):
    page = pages.ROOT / name
    _, shown = outputs.found(page)
    printed = outputs.printed(page, tmp_path)
    assert printed
    for said, text in zip(printed, shown, strict=True):
        assert outputs.skeleton(said) == outputs.skeleton(text or "")


def test_another_output_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint('a 1.5')\n```\n\n```text\nb 2.5\n```\n")
    (said,) = outputs.printed(page, tmp_path)
    assert outputs.skeleton(said) == ["a 0"]
    assert outputs.skeleton(outputs.found(page)[1][0]) == ["b 0"]
