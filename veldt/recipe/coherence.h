// How coherent a text is that a network wrote, without a reader.
// Tests: tests/recipe/coherence_test.cpp
#pragma once

#include <string_view>

#include "veldt/train/metric.h"

namespace veldt::recipe {

// Two shares that a text written letter by letter can miss, for text that `learned` was the training text of:
// "sample_words", the share of its words that `learned` has, and "sample_repeats", the share of its sequences
// of three words that were in it before (Holtzman et al. 2020, "The curious case of neural text
// degeneration", look at such repetition). Words are runs of letters, of apostrophes between letters, and of
// bytes beyond ASCII, without regard to capitals; the last word, which may be cut off, does not count. NaN
// where there is no word, or no sequence.
train::Scores coherence(std::string_view written, std::string_view learned);

}  // namespace veldt::recipe
