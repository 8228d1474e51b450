#!/usr/bin/env bash
# Makes .tools/prose/node_modules, a link to the linter of prose, which all clones share. Debian 12's Node, 18,
# runs textlint 14.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh

command -v npm >/dev/null || apt_install npm || die "npm is missing: install it (Debian: apt-get install npm)"
download() {
  with_progress "installing textlint into $(dirname "$1")" "$1" \
    npm install --silent --no-audit --no-fund --fetch-retries=1 --fetch-timeout=20000 --prefix "$1" \
    textlint@14 textlint-rule-prh@6 </dev/null ||
    die "npm cannot install textlint and textlint-rule-prh: is its registry reachable?"
}
shared_download prose textlint14-prh6 download
mkdir -p .tools/prose
rm -rf .tools/prose/node_modules
ln -s "$downloaded/node_modules" .tools/prose/node_modules
