// Applies rules of regular expressions to the names of tensors.
#include "veldt/io/name_rules.h"

#include <map>
#include <optional>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/pattern.h"

namespace veldt::io {
namespace {

constexpr std::size_t kMaxMatched = 1000;

Pattern compiled(const NameRule& rule) {
  if (rule.pattern.empty() || rule.pattern.size() > kMaxMatched)
    throw ConfigError(str("cannot map names by '", rule.pattern, "'"),
                      str("a pattern has 1 to ", kMaxMatched, " bytes"),
                      "write it shorter, or as several rules");
  return Pattern(rule.pattern);
}

std::string replaced(const std::string& name, const Pattern& pattern, const NameRule& rule, bool* matched) {
  if (name.size() > kMaxMatched)
    throw ConfigError(str("cannot map the name ", name.substr(0, 60), ".."),
                      str("it has ", name.size(), " bytes, and ", kMaxMatched, " are allowed"),
                      "rename the tensor in what wrote it");
  std::optional<std::string> found = pattern.replaced(name, rule.text);
  *matched |= found.has_value();
  return found ? std::move(*found) : name;
}

}  // namespace

NamedTensors map_names(const NamedTensors& tensors, const NameRules& rules) {
  NamedTensors mapped = tensors;
  for (const NameRule& rule : rules) {
    const Pattern pattern = compiled(rule);
    bool matched = false;
    for (NamedTensor& named : mapped) named.name = replaced(named.name, pattern, rule, &matched);
    if (!matched && !mapped.empty())
      throw ConfigError(str("no name matches '", rule.pattern, "'"),
                        str("the first of ", mapped.size(), " names is ", mapped.front().name),
                        "leave the rule out, or write it as the names are");
  }
  std::map<std::string, std::string> from;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = mapped[i].name;
    if (name.empty())
      throw ConfigError(str("no name is left of ", tensors[i].name), "the rules replace all of it by nothing",
                        "write a rule that leaves some of it");
    const auto [known, is_new] = from.emplace(name, tensors[i].name);
    if (!is_new)
      throw ConfigError(str("two tensors would be named ", name),
                        str("the rules give it to ", known->second, " and to ", tensors[i].name),
                        "write rules that keep them apart");
  }
  return mapped;
}

}  // namespace veldt::io
