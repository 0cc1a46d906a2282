// New names for tensors: a network's parameters are called differently by different programs, and regular
// expressions turn one's names into the other's.
// Tests: tests/io/name_rules_test.cpp
#pragma once

#include <string>
#include <vector>

#include "veldt/tensor/named.h"

namespace veldt::io {

// Every match of the pattern in a name is replaced by the text, in which $1 is what its first group matched
// and $& all of it: {R"(layer(\d+)\.0\.)", "stage$1.conv."}, {"^module\\.", ""}. Perl's regular expressions.
struct NameRule {
  std::string pattern;
  std::string text;
};
using NameRules = std::vector<NameRule>;

// The same tensors under the names that the rules give them, one rule after the other, in their order. Throws
// ConfigError for a pattern that is no regular expression, for patterns and names beyond 1000 bytes, for a
// rule that matches no name, and where two tensors get the same name or one gets none.
NamedTensors map_names(const NamedTensors& tensors, const NameRules& rules);

}  // namespace veldt::io
