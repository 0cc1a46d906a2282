// Rules that give tensors other names, what they refuse, and patterns that would take forever.
#include "veldt/io/name_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/io/faults.h"

namespace veldt::io {
namespace {

using test::says;
using test::thrown_by;
using ::testing::ElementsAre;

NamedTensors tensors_named(const std::vector<std::string>& names) {
  NamedTensors tensors;
  for (const std::string& name : names) tensors.push_back({name, Tensor::of({}, {1})});
  return tensors;
}

std::vector<std::string> names_by(const std::vector<std::string>& names, const NameRules& rules) {
  std::vector<std::string> mapped;
  for (const NamedTensor& named : map_names(tensors_named(names), rules)) mapped.push_back(named.name);
  return mapped;
}

TEST(MapNames, EachRuleReplacesEveryMatch) {
  EXPECT_THAT(names_by({"layer1.0.w", "layer12.0.b"}, {{R"(layer(\d+)\.0)", "stage$1.conv"}}),
              ElementsAre("stage1.conv.w", "stage12.conv.b"));
  EXPECT_THAT(names_by({"module.a", "module.module.b"}, {{"^module\\.", ""}}), ElementsAre("a", "module.b"));
  EXPECT_THAT(names_by({"a.a"}, {{"a", "[$&]"}}), ElementsAre("[a].[a]"));
  EXPECT_THAT(names_by({"gamma", "beta"}, {{"gamma$", "weight"}, {"beta$", "bias"}}),
              ElementsAre("weight", "bias"));
  EXPECT_THAT(names_by({"a", "b"}, {{"^a$", "c"}, {"^c$", "d"}}), ElementsAre("d", "b"))
      << "one after the other";
  EXPECT_THAT(names_by({"a"}, {}), ElementsAre("a"));
  EXPECT_THAT(names_by({}, {{"a", "b"}}), ElementsAre());
}

TEST(MapNames, TensorsStayTheSame) {
  const NamedTensors before = tensors_named({"a", "b"}), after = map_names(before, {{"b", "c"}});
  EXPECT_EQ(after[1].tensor.impl(), before[1].tensor.impl());
}

TEST(MapNames, WhatCannotBeIsRefused) {
  struct Case {
    std::vector<std::string> names;
    NameRules rules;
    const char* words;
  };
  const Case cases[] = {
      {{"a.x", "b.x"}, {{"^[ab]\\.", ""}}, "two tensors would be named x"},
      {{"a", "b"}, {{"a", "b"}}, "give it to a and to b"},
      {{"a"}, {{"a", ""}}, "no name is left of a"},
      {{"a"}, {{"(", ""}}, "no regular expression"},
      {{"a"}, {{"", "b"}}, "1 to 1000 bytes"},
      {{"a"}, {{std::string(1001, 'a'), "b"}}, "1 to 1000 bytes"},
      {{std::string(1001, 'a')}, {{"a", "b"}}, "has 1001 bytes"},
      {{"a"}, {{"b", "c"}}, "no name matches 'b'"},
  };
  for (const Case& c : cases) {
    const auto error = thrown_by<ConfigError>([&] { map_names(tensors_named(c.names), c.rules); });
    EXPECT_TRUE(says(error, c.words)) << error.what();
  }
}

TEST(MapNames, TheLongestNamesInManyWays) {
  const std::string name(1000, 'a');
  for (const char* pattern : {"(.*)", "(a|b)*", "((a)|(b))+", "^((?:a?)*)$", "(a*)(a*)"})
    EXPECT_NO_THROW(map_names(tensors_named({name}), {{pattern, "x$1"}})) << pattern;
  EXPECT_THROW(map_names(tensors_named({name}), {{"(a+)+[bc]", "x"}}), ConfigError) << "2^1000 of them";
}

}  // namespace
}  // namespace veldt::io
