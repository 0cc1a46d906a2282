// Which teachers a recipe may have: those that see the same data, prepared in the same way.
#include "veldt/recipe/distilling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "veldt/core/error.h"

namespace veldt::recipe {
namespace {

using test::error_of;
using testing::HasSubstr;

Recipe picture_recipe(const std::string& data, const std::string& train = "") {
  return parse("[data]\nkind = \"pictures\"\n" + data +
               "[model]\nlayers = [\"Flatten\", \"Linear(outputs)\"]\n[train]\nepochs = 1\n" + train);
}

Facts picture_facts(const std::vector<std::string>& classes) {
  Facts facts;
  facts.model = {.input = {3, 8, 8}, .outputs = static_cast<std::int64_t>(classes.size())};
  facts.classes = classes;
  facts.examples = static_cast<std::int64_t>(10 * classes.size());
  return facts;
}

TEST(Distilling, ATeacherSeesTheSameDataPreparedInTheSameWay) {
  const std::string scaled = "prepare = [\"normalise(0.5, 0.5)\"]\n", train = "teacher = \"t.safetensors\"\n";
  const Recipe student = picture_recipe(scaled, train);
  Facts facts = picture_facts({"cat", "dog"}), others = facts;
  others.examples = 3;
  EXPECT_NO_THROW(
      check_teacher(student, facts, picture_recipe(scaled + "augment = [\"horizontal_flip\"]\n"), others));
  EXPECT_THAT(error_of<UsageError>([&] { check_teacher(student, facts, picture_recipe(""), facts); }),
              HasSubstr("data.prepare is normalise(0.5, 0.5) here, and was not given for the teacher"));
  EXPECT_THAT(error_of<UsageError>([&] {
                check_teacher(student, facts, picture_recipe(scaled), picture_facts({"dog", "cat"}));
              }),
              HasSubstr("classes"));
  others = facts;
  others.model.input = {3, 4, 4};
  EXPECT_THAT(error_of<UsageError>([&] { check_teacher(student, facts, picture_recipe(scaled), others); }),
              HasSubstr("t.safetensors"));
  const Recipe known =
      parse("[data]\nkind = \"pictures\"\n[model]\narchitecture = \"resnet18\"\n[train]\nepochs = 1\n");
  EXPECT_THAT(error_of<UsageError>([&] { check_teacher(picture_recipe("", train), facts, known, facts); }),
              HasSubstr("known network"));
}

TEST(Distilling, KeysThatSayNothingAreRefused) {
  EXPECT_THAT(error_of<UsageError>([] { check_distilling(picture_recipe("", "temperature = 3\n")); }),
              HasSubstr("train.temperature changes nothing"));
  EXPECT_THAT(error_of<UsageError>(
                  [] { check_distilling(picture_recipe("", "teacher = \"t\"\nhints = [\"3\"]\n")); }),
              HasSubstr("'3'"));
  EXPECT_NO_THROW(check_distilling(picture_recipe("", "teacher = \"t\"\nhints = [\"3 = 6\"]\n")));
  EXPECT_THROW(picture_recipe("", "teacher_weight = 2\n"), UsageError);
}

}  // namespace
}  // namespace veldt::recipe
