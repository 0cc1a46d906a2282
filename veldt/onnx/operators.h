// The operators that Veldt can run, by domain and name. Each file operators_*.cpp adds a family;
// docs/onnx.md lists all.
// Tests: tests/onnx/node_test.cpp
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "veldt/onnx/call.h"

namespace veldt::onnx {

using Operator = Values (*)(const Call&);

struct OperatorEntry {
  Operator run = nullptr;
  // The inputs that are weights where they are constants: through these a gradient should reach them. Bit i
  // for input i. Others (the statistics of a norm, the bounds of a Clip) are not trained.
  std::uint32_t trained = 0;
};

class OperatorTable {
 public:
  // ONNX's own domain is "".
  void add(std::string_view name, Operator run, std::uint32_t trained = 0, std::string_view domain = "");
  // Null if there is none.
  const OperatorEntry* find(std::string_view domain, std::string_view name) const;
  std::vector<std::string> names() const;  // "Conv", "com.microsoft:FusedMatMul", sorted

 private:
  std::map<std::pair<std::string, std::string>, OperatorEntry, std::less<>> entries_;
};

const OperatorTable& operators();

// What operators_*.cpp add.
void add_elementwise(OperatorTable& table);
void add_shape_operators(OperatorTable& table);
void add_indexing(OperatorTable& table);
void add_reductions(OperatorTable& table);
void add_products(OperatorTable& table);
void add_pooling(OperatorTable& table);
void add_norms(OperatorTable& table);
void add_control(OperatorTable& table);
void add_losses(OperatorTable& table);
void add_resizing(OperatorTable& table);
void add_attention(OperatorTable& table);
void add_quantised(OperatorTable& table);
void add_recurrent(OperatorTable& table);
void add_tables(OperatorTable& table);
void add_bytes(OperatorTable& table);
void add_fused(OperatorTable& table);
void add_text(OperatorTable& table);
void add_signals(OperatorTable& table);
void add_random(OperatorTable& table);
void add_training(OperatorTable& table);
void add_sampling(OperatorTable& table);
void add_detection(OperatorTable& table);

}  // namespace veldt::onnx
