// Shares parameters out among groups, by their names.
#include "veldt/optim/group.h"

#include <set>

#include "veldt/core/error.h"

namespace veldt::optim {

std::vector<NamedTensors> split_by_prefix(const NamedTensors& parameters,
                                          const std::vector<std::string>& prefixes) {
  std::set<std::string> once;
  for (const std::string& prefix : prefixes)
    if (!once.insert(prefix).second)
      throw ConfigError(str("the group ", prefix, " is there twice"),
                        "a parameter has the options of one group", "leave one of them out");
  std::vector<NamedTensors> parts(prefixes.size() + 1);
  std::vector<bool> fits(prefixes.size());
  for (const NamedTensor& parameter : parameters) {
    std::size_t part = 0;
    for (std::size_t i = 0; i < prefixes.size(); ++i) {
      if (!is_below(parameter.name, prefixes[i])) continue;
      fits[i] = true;
      if (part == 0 || prefixes[i].size() > prefixes[part - 1].size()) part = i + 1;
    }
    parts[part].push_back(parameter);
  }
  for (std::size_t i = 0; i < prefixes.size(); ++i) {
    if (fits[i]) continue;
    std::set<std::string> tops;
    for (const NamedTensor& parameter : parameters)
      tops.insert(parameter.name.substr(0, parameter.name.find('.')));
    std::string known;
    for (const std::string& top : tops) known += (known.empty() ? "" : ", ") + top;
    throw ConfigError(str("no trained parameter's name begins with ", prefixes[i]),
                      str("their names begin with ", known), "give one of these, or more of a name");
  }
  return parts;
}

}  // namespace veldt::optim
