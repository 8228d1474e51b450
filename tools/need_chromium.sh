#!/usr/bin/env bash
# Makes sure that the system has Chromium, which the test of the site runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh

command -v chromium >/dev/null || apt_install chromium ||
  die "chromium not found: install it (Debian: apt-get install chromium)"
