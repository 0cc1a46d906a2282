// reasons_of() reports the actual choices.
#include "veldt/field/reasons.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/field/pictures.h"

namespace veldt::field {
namespace {

using test::disc;
using test::draw;
using test::ink;

std::vector<Reason> explained(const Signal& signal, const FitOptions& wishes) {
  return reasons_of(choices_for(signal, wishes));
}

// The reason for a choice; one without a name if there is none.
Reason reason_for(const std::vector<Reason>& reasons, const std::string& choice) {
  for (const Reason& r : reasons)
    if (r.choice == choice) return r;
  return {};
}

bool says(const Reason& reason, const std::string& text) {
  return reason.why.find(text) != std::string::npos;
}

TEST(Explain, GivesEachChoiceOnceWithItsValueAndAReason) {
  for (const Tensor& picture : {disc(), disc(3), ink()})
    for (const Model model :
         {Model::siren, Model::finer, Model::gauss, Model::relu, Model::hashgrid, Model::fourier}) {
      const FitOptions wishes{.model = model};
      std::set<std::string> seen;
      for (const Reason& r : explained(picture, wishes)) {
        EXPECT_TRUE(seen.insert(r.choice).second) << r.choice;
        EXPECT_FALSE(r.value.empty()) << r.choice;
        EXPECT_FALSE(r.why.empty()) << r.choice;
      }
      EXPECT_EQ(seen.count("first-omega"),
                model == Model::siren || model == Model::finer || model == Model::gauss);
      EXPECT_EQ(seen.count("grid"), model == Model::hashgrid);
      EXPECT_EQ(seen.count("sigma"), model == Model::fourier);
    }
}

// A choice that is made over, because of a wish or of another choice, has a reason all the same.
TEST(Explain, GivesAReasonHoweverAChoiceCameAbout) {
  const FitOptions all[] = {{.batch = 0},
                            {.footprint = 1},
                            {.loss = Loss::bce},
                            {.first_omega = 20},
                            {.depth = 1},
                            {.model = Model::tanh, .depth = 1},
                            {.seconds = 1},
                            {.style = Style::pixel},
                            {.simba = true},
                            {.model = Model::siren, .simba = true},
                            {.batch = 7, .sampling = Sampling::error},
                            {.source = Source::point}};
  for (const Tensor& picture : {disc(), disc(3), ink()})
    for (const FitOptions& wishes : all)
      for (const Reason& r : explained(picture, wishes)) EXPECT_FALSE(r.why.empty()) << r.choice;
  EXPECT_EQ(reason_for(explained(disc(3), {.first_omega = 20}), "model").why,
            "an omega is asked for, and a grid has none");
  EXPECT_EQ(
      reason_for(explained(disc(3), {.model = Model::siren, .optimizer = OptimizerKind::sgd}), "lr").why,
      "suits siren with adam")
      << "what it was chosen for";
}

TEST(Explain, ShowsThePlansOwnValues) {
  const FitOptions sines{.model = Model::siren};
  const FitChoices choices = choices_for(disc(3), sines);
  const std::vector<Reason> reasons = reasons_of(choices);
  EXPECT_EQ(reason_for(reasons, "kind").value, "photograph");
  EXPECT_EQ(reason_for(reasons, "model").value, "siren");
  EXPECT_EQ(reason_for(reasons, "batch").value, std::to_string(choices.batch));
  EXPECT_EQ(std::stod(reason_for(reasons, "first-omega").value), choices.field.first_omega);
  EXPECT_EQ(std::stod(reason_for(reasons, "omega").value), choices.field.omega);
  EXPECT_EQ(std::stod(reason_for(reasons, "lr").value), choices.lr);
  EXPECT_EQ(reason_for(reasons, "sampling").value, name_of(choices.sampling));
  EXPECT_EQ(reason_for(reasons, "depth").value, std::to_string(choices.field.widths.size()));
}

TEST(Explain, NamesTheTeacher) {
  const std::vector<Reason> reasons = explained(disc(3), {});
  EXPECT_EQ(reason_for(reasons, "model").value, "hashgrid");
  EXPECT_EQ(reason_for(reasons, "footprint").value, "4");
  EXPECT_EQ(reason_for(reasons, "teacher").value, "rules");
  EXPECT_EQ(reason_for(explained(disc(3), {.footprint = 1}), "teacher").choice, "");
}

TEST(Explain, SaysHowTheRateFallsAndHowPointsAreDrawn) {
  const std::vector<Reason> reasons = explained(disc(3), {.sampling = Sampling::uniform, .lr = 0.002});
  EXPECT_EQ(reason_for(reasons, "schedule").value, "cosine");
  EXPECT_TRUE(says(reason_for(reasons, "schedule"), "to 2e-06,")) << reason_for(reasons, "schedule").why;
  const std::vector<Reason> wished = explained(disc(3), {.schedule = ScheduleKind::constant});
  EXPECT_EQ(reason_for(wished, "schedule").value, "constant");
  EXPECT_EQ(reason_for(wished, "schedule").why, "asked for");
  const Reason of_ink = reason_for(explained(ink(), {.model = Model::siren, .batch = 16}), "sampling");
  EXPECT_EQ(of_ink.value, "uniform");
  EXPECT_TRUE(says(of_ink, "shuffled order, edges and flat ground apart")) << of_ink.why;
  EXPECT_EQ(reason_for(explained(ink(), {.model = Model::siren, .batch = 0}), "sampling").why,
            "each once per step");
}

TEST(Explain, SaysWhatKindOfPictureItSaw) {
  const std::vector<Reason> of_ink = explained(ink(), {});
  EXPECT_EQ(reason_for(of_ink, "kind").value, "drawing in two tones");
  EXPECT_EQ(of_ink.front().why.find("two colours"), 0u) << of_ink.front().why;
  const std::vector<Reason> of_sines = explained(ink(), {.model = Model::siren});
  EXPECT_TRUE(says(reason_for(of_sines, "loss"), "black or white"));
  EXPECT_EQ(reason_for(of_sines, "edges").value, "0.75");
  EXPECT_EQ(reason_for(explained(disc(3), {}), "edges").choice, "");
}

TEST(Explain, TellsTheFrequencyThatItMeasured) {
  const Tensor waves =
      draw(128, 128, 3, [](double x, double, int) { return 0.5 + 0.5 * std::sin(x * M_PI / 4); });
  const Reason kind = reason_for(explained(waves, {}), "kind");
  EXPECT_TRUE(says(kind, "below 0.13 cycles a pixel across, 0 down")) << kind.why;
}

TEST(Recipe, SetsOmegaByTheSpectrumOfPhotographsAlone) {
  const auto omega = [](const Tensor& picture, Model model = Model::siren) {
    return choices_for(picture, {.model = model}).field.first_omega;
  };
  const auto waves = [](double cycles, int channels = 3) {
    return draw(128, 128, channels,
                [=](double x, double, int) { return 0.5 + 0.4 * std::sin(x * 2 * M_PI * cycles); });
  };
  EXPECT_EQ(omega(waves(0.125)), 40) << "2.5 x 128 pixels x 0.125";
  EXPECT_EQ(omega(waves(0.1875)), 60);
  EXPECT_EQ(omega(waves(0.125), Model::finer), 32);
  EXPECT_EQ(omega(waves(0.4)), 90) << "the most";
  EXPECT_EQ(omega(draw(128, 128, 3, [](double, double, int) { return 0.5; })), 15) << "the least";
  EXPECT_EQ(omega(waves(0.125), Model::wire), omega(waves(0.4), Model::wire));
  EXPECT_EQ(omega(ink()), 30) << "a drawing's by its length";
}

TEST(Explain, NamesWishesAndThePreset) {
  const FitOptions wishes{.width = 32, .first_omega = 25, .batch = 64, .lr = 0.002};
  const std::vector<Reason> reasons = explained(disc(), wishes);
  for (const char* choice : {"width", "first-omega", "batch", "lr"})
    EXPECT_EQ(reason_for(reasons, choice).why, "asked for") << choice;
  for (const char* choice : {"model", "depth", "omega", "loss"})
    EXPECT_NE(reason_for(reasons, choice).why, "asked for") << choice;
  EXPECT_EQ(reason_for(reasons, "first-omega").value, "25");
  const std::vector<Reason> simba = explained(disc(), {.batch = 32, .simba = true});
  EXPECT_TRUE(says(reason_for(simba, "model"), "simba preset"));
  EXPECT_EQ(reason_for(simba, "batch").why, "asked for");
}

TEST(Explain, KnowsSounds) {
  std::vector<float> samples(9000);
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = static_cast<float>(std::sin(static_cast<double>(i) * 2 * M_PI * 500 / 8000));
  const Signal tone = Signal::sound(Tensor::from<float>({9000, 1}, samples), 8000);
  const std::vector<Reason> reasons = explained(tone, {.model = Model::siren});
  EXPECT_EQ(reason_for(reasons, "kind").value, "sound");
  EXPECT_TRUE(says(reason_for(reasons, "kind"), "9000 frames at 8000 a second; 95 % of the energy below 50"))
      << reasons.front().why;
  // From -455 to 455 Hz, see automatic_sound.cpp.
  EXPECT_TRUE(says(reason_for(reasons, "first-omega"), "below 455 Hz"))
      << reason_for(reasons, "first-omega").why;
  EXPECT_EQ(reason_for(reasons, "footprint").choice, "");
  const FitChoices choices = choices_for(tone, {.model = Model::hashgrid});
  const Reason grid = reason_for(reasons_of(choices), "grid");
  const auto cells = std::get<GridOptions>(choices.field.encodings.front()).finest;
  EXPECT_EQ(grid.value, "1 x 1");
  EXPECT_TRUE(says(grid, std::to_string(cells) + " cells, 0.")) << grid.why;
}

TEST(Explain, HoldsForOnePixelAndOneLevel) {
  for (const Tensor& picture : {draw(1, 1, 1, [](double, double, int) { return 0.5; }),
                                draw(1, 1, 4, [](double, double, int) { return 1; }),
                                draw(9, 5, 3, [](double, double, int) { return 0.25; })})
    for (const Reason& r : explained(picture, {})) {
      EXPECT_EQ(r.why.find("nan"), std::string::npos) << r.choice << ": " << r.why;
      EXPECT_EQ(r.why.find("inf"), std::string::npos) << r.choice << ": " << r.why;
    }
}

}  // namespace
}  // namespace veldt::field
