// Words and sequences that a written text shares with what was learned, counted by hand.
#include "veldt/recipe/coherence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace veldt::recipe {
namespace {

double words(const std::string& written, const std::string& learned) {
  return train::score(coherence(written, learned), "sample_words");
}
double repeats(const std::string& written) { return train::score(coherence(written, ""), "sample_repeats"); }

TEST(Coherence, CountsWordsThatTheTrainingTextHas) {
  EXPECT_EQ(words("To be, or nat to be.", "to be or not to be"), 5.0 / 6);
  EXPECT_EQ(words("the the cat\n", "The dog"), 2.0 / 3);
  // The last word may be cut off; an apostrophe is a letter between letters, a quote elsewhere.
  EXPECT_EQ(words("the ca", "the cat"), 1);
  EXPECT_EQ(words("'don't' 'tis", "don't"), 1);
  EXPECT_EQ(words("'tis don' ", "tis"), 0.5);
  EXPECT_EQ(words("caf\xC3\xA9 caf ", "CAF\xC3\xA9"), 0.5);
}

TEST(Coherence, CountsSequencesThatWereThereBefore) {
  EXPECT_EQ(repeats("a b c d e f."), 0);
  EXPECT_EQ(repeats("a b c a b c."), 1.0 / 4);  // a b c, of four sequences
  EXPECT_EQ(repeats("no no no no no no no no no no no no."), 9.0 / 10);
}

TEST(Coherence, OfTooLittleIsNotANumber) {
  EXPECT_TRUE(std::isnan(words("", "a")));
  EXPECT_TRUE(std::isnan(words("12 34", "a")));
  EXPECT_TRUE(std::isnan(words("cut", "cut")));
  EXPECT_TRUE(std::isnan(repeats("a b ")));
}

}  // namespace
}  // namespace veldt::recipe
