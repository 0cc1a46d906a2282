// Keeps the weights of the best evaluations, and removes those that are no longer among them.
#include "veldt/train/top_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/safetensors.h"

namespace veldt::train {

void TopWeights::begin(std::int64_t step) const {
  if (!io::is_directory(folder_)) return;
  for (const std::string& file : io::list_directory(folder_)) {
    const std::string prefix = "step-", suffix = ".safetensors";
    if (!file.starts_with(prefix) || !file.ends_with(suffix)) continue;
    std::int64_t of = 0;
    const auto [end, error] = std::from_chars(file.data() + prefix.size(), file.data() + file.size(), of);
    if (error == std::errc() && end == file.data() + file.size() - suffix.size() && (of > step || step == 0))
      io::remove_file(folder_ + '/' + file);
  }
}

void TopWeights::add(std::int64_t step, double value, const NamedTensors& state) {
  if (std::isnan(value)) return;
  struct Kept {
    double value;
    std::string file;  // sorts by its step
  };
  std::vector<Kept> all{{value, fmt::format("step-{:09}.safetensors", step)}};
  io::make_directories(folder_);
  for (const std::string& file : io::list_directory(folder_)) {
    if (!file.starts_with("step-") || !file.ends_with(".safetensors") || file == all[0].file) continue;
    const auto metadata = io::read_safetensors_header(folder_ + '/' + file).metadata;
    const auto found = metadata.find(name_);
    if (found == metadata.end()) continue;  // of another run
    double kept = 0;
    const char* const end = found->second.data() + found->second.size();
    if (const auto read = std::from_chars(found->second.data(), end, kept);
        read.ec != std::errc() || read.ptr != end || std::isnan(kept))
      continue;
    all.push_back({kept, file});
  }
  const std::string own = all[0].file;
  std::sort(all.begin(), all.end(), [this](const Kept& a, const Kept& b) {
    return a.value != b.value ? (larger_ ? a.value > b.value : a.value < b.value) : a.file < b.file;
  });
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool stays = static_cast<std::int64_t>(i) < count_;
    if (!stays) io::remove_file(folder_ + '/' + all[i].file);
    if (stays && all[i].file == own)
      io::write_safetensors(folder_ + '/' + own, state,
                            {{"step", std::to_string(step)}, {name_, fmt::format("{:.17g}", value)}});
  }
}

}  // namespace veldt::train
