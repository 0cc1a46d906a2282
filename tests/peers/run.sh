#!/usr/bin/env bash
# The test of ctest: run.sh OPS_SERVER CASES. Skipped (77) where there is no Python with PyTorch and NumPy.
set -euo pipefail
python=${VELDT_PYTHON:-python3}
if ! "$python" -c 'import numpy, torch' 2>/dev/null; then
  echo "Skipped: $python has no PyTorch and NumPy; VELDT_PYTHON names another interpreter"
  exit 77
fi
exec "$python" -B "$(dirname "${BASH_SOURCE[0]}")/driver.py" "$1" --cases "$2"
