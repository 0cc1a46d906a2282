// The descriptions of layers that change sizes.
#include "veldt/nn/resize.h"

#include "veldt/core/error.h"

namespace veldt::nn {
namespace {

// "2", or "[2, 3]"
template <class List> std::string shown(const List& numbers) {
  std::string text;
  for (const auto& number : numbers) text += str(text.empty() ? "" : ", ", number);
  return numbers.size() == 1 ? text : str('[', text, ']');
}

}  // namespace

std::string Upsample::title() const {
  static constexpr const char* kModes[] = {"nearest", "nearest exact", "linear", "cubic"};
  const std::string size =
      options_.size ? str("size ", options_.size->given()) : str("by ", shown(options_.scale_factor));
  return str("Upsample(", size, ", ", kModes[static_cast<int>(options_.mode)],
             options_.align_corners ? ", corners aligned)" : ")");
}

std::string PixelShuffle::title() const { return str("PixelShuffle(", r_, ')'); }
std::string PixelUnshuffle::title() const { return str("PixelUnshuffle(", r_, ')'); }

std::string Pad::title() const {
  static constexpr const char* kModes[] = {"", ", reflect", ", replicate", ", circular"};
  return str("Pad(", shown(amounts_), kModes[static_cast<int>(mode_)], value_ != 0 ? str(", ", value_) : "",
             ')');
}

}  // namespace veldt::nn
