#!/usr/bin/env bash
# Installs the linter of prose into .tools/prose. Debian 12's Node, 18, runs textlint 14.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh

command -v npm >/dev/null || apt_install npm || die "npm is missing: install it (Debian: apt-get install npm)"
mkdir -p .tools/prose
with_progress "installing textlint into .tools/prose" .tools/prose \
  npm install --silent --no-audit --no-fund --fetch-retries=1 --fetch-timeout=20000 --prefix .tools/prose \
  textlint@14 textlint-rule-prh@6 </dev/null ||
  die "npm cannot install textlint and textlint-rule-prh: is its registry reachable?"
