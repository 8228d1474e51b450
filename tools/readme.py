"""The README for a package index, which has no files beside it."""

import re


def for_index(text, repository):
    """Replaces the relative links of a Markdown page.

    Args:
        text: The page.
        repository: The address under which the files are, with a slash at its end; None if there is
            no public one, and links become their text.

    Returns:
        The page with absolute links alone.
    """

    def absolute(match):
        label, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match.group(0)
        return label if repository is None else f"[{label}]({repository}{target})"

    return re.sub(r"\[([^\]]*)\]\(([^)\s]+)\)", absolute, text)
