"""Makes the README for a package index, which does not have the other files of the repository."""

import re


def for_index(text, repository):
    """Replaces the relative links of a Markdown page.

    Args:
        text: The page.
        repository: The address of the files, with a slash at its end. If it is None, links become their
            text, and images disappear.

    Returns:
        The page with absolute links only.
    """

    def absolute(match):
        image, label, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match.group(0)
        if repository is None:
            return "" if image else label
        return f"{image}[{label}]({repository}{target})"

    return re.sub(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)", absolute, text)
