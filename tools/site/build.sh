#!/usr/bin/env bash
# Builds the guides and the API reference into build/site: tools/site/build.sh PYTHON
# A broken link is an error. PYTHON has TensorFlow, since the reference is read from the imported package.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. tools/common.sh
[ $# = 1 ] || die "usage: tools/site/build.sh PYTHON"

[ -d .tools/site/furo ] ||
  "$1" -m pip install --quiet --disable-pip-version-check --target .tools/site sphinx furo myst-parser ||
  die "pip cannot install sphinx, furo and myst-parser: is its package index reachable?"

# The pages where they are, so that their links work, and those of the API reference.
pages=build/site_pages
rm -rf $pages
mkdir -p $pages/api
git ls-files '*.md' '*.ipynb' '*.svg' '*.png' CITATION.cff LICENSE | grep -v '^tools/' | xargs cp --parents -t $pages
cp tools/site/index.md $pages
PYTHONPATH=. "$1" tools/site/api_pages.py $pages/api
PYTHONPATH=.:.tools/site "$1" -m sphinx --quiet --fail-on-warning --keep-going -c tools/site $pages build/site
