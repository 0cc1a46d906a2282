#!/usr/bin/env bash
# tools/check_layers must pass a tree that keeps the plan, and name each include that breaks it and each circle.
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

# A house of empty rooms, with the table and the page that shows it.
mkdir -p "$root"/veldt/{core,kernels,cpu,cuda,tensor,ops,nn,optim,dist,mpi,io,data,models,onnx,explain,rl,train,recipe,field,cli,app} "$root/docs"
cp "$1/veldt/layers.txt" "$root/veldt"
show() { { echo '# The house'; echo '```'; grep -v -e '^#' -e '^$' "$root/veldt/layers.txt"; echo '```'; } >"$root/docs/design.md"; }
show

rule() {  # TEXT SED: with the table changed by SED, and shown so, the check fails and says TEXT
  sed -i "$2" "$root/veldt/layers.txt"
  show
  catches "$1" veldt/core/good.cpp 'int x;'
  cp "$table" "$root/veldt/layers.txt"
  show
}
table=$1/veldt/layers.txt

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
catches 'recipe -> field' veldt/recipe/bad.cpp '#include "veldt/field/fit.h"'
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

# Programs beside the house use what a user may.
passes examples/xor.cpp '#include "veldt/veldt.h"'
passes bench/ops.cpp '#include "ops/rows.h"' '#include "tests/support/public_ops.h"'
catches 'the arrow examples -> kernels' examples/bad.cpp '#include "veldt/kernels/unary-inl.h"'
catches 'the arrow recipes -> app' recipes/prior/bad.cpp '#include "veldt/app/verbs.h"'
catches 'the arrow bench -> cpu' bench/bad.cpp '#include "veldt/cpu/kernels.h"'
catches 'the arrow bench -> tests' bench/bad.cpp '#include "tests/support/public_ops.h"'
catches 'the arrow nn -> tests' veldt/nn/bad.cpp '#include "tests/support/public_ops.h"'

# The table itself, and the page that shows it.
rule 'the arrow data -> train points up' 's/^data  *->.*/& train/'
rule 'or to no layer' 's/^nn  *->.*/& onnx/'
rule 'there is no folder veldt/attic' 's/^app  *->.*/&\nattic -> core/'
rule 'the line is not an arrow: io core' 's/^io  *->.*/io core/'
rule "veldt/layers.txt does not have its folder" '/^core/s/core/heart/'
sed -i 's/^nn  *->.*/& io/' "$root/docs/design.md"
catches 'the arrows differ from veldt/layers.txt' veldt/core/good.cpp 'int x;'
show
sed -i '/^bench /d' "$root/docs/design.md"
catches 'the arrows differ from veldt/layers.txt' veldt/core/good.cpp 'int x;'
rm "$root/docs/design.md"
catches 'the arrows differ from veldt/layers.txt' veldt/core/good.cpp 'int x;'
show

# Circles: of files, and of two names. A source that includes its own header, or a header that the other's source
# alone includes, is none.
passes veldt/nn/block.h '#include "veldt/nn/layer.h"'
passes veldt/nn/block.cpp '#include "veldt/nn/block.h"'
passes veldt/nn/layer.h '#include "veldt/nn/shape.h"'
catches 'the file includes itself: veldt/nn/block.h -> veldt/nn/layer.h -> veldt/nn/shape.h -> veldt/nn/block.h' \
  veldt/nn/shape.h '#include "veldt/nn/block.h"'
catches 'the file includes itself: veldt/nn/self.h -> veldt/nn/self.h' veldt/nn/self.h '#include "veldt/nn/self.h"'
catches 'veldt/nn/block: it includes veldt/nn/layer, and that includes it' veldt/nn/layer.cpp '#include "veldt/nn/block.h"'
catches 'veldt/nn/block: it includes veldt/nn/layer, and that includes it' veldt/nn/layer-inl.h '#include "veldt/nn/block.h"'
passes veldt/ops/binary.cpp '#include "veldt/ops/reduce.h"'
passes veldt/ops/reduce.cpp '#include "veldt/ops/binary.h"'
passes veldt/tensor/graph.cpp '#include "veldt/tensor/block.h"'
catches 'no longer include each other' veldt/tensor/impl.cpp '#include "veldt/tensor/graph.h"'
passes veldt/tensor/impl.h '#include "veldt/tensor/block.h"'

exit $failed
