// Module::summary(): the tree of modules as a table.
#include <algorithm>
#include <array>
#include <map>

#include "veldt/core/error.h"
#include "veldt/nn/evaluating.h"
#include "veldt/ops/create.h"
#include "veldt/tensor/graph.h"

namespace veldt::nn {
namespace {

struct Row {
  std::string name;
  const Module* module = nullptr;
  std::string output = "-";
  double flops = 0;
  std::int64_t parameters = 0, bytes = 0;  // of tensors that are its own members
};

// The rows of the tree by path, in the order of fields().
class Rows : public Fields {
 public:
  explicit Rows(Module& root) {
    rows_.push_back({.name = root.title(), .module = &root});
    at_[""] = 0;
    root.fields(*this);
  }
  std::vector<Row>& rows() { return rows_; }

 protected:
  void on_module(const std::string& path, int depth, Module& m) override {
    const auto [parent, length] = owner(path);
    const std::string name = path.substr(length == 0 ? 0 : length + 1);
    at_[path] = rows_.size();
    rows_.push_back({.name = std::string(2 * static_cast<std::size_t>(depth), ' ') + name + ": " + m.title(),
                     .module = &m});
  }
  void on_tensor(const std::string& path, Tensor& t) override {
    if (std::find(seen_.begin(), seen_.end(), t.impl()) != seen_.end()) return;
    seen_.push_back(t.impl());
    Row& row = rows_[owner(path).first];
    if (is_parameter(t) || t.requires_grad()) row.parameters += t.numel();
    row.bytes += t.numel() * static_cast<std::int64_t>(size_of(t.dtype()));
  }

 private:
  // The row of the module that holds the member, and the length of its path. Elements of a vector have names
  // with several parts.
  std::pair<std::size_t, std::size_t> owner(std::string path) const {
    for (std::size_t dot = path.rfind('.'); dot != std::string::npos; dot = path.rfind('.')) {
      path.resize(dot);
      if (const auto found = at_.find(path); found != at_.end()) return {found->second, dot};
    }
    return {0, 0};
  }

  std::vector<Row> rows_;
  std::map<std::string, std::size_t> at_;
  std::vector<const TensorImpl*> seen_;
};

// Fills in the modules' work. The operations of several calls are added up.
class Calls : public CallListener {
 public:
  explicit Calls(std::vector<Row>& rows) : rows_(rows) {}
  void on_call(const Module& module, const TensorList& inputs, const TensorList& outputs) override {
    for (Row& row : rows_) {
      if (row.module != &module) continue;
      row.output.clear();
      for (const Tensor& y : outputs)
        if (y.defined()) row.output += str(row.output.empty() ? "" : ", ", y.shape());
      if (!inputs.empty() && !outputs.empty())
        row.flops += module.flops(inputs[0].shape(), outputs[0].shape());
    }
  }

 private:
  std::vector<Row>& rows_;
};

// Columns as wide as their widest entry, the first one to the left, the others to the right.
std::string table(const std::vector<std::array<std::string, 5>>& lines) {
  std::array<std::size_t, 5> width{};
  for (const auto& line : lines)
    for (std::size_t c = 0; c < line.size(); ++c) width[c] = std::max(width[c], line[c].size());
  std::string out;
  for (const auto& line : lines) {
    out += line[0] + std::string(width[0] - line[0].size(), ' ');
    for (std::size_t c = 1; c < line.size(); ++c)
      out += "  " + std::string(width[c] - line[c].size(), ' ') + line[c];
    out += '\n';
  }
  return out;
}

std::string text_of(double flops) { return std::to_string(static_cast<std::int64_t>(flops)); }

}  // namespace

std::string Module::summary(const Shape& input) const {
  const NamedTensors all = state_dict();
  const auto floats =
      std::find_if(all.begin(), all.end(), [](const auto& t) { return is_float(t.tensor.dtype()); });
  if (floats == all.end()) return summary(zeros(input));
  return summary(zeros(input, floats->tensor.dtype(), floats->tensor.device()));
}

std::string Module::summary(const Tensor& input) const {
  Rows tree(const_cast<Module&>(*this));  // fields() returns references; nothing is changed through them
  std::vector<Row>& rows = tree.rows();
  {
    const NoGrad off;
    const Evaluating evaluating(*this);
    Calls calls(rows);
    (*this)(input);
  }
  std::vector<std::array<std::string, 5>> lines{{"module", "output", "parameters", "bytes", "FLOPs"}};
  std::int64_t bytes = 0;
  double flops = 0;
  for (const Row& row : rows) {
    lines.push_back({row.name, row.output, std::to_string(row.parameters), std::to_string(row.bytes),
                     text_of(row.flops)});
    bytes += row.bytes;
    flops += row.flops;
  }
  return table(lines) + str("input ", input.shape(), ": ", parameter_count(), " parameters, ", bytes,
                            " bytes, ", text_of(flops), " FLOPs\n");
}

}  // namespace veldt::nn
