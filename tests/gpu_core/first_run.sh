#!/usr/bin/env bash
# All that the GPU core can show without TensorFlow, on a bare GPU machine, unattended:
#   tests/gpu_core/first_run.sh OUT
# Everything is written to OUT/core.log as it is found. Each part has a time limit, under ten minutes in
# all, and one that fails or hangs does not stop the others. The most telling come first.
set -uo pipefail
[ $# = 1 ] || { echo "usage: tests/gpu_core/first_run.sh OUT" >&2; exit 1; }
mkdir -p "$1"
log=$(cd "$1" && pwd)/core.log
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
library=build/gpu_core/libcore.so
export PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
failed=0

part() {  # SECONDS COMMAND...
  local limit=$1 start=$SECONDS status
  shift
  echo "== $*"
  # It ends the whole group of processes, so that none goes on using the GPU.
  timeout -k 5 "$limit" "$@" 2>&1
  status=$?
  echo "== status $status after $((SECONDS - start)) of $limit s"
  [ $status = 0 ] || failed=$((failed + 1))
}

run() {
  part 20 nvidia-smi
  part 90 bash tests/gpu_core/build.sh build/gpu_core
  part 150 python3 tests/gpu_core/checks.py "$library"
  part 70 python3 tests/gpu_core/block_lstm_checks.py "$library"
  part 80 env TF_RNN_OPS_CUDNN_ALGO=auto python3 tests/gpu_core/checks.py "$library"
  part 40 python3 tests/gpu_core/block_lstm_checks.py "$library" --time
  part 90 python3 tests/gpu_core/timings.py "$library"
  echo "== $failed part(s) failed"
  return "$failed"
}

run | tee -a "$log"
exit "${PIPESTATUS[0]}"
