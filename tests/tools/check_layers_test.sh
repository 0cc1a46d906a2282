#!/usr/bin/env bash
# tools/check_layers must pass a tree that keeps the plan and name each include that breaks it.
# Usage: check_layers_test.sh REPOSITORY
set -euo pipefail
check=$1/tools/check_layers
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
failed=0

plant() {  # FILE LINE...: a file of that content in the tree
  mkdir -p "$root/$(dirname "$1")"
  printf '%s\n' "${@:2}" >"$root/$1"
}

catches() {  # TEXT FILE LINE...: with FILE planted, the check fails and says TEXT
  local text=$1 file=$2 out
  plant "${@:2}"
  if out=$("$check" "$root" 2>&1); then
    printf 'FAIL: %s passed with: %s\n' "$file" "${*:3}"
    failed=1
  elif [[ $out != *"$text"* ]]; then
    printf 'FAIL: %s: no "%s" in:\n%s\n' "$file" "$text" "$out"
    failed=1
  fi
  rm "$root/$file"
}

passes() {  # FILE LINE...: with FILE planted, the check passes; FILE stays
  plant "$@"
  "$check" "$root" >"$root/out" 2>&1 || { printf 'FAIL: %s\n%s\n' "$1" "$(cat "$root/out")"; failed=1; }
}

passes veldt/core/shape.h '#pragma once' '#include <vector>'
passes veldt/nn/linear.cpp '#include "veldt/nn/linear.h"' '#include "veldt/ops/matmul.h"' '#include "veldt/core/error.h"'
passes veldt/tensor/backends.cpp '#include "veldt/cpu/cpu_backend.h"'
passes veldt/ops/unary.cpp '#include "veldt/kernels/unary-inl.h"'
passes veldt/cpu/unary.cpp '#include "hwy/foreach_target.h"' '#include <dnnl.hpp>'
passes veldt/cpu/lanes.h '#include "hwy/highway.h"'
passes veldt/field/fit.cpp '#include "veldt/train/events.h"' '#include <nlohmann/json.hpp>'
passes veldt/data/pixels.cpp '#include "veldt/io/csv.h"'
passes veldt/app/main.cpp '#include "veldt/veldt.h"' '#include "veldt/cpu/cpu_backend.h"' '#include "veldt/app/verbs.h"'
passes veldt/veldt.h '#include "veldt/nn/linear.h"' '#include "veldt/field/fit.h"'

catches 'veldt/core/bad.h:2: the arrow core -> nn' veldt/core/bad.h '#pragma once' '#include "veldt/nn/linear.h"'
catches 'core may include nothing but itself' veldt/core/bad.cpp '#include "veldt/tensor/tensor.h"'
catches 'tensor -> cpu' veldt/tensor/bad.cpp '#include "veldt/cpu/cpu_backend.h"'
catches 'nn -> kernels' veldt/nn/bad.cpp '#include "veldt/kernels/unary-inl.h"'
catches 'optim -> nn' veldt/optim/bad.cpp '  #  include "veldt/nn/linear.h"'
catches 'io -> data' veldt/io/bad.cpp '#include "veldt/data/pixels.h"'
catches 'data may include core, tensor, ops, io' veldt/data/bad.cpp '#include "veldt/nn/linear.h"'
catches 'train -> field' veldt/train/bad.cpp '#include "veldt/field/fit.h"'
catches 'cpu -> tensor' veldt/cpu/bad.cu '#include "veldt/tensor/tensor.h"'
catches 'field -> app' veldt/field/bad.cpp '#include "veldt/app/verbs.h"'
catches 'includes the umbrella' veldt/field/bad.cpp '#include "veldt/veldt.h"'
catches 'does not name its layer' veldt/nn/bad.cpp '#include "linear.h"'
catches 'does not name its layer' veldt/core/bad.cpp '#include "../nn/linear.h"'
catches 'goes through ..' veldt/core/bad.cpp '#include "veldt/core/../nn/linear.h"'
catches 'public header includes <dnnl.hpp>' veldt/ops/bad.h '#include <dnnl.hpp>'
catches 'public header includes <hwy/highway.h>' veldt/core/bad.h '#include "hwy/highway.h"'
catches 'public header includes <cuda_runtime.h>' veldt/tensor/bad.h '#include <cuda_runtime.h>'
catches 'public header includes <gtest/gtest.h>' veldt/nn/bad.h '#include <gtest/gtest.h>'
catches 'public header includes <nlohmann/json.hpp>' veldt/train/bad.h '#include <nlohmann/json.hpp>'
catches 'no layer of the house' veldt/misc/bad.cpp 'int x;'
catches 'no layer of the house' veldt/stray.cpp 'int x;'

exit $failed
