#!/usr/bin/env bash
# The test of ctest: run.sh BENCH_REDRAW. Skipped (77) where there is no Python with NumPy and Pillow.
set -euo pipefail
python=${VELDT_PYTHON:-python3}
if ! "$python" -c 'import numpy, PIL' 2>/dev/null; then
  echo "Skipped: $python has no NumPy and Pillow; VELDT_PYTHON names another interpreter"
  exit 77
fi
here=$(dirname "${BASH_SOURCE[0]}")
"$python" -B "$here/arithmetic_test.py" "$1"
"$python" -B "$here/waves_test.py" "$1"
