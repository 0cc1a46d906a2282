// Prints the reasons of a fit's choices, for people as lines and for programs as JSON.
#include "veldt/app/frame.h"
#include "veldt/app/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "veldt/cli/help.h"
#include "veldt/cli/terminal.h"

namespace veldt::app {

std::string in_words(const std::vector<field::Reason>& reasons) {
  std::size_t widest = 0;
  for (const field::Reason& r : reasons) widest = std::max(widest, r.value.size());
  const auto columns = static_cast<std::size_t>(std::clamp(stderr_terminal().width, 60, 110));
  std::string text;
  for (const field::Reason& r : reasons)
    text +=
        fmt::format("{:<14}{:<{}}  {}\n", r.choice, r.value, widest, wrapped(r.why, 16 + widest, columns));
  return text;
}

nlohmann::ordered_json in_json(const std::vector<field::Reason>& reasons) {
  auto rows = nlohmann::ordered_json::array();
  for (const field::Reason& r : reasons)
    rows.push_back({{"choice", r.choice}, {"value", r.value}, {"why", r.why}});
  return rows;
}

}  // namespace veldt::app
