// Puts what a file of tensors holds into JSON.
#include "veldt/app/describe_state.h"

#include <map>
#include <nlohmann/json.hpp>

#include "veldt/io/directory.h"
#include "veldt/io/file.h"

namespace veldt::app {

nlohmann::ordered_json describe_state(const std::string& path, const io::LoadedState& state) {
  using StateJson = nlohmann::ordered_json;
  StateJson out = {{"kind", state.format}, {"path", path}};
  if (!io::is_directory(path)) out["bytes"] = io::InputFile(path).size();
  if (!state.taken.empty()) out["taken"] = state.taken;
  std::int64_t numbers = 0;
  for (const NamedTensor& named : state.tensors) numbers += named.tensor.numel();
  out["numbers"] = numbers;
  if (!state.left_out.empty()) {
    out["left_out"] = StateJson::array();
    for (const io::LeftOut& part : state.left_out)
      out["left_out"].push_back({{"name", part.name}, {"what", part.what}});
  }
  std::map<std::string, std::string> from;
  for (const io::ConvertedTensor& tensor : state.converted) from[tensor.name] = tensor.from;
  out["tensors"] = StateJson::array();
  for (const auto& [name, tensor] : state.tensors) {
    StateJson row = {{"name", name},
                     {"dtype", name_of(tensor.dtype())},
                     {"shape", std::vector<std::int64_t>(tensor.shape().begin(), tensor.shape().end())}};
    // In each row, so that they are the columns of a table.
    if (!from.empty())
      row["in_file"] = from.contains(name) ? from.at(name) : std::string(name_of(tensor.dtype()));
    out["tensors"].push_back(row);
  }
  return out;
}

}  // namespace veldt::app
