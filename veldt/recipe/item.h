// A layer as a recipe's list has it, "stem: 2 x residual(64, stride=2)", and the words that stand in it for
// numbers and texts.
// Tests: tests/recipe/item_test.cpp, tests/recipe/network_test.cpp
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "veldt/io/text_values.h"

namespace veldt::recipe {

// What stands for a name: {"outputs", "10"}.
using Words = std::map<std::string, std::string>;
// Makes the error about a text, of a reason and a way out.
using Refusal = std::function<UsageError(const std::string& why, const std::string& fix)>;

// The text without white space at its ends.
std::string trimmed(const std::string& text);
// Parts of a text at its commas, but for those in brackets.
std::vector<std::string> split_arguments(const std::string& text);
// Letters, digits and underscores, with no digit at the beginning.
bool is_name(const std::string& text);

// Whether a word would be put in where `text` is a layer or an argument.
bool has_word(const std::string& text, const std::string& word);

// An argument with each word replaced by what it stands for (but for the name in "name=value"), and the
// arithmetic of whole numbers done: "[2*width, 3]" is "[128, 3]". Throws refused() for a quotient that is no
// whole number, for one beyond a million millions, and for a text that becomes longer than a page.
std::string resolved(const std::string& text, const Words& words, const Refusal& refused);

struct Item {
  std::string name;   // "stem"; empty if it has none
  std::string count;  // "2"; empty: once
  std::string call;   // "residual(64, stride=2)"
};
// Throws refused() for a name that is none.
Item read_item(const std::string& text, const Refusal& refused);
// The same where the kind of layer may be a word too. Also throws refused() where both have arguments.
Item read_item(const std::string& text, const Words& words, const Refusal& refused);

}  // namespace veldt::recipe
