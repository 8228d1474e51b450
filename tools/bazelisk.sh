#!/usr/bin/env bash
# Runs bazelisk with the Bazel that this project builds with:
#   USE_BAZEL_VERSION when set; else Debian's bazel-bootstrap when it is installed;
#   else what .bazelversion names, which bazelisk downloads.
# Builds in different folders share what they compile (build_cache in tools/common.sh).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh

bazelisk=${BAZELISK:-$(command -v bazelisk || true)}
if [ -z "$bazelisk" ] && [ -x .tools/node_modules/.bin/bazelisk ]; then
  bazelisk=$PWD/.tools/node_modules/.bin/bazelisk
fi
[ -n "$bazelisk" ] || die "bazelisk not found: run ./configure.sh, which installs it"

if [ -z "${USE_BAZEL_VERSION:-}" ] && [ -x /usr/bin/bazel-4 ]; then
  USE_BAZEL_VERSION=/usr/bin/bazel-4
fi
export USE_BAZEL_VERSION=${USE_BAZEL_VERSION:-$(head -n 1 .bazelversion)}
case ${1:-} in
  build|test)
    command=$1
    shift
    cache=$(build_cache) || cache=
    if [ -n "$cache" ]; then
      # What no build of two weeks has used.
      find "$cache" -type f -atime +14 -delete 2>/dev/null || true
    fi
    # The cache has results of tests too, which hold for one kind of CPU.
    [ "$command" = build ] || set -- "--test_env=RNN_OPS_CPU=$(grep -m 2 -E '^(model name|flags|Features)' /proc/cpuinfo | cksum)" "$@"
    exec "$bazelisk" "$command" ${cache:+"--disk_cache=$cache"} "$@"
    ;;
esac
exec "$bazelisk" "$@"
