// What of TOML is refused before the TOML library reads it.
#include "veldt/io/config_text.h"

#include <gtest/gtest.h>

#include <string>

namespace veldt::io {
namespace {

void expect_fault(const std::string& text, int line, const std::string& why) {
  const auto fault = fault_in_config(text);
  ASSERT_TRUE(fault) << text;
  EXPECT_EQ(fault->line, line) << text;
  EXPECT_NE(fault->why.find(why), std::string::npos) << text << "\n" << fault->why;
}

// Each of these makes some release of toml++ rely on something that it did not check.
TEST(ConfigText, WhatTheTomlLibraryTripsOverIsRefusedBeforeIt) {
  for (const char* text : {"[", "[\n", "[#", "[.a]", "[ =", "[[", "[[\n", "[[ .", "[ [a]]"})
    expect_fault(std::string("#\n") + text, 2, "has no name after it");
  for (const char* letter :
       {"\u00a1", "\u00e3", "\u0499", "\u1681", "\u2e80", "\u3001", "\ufb30", "\ufefe"}) {
    const std::string text = letter;
    for (const std::string& line : {"fo" + text + " = 1", "foo = 1" + text, "foo = [1, " + text + "]",
                                    "[fit" + text + "]", text + " = 1"})
      expect_fault("\n" + line, 2, "beyond ASCII");
    expect_fault("a = x\"" + text + "\"", 1, "in the middle");
    expect_fault("a = 1 'x" + text + "'", 1, "in the middle");
    expect_fault("a = \"\"\"\\\n" + text + "\"\"\"", 1, "a backslash");
    expect_fault("a = \"\"\"\\" + text + "\"\"\"", 1, "a backslash");
    expect_fault("a = \"\"\"x\"\"\"\"\"\"" + text, 1, "in the middle");
  }
  expect_fault("a = 1\v", 1, "control character, 0x0b");
  expect_fault("# \x7f", 1, "control character, 0x7f");
  expect_fault("a = 1\rb = 2", 1, "control character, 0x0d");
  expect_fault("a = \"b\nc\"", 1, "no closing quote");
  expect_fault("\na = '''b\n\n", 4, "no closing quote");
  expect_fault("a = " + std::string(17, '['), 1, "brackets nest deeper than 16");
  expect_fault("a = " + std::string(17, '{'), 1, "brackets nest deeper than 16");
  expect_fault("a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q = 1", 1, "more than 16 parts");
}

}  // namespace
}  // namespace veldt::io
