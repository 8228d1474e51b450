"""Local mocks of the repositories that Bazel 4 would otherwise download."""

def _mock_repository_impl(repository_ctx):
    root = repository_ctx.path(Label("//third_party/bazel:BUILD")).dirname
    for entry in root.get_child(repository_ctx.attr.folder).readdir():
        repository_ctx.symlink(entry, entry.basename)

# WHY not local_repository: a current Bazel has no native one, and Bazel 4 no other.
_mock_repository = repository_rule(
    implementation = _mock_repository_impl,
    attrs = {"folder": attr.string(mandatory = True)},
    local = True,
)

def offline_bazel_repositories():
    """Defines the repositories that the tools of Bazel 4 refer to, so that nothing is fetched.

    Call it before anything else in WORKSPACE: the first definition of a name wins. Newer versions of
    Bazel need more of these repositories than the mocks have, and define them after WORKSPACE.
    """
    version = native.bazel_version  # empty for Debian's
    if version and not version.startswith("4."):
        return
    for name, folder in {
        "remote_coverage_tools": "coverage_tools",
        "rules_cc": "rules_cc",
        "rules_java": "rules_java",
    }.items():
        _mock_repository(
            name = name,
            folder = folder,
        )
