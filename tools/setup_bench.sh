#!/usr/bin/env bash
# oneDNN for the benchmarks, which is optional. The other libraries are in tools/requirements/test.txt.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. tools/common.sh

[ -e /usr/include/oneapi/dnnl/dnnl.hpp ] || apt_install libdnnl-dev ||
  echo "no oneDNN: it is left out (Debian: apt-get install libdnnl-dev)"
