// How a case is run and compared.
#include "tests/onnx/cases.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "veldt/core/error.h"
#include "veldt/onnx/network.h"
#include "veldt/ops/shape.h"

namespace veldt::onnx {

namespace fs = std::filesystem;

std::vector<std::string> cases_in(const std::string& root) {
  std::vector<std::string> out;
  if (!fs::is_directory(root)) return out;
  for (const auto& entry : fs::directory_iterator(root))
    if (fs::exists(entry.path() / "model.onnx")) out.push_back(entry.path().string());
  std::sort(out.begin(), out.end());
  return out;
}

std::string difference(const Value& got, const Value& wanted) {
  using Kind = Value::Kind;
  if (got.kind() != wanted.kind() && wanted.kind() == Kind::optional && wanted.items().size() == 1)
    return difference(got, wanted.items()[0]);
  if (got.kind() != wanted.kind()) return str("it is ", got.description(), ", not ", wanted.description());
  if (wanted.kind() == Kind::sequence || wanted.kind() == Kind::optional) {
    if (got.items().size() != wanted.items().size())
      return str("it is ", got.description(), ", not ", wanted.description());
    for (std::size_t i = 0; i < got.items().size(); ++i)
      if (std::string text = difference(got.items()[i], wanted.items()[i]); !text.empty())
        return str("item ", i, ": ", text);
    return "";
  }
  if (got.type() != wanted.type() || !(got.shape() == wanted.shape()))
    return str("it is ", got.description(), ", not ", wanted.description());
  if (wanted.kind() == Kind::texts) {
    for (std::size_t i = 0; i < got.texts().values.size(); ++i)
      if (got.texts().values[i] != wanted.texts().values[i])
        return str("text ", i, " is \"", got.texts().values[i], "\", not \"", wanted.texts().values[i], '"');
    return "";
  }
  const std::vector<double> a = to(got.tensor(), DType::f64).values<double>(),
                            b = to(wanted.tensor(), DType::f64).values<double>();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i] || std::fabs(a[i] - b[i]) <= 1e-7 + 1e-3 * std::fabs(b[i])) continue;
    return str("element ", i, " is ", a[i], ", not ", b[i]);
  }
  return "";
}

std::string failure_of(const std::string& folder, Device device,
                       const std::function<Value(const Value&)>& placed) {
  try {
    Network network = load(folder + "/model.onnx");
    network.to(device);
    for (int set = 0;; ++set) {
      const std::string data = str(folder, "/test_data_set_", set);
      if (!fs::is_directory(data)) return set > 0 ? "" : "no data";
      Values inputs;
      for (std::size_t i = 0; i < network.inputs().size(); ++i) {
        const std::string file = str(data, "/input_", i, ".pb");
        if (!fs::exists(file)) break;
        const Value input = read_value(file, network.inputs()[i].type);
        inputs.push_back(placed ? placed(input) : input);
      }
      const Values outputs = network.run(std::move(inputs));
      for (std::size_t i = 0; i < network.outputs().size(); ++i) {
        const std::string file = str(data, "/output_", i, ".pb");
        if (!fs::exists(file)) continue;
        const Value wanted = read_value(file, network.outputs()[i].type);
        if (std::string text = difference(outputs[i], wanted); !text.empty())
          return str("output ", i, ": ", text);
      }
    }
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace veldt::onnx
