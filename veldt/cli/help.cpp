// Lays out options and their meanings in two columns, wrapped at the width of the page.
#include "veldt/cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "veldt/cli/usage.h"

namespace veldt::cli {
namespace {

using Row = std::pair<std::string, std::string>;  // name and what it means
constexpr std::size_t kNameWidth = 28;

std::string table(const std::string& title, const std::vector<Row>& rows, std::size_t width) {
  if (rows.empty()) return {};
  std::string out = "\n" + title + ":\n";
  for (const auto& [name, meaning] : rows) {
    out += "  " + name;
    const std::size_t used = name.size() + 2;
    out += used + 2 > kNameWidth ? "\n" + std::string(kNameWidth, ' ') : std::string(kNameWidth - used, ' ');
    out += wrapped(meaning, kNameWidth, width) + "\n";
  }
  return out;
}

bool is_switch(const CLI::Option& option) {
  return option.get_expected_max() == 0 || option.get_type_size() == 0;
}

// "  -o, --output PATH"
std::string name_in_help(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string name = option.get_snames().empty() ? "    " : "-" + option.get_snames().front() + ", ";
  if (option.get_lnames().empty()) {
    name = "-" + option.get_snames().front();
  } else {
    name += "--" + option.get_lnames().front();
  }
  return is_switch(option) ? name : name + " " + option.get_type_name();
}

std::string meaning_in_help(const CLI::Option& option) {
  std::string text = meaning_of(option);
  if (!is_switch(option) && !option.get_default_str().empty())
    text += fmt::format(" [default: {}]", option.get_default_str());
  return text;
}

// Flags under their groups' titles, groups in the order in which they first occur, with "Everywhere" last.
std::vector<std::string> groups_of(const CLI::App& app) {
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& group = option->get_group();
    if (group.empty() || option->get_positional()) continue;
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  std::stable_partition(groups.begin(), groups.end(), [](const std::string& g) { return g != "Everywhere"; });
  return groups;
}

}  // namespace

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
  std::istringstream words(text);
  std::string out, word;
  std::size_t column = indent;
  while (words >> word) {
    const bool first = column == indent;
    if (!first && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string meaning_of(const CLI::Option& option) {
  const bool flag_is_required = !option.get_positional() && option.get_required();
  return option.get_description() + (flag_is_required ? " (required)" : "");
}

std::string usage_line(const CLI::App& app) {
  std::string line = "usage: " + full_name(app);
  if (!app.get_subcommands([](const CLI::App*) { return true; }).empty()) return line + " VERB [flags]\n";
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional())
      line += option->get_required() ? " " + option->get_name(true) : " [" + option->get_name(true) + "]";
  }
  for (const CLI::Option* option : app.get_options())
    if (!option->get_positional() && option->get_required())
      line += fmt::format(" {} {}", option->get_name(), option->get_type_name());
  return line + " [flags]\n";
}

std::string help_text(const CLI::App& app, int columns) {
  const auto width = static_cast<std::size_t>(std::clamp(columns, 60, 110));
  std::vector<Row> verbs, arguments;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    verbs.emplace_back(verb->get_name(), verb->get_description());
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional()) arguments.emplace_back(name_in_help(*option), meaning_in_help(*option));
  std::string out = full_name(app) + ": " + app.get_description() + "\n\n" + usage_line(app);
  out += table("verbs", verbs, width) + table("arguments", arguments, width);
  for (const std::string& group : groups_of(app)) {
    std::vector<Row> rows;
    for (const CLI::Option* option : app.get_options())
      if (!option->get_positional() && option->get_group() == group)
        rows.emplace_back(name_in_help(*option), meaning_in_help(*option));
    out += table(group == "Options"      ? "flags"
                 : group == "Everywhere" ? "flags of every verb"
                                         : group,
                 rows, width);
  }
  if (!app.get_footer().empty()) out += "\nexamples:\n" + app.get_footer();
  return out;
}

}  // namespace veldt::cli
