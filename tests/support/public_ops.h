// The public ops, as the headers of veldt/ops declare them.
#pragma once

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>

namespace veldt::test {

// "Tensor name(" at the start of a line, inline or not, or a list of them; comments are cut off first.
inline std::set<std::string> functions_that_give_a_tensor(const std::string& header) {
  static const std::regex comment("//[^\n]*");
  static const std::regex declaration(
      "(?:^|\n)(?:inline )?(?:Tensor|Sorted|std::vector<Tensor>) (operator[^\\s(]+|\\w+)\\(");
  const std::string text = std::regex_replace(header, comment, "");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at)
    names.insert((*at)[1].str());
  return names;
}

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What veldt.h leaves out is for ops alone; derivatives.h has functions of functions, which are no ops.
inline std::set<std::string> public_ops() {
  const std::string umbrella = text_of(VELDT_SOURCE "/veldt/veldt.h");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(VELDT_SOURCE "/veldt/ops")) {
    const std::string include = "veldt/ops/" + entry.path().filename().string() + '"';
    if (entry.path().extension() == ".h" && umbrella.find(include) != std::string::npos &&
        entry.path().filename() != "derivatives.h")
      names.merge(functions_that_give_a_tensor(text_of(entry.path())));
  }
  return names;
}

}  // namespace veldt::test
