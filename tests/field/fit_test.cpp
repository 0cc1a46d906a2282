// A fit learns any input, and gives the same result each time.
#include "veldt/field/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/field/pictures.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "tests/support/threads_scope.h"
#include "veldt/core/error.h"
#include "veldt/data/resample.h"
#include "veldt/field/automatic.h"
#include "veldt/io/image.h"
#include "veldt/train/checkpoint.h"
#include "veldt/train/picture_scores.h"

namespace veldt::field {
namespace {

using test::disc;
using test::draw;
using test::ink;

// Waking a second thread for 24x24 pixels costs more than it saves, especially on a busy machine.
class Fit : public testing::Test {
 protected:
  const test::ThreadsScope threads_{1};
};

FitOptions quick(std::int64_t steps = 200) {
  FitOptions options;
  options.model = Model::siren;
  options.width = 24;
  options.depth = 2;
  options.steps = steps;
  options.seed = 7;
  return options;
}

double psnr_after(const Tensor& picture, const FitOptions& options) {
  const ImageField field = fit(picture, options, train::Events([](const train::Progress& p) {
                                 EXPECT_TRUE(std::isfinite(p.loss));
                                 ASSERT_TRUE(p.measure);
                                 EXPECT_EQ(p.measure->name + ' ' + p.measure->unit, "PSNR dB");
                                 EXPECT_FALSE(std::isnan(p.measure->value));
                               }));
  const Tensor drawn = field.render({picture.size(1), picture.size(0)});
  EXPECT_TRUE(test::all_levels(drawn));
  return train::psnr(drawn, picture);
}

std::vector<float> weights_after(const Tensor& picture, const FitOptions& options) {
  std::vector<float> all;
  for (const NamedTensor& t : fit(picture, options).tensors()) {
    const std::vector<float> values = to(t.tensor, DType::f32).values<float>();
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST_F(Fit, RefusesMuonWithoutAMatrixToTurn) {
  FitOptions options = quick(1);
  options.optimizer = OptimizerKind::muon;
  options.depth = 1;
  EXPECT_THROW(fit(disc(), options), ConfigError);
  options.depth = 2;
  EXPECT_NO_THROW(fit(disc(), options));
}

TEST_F(Fit, TakesBf16OnlyWhereItComputesInBf16) {
  if (!has_products({}, Precision::bf16)) GTEST_SKIP() << "this processor has no bf16 products";
  FitOptions options = quick(1);
  EXPECT_EQ(choices_for(disc(), options).precision, Precision::bf16);
  options.width = 257;
  EXPECT_EQ(choices_for(disc(), options).precision, Precision::f32);
  options.precision = Precision::bf16;
  EXPECT_THROW(choices_for(disc(), options), ConfigError);
}

TEST_F(Fit, LearnsThroughALargeFootprint) {
  FitOptions options = quick();
  options.loss = Loss::mse;
  options.footprint = 9;
  EXPECT_GT(psnr_after(disc(), options), 24);
}

TEST_F(Fit, LearnsGreyAndColours) {
  for (const std::int64_t channels : {1, 2, 3, 4})
    EXPECT_GT(psnr_after(disc(channels), quick()), 24) << channels << " channels";
}

TEST_F(Fit, LearnsATwoLevelPictureWithoutAWrongPixel) {
  const ImageField field = fit(ink(), quick(500));
  EXPECT_EQ(train::compare_pictures(field.render({24, 24}), ink()).wrong_pixels, 0);
}

TEST_F(Fit, LearnsPicturesThatHaveNothingInThem) {
  for (const double level : {0.0, 0.3, 1.0}) {
    const Tensor plain = draw(16, 12, 1, [level](double, double, int) { return level; });
    EXPECT_GT(psnr_after(plain, quick()), 30) << level;
  }
  const Tensor clear = draw(16, 12, 4, [](double, double, int) { return 0.0; });
  EXPECT_GT(psnr_after(clear, quick()), 30);
}

TEST_F(Fit, LearnsPicturesOfOnePixelRowOrColumn) {
  for (const double level : {0.0, 0.4, 1.0})
    EXPECT_GT(psnr_after(draw(1, 1, 1, [level](double, double, int) { return level; }), quick()), 20)
        << level;
  const auto slope = [](double x, double y, int) { return (x + y) / 40; };
  EXPECT_GT(psnr_after(draw(1, 40, 1, slope), quick()), 25);
  EXPECT_GT(psnr_after(draw(40, 1, 3, slope), quick()), 25);
}

TEST_F(Fit, LearnsWithEveryModel) {
  for (const std::string& name : model_names()) {
    FitOptions options = quick(150);
    options.model = model_from(name);
    if (options.model == Model::gauss) options.first_omega = options.omega = 3;
    EXPECT_GT(psnr_after(disc(), options), 12) << name;
  }
}

TEST_F(Fit, LearnsWithEveryOptimizerLossAndSchedule) {
  for (const OptimizerKind kind :
       {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::muon}) {
    FitOptions options = quick();
    options.optimizer = kind;
    if (kind == OptimizerKind::sgd) options.lr = 0.02;
    EXPECT_GT(psnr_after(disc(), options), 11) << name_of(kind);
  }
  for (const Loss loss : {Loss::mse, Loss::hinge}) {
    FitOptions options = quick();
    options.loss = loss;
    options.schedule = ScheduleKind::constant;
    options.warmup = 20;
    EXPECT_GT(psnr_after(ink(), options), 18) << name_of(loss);
  }
}

TEST_F(Fit, LearnsFromTheMeanOfAPixelsFootprint) {
  FitOptions options = quick();
  options.footprint = 2;
  options.loss = Loss::mse;
  EXPECT_GT(psnr_after(disc(), options), 22);
}

TEST_F(Fit, IsTheSameForTheSameSeedAlone) {
  FitOptions options = quick(40);
  options.batch = 100;
  const std::vector<float> first = weights_after(disc(), options);
  EXPECT_EQ(weights_after(disc(), options), first);
  options.seed = 8;
  EXPECT_NE(weights_after(disc(), options), first);
}

TEST_F(Fit, StopsAtTheTargetPsnr) {
  FitOptions options = quick(100000);
  options.target_psnr = 18;
  Fitter fitter(disc(), choices_for(disc(), options));
  const train::RunResult result = fitter.run({}, {});
  EXPECT_EQ(result.stop, train::Stop::goal_met);
  EXPECT_LT(result.steps, 100000);
  EXPECT_GE(train::psnr(ImageField(fitter.field()).render({24, 24}), disc()), 18);
}

// A step of all pixels is expensive: no unnecessary one is taken.
TEST_F(Fit, StopsAtTheVeryStepThatMeetsTheTarget) {
  FitOptions options = quick(100000);
  options.batch = 0;
  options.target_psnr = 18;
  Fitter fitter(disc(), choices_for(disc(), options));
  std::int64_t first = 0;
  train::Events events;
  events.on_step = [&](std::int64_t step, double) {
    if (first == 0 && train::psnr(ImageField(fitter.field()).render({24, 24}), disc()) >= 18) first = step;
  };
  EXPECT_EQ(fitter.run({}, events).steps, first);
}

TEST_F(Fit, NeverMeetsATargetWithNumbersThatAreNotFinite) {
  FitOptions options = quick(1000);
  options.target_psnr = 0.001;
  options.batch = 0;  // all pixels: every step is looked at
  Fitter fitter(disc(), choices_for(disc(), options));
  train::Events events;
  events.on_step = [&](std::int64_t step, double) {
    if (step != 1) return;
    for (auto& [name, tensor] : fitter.field().network().named_parameters()) tensor.data<float>()[0] = NAN;
  };
  EXPECT_THROW(fitter.run({}, events), DivergedError);
}

TEST_F(Fit, DivergesAtARateThatIsFarTooLarge) {
  FitOptions options = quick(2000);
  options.optimizer = OptimizerKind::sgd;
  options.model = Model::relu;
  options.lr = 1000;
  const auto error = test::thrown_by<DivergedError>([&] { fit(disc(), options); });
  EXPECT_NE(error.summary().find("diverged at step"), std::string::npos) << error.what();
  EXPECT_NE(error.fix().find("learning rate"), std::string::npos) << error.what();
}

TEST_F(Fit, RefusesPicturesThatAreNumbersNoMore) {
  const Tensor bad = draw(4, 4, 1, [](double x, double y, int) { return x + y > 5 ? NAN : 0.5; });
  EXPECT_THROW(fit(bad, quick(5)), Error);
}

TEST_F(Fit, IsResumedToTheSameBitsAndOnlyWithTheSamePictureAndPlan) {
  for (const Sampling sampling : {Sampling::uniform, Sampling::stratified, Sampling::error}) {
    SCOPED_TRACE(name_of(sampling));
    FitOptions options = quick(60);
    options.batch = 100;
    options.sampling = sampling;
    const std::vector<float> whole = weights_after(disc(), options);
    const test::TempDir dir;
    CheckpointOptions checkpoints;
    checkpoints.directory = dir.path();
    Fitter first(disc(), choices_for(disc(), options));
    train::Events events;
    int steps = 0;
    events.should_stop = [&steps] { return ++steps == 25; };
    EXPECT_EQ(first.run(checkpoints, events).steps, 25);
    checkpoints.resume = true;
    const auto resume_with = [&](const Tensor& picture, const FitOptions& wishes) {
      Fitter fitter(picture, choices_for(picture, wishes));
      EXPECT_EQ(fitter.run(checkpoints, {}).steps, 60);
      std::vector<float> all;
      for (const NamedTensor& t : fitter.field().tensors())
        for (const float v : t.tensor.values<float>()) all.push_back(v);
      return all;
    };
    FitOptions other = options;
    other.batch = 99;
    EXPECT_THROW(resume_with(disc(), other), ConfigError);
    other = options;
    other.sampling = sampling == Sampling::uniform ? Sampling::error : Sampling::uniform;
    EXPECT_THROW(resume_with(disc(), other), ConfigError);
    EXPECT_THROW(resume_with(draw(24, 24, 1, [](double, double, int) { return 0.5; }), options), ConfigError);
    EXPECT_EQ(resume_with(disc(), options), whole);
  }
}

TEST_F(Fit, KeepsTheErrorsItSawInACheckpointAndRefusesSomeThatCannotBe) {
  FitOptions options = quick(20);
  options.batch = 100;
  options.sampling = Sampling::error;
  const test::TempDir dir;
  CheckpointOptions checkpoints;
  checkpoints.directory = dir.path();
  Fitter(disc(), choices_for(disc(), options)).run(checkpoints, {});
  {
    train::CheckpointDir written(dir.path(), 3);
    train::CheckpointData data = written.load_newest().value();
    const auto errors = std::find_if(data.optim.begin(), data.optim.end(),
                                     [](const NamedTensor& t) { return t.name == "task.errors"; });
    ASSERT_NE(errors, data.optim.end());
    ASSERT_EQ(errors->tensor.numel(), 9);
    for (const float e : errors->tensor.values<float>()) {
      EXPECT_GT(e, 0);  // all were seen
      EXPECT_LT(e, 0.5f);
    }
    errors->tensor.data<float>()[4] = NAN;
    nlohmann::json state = nlohmann::json::parse(data.state_json);
    state["step"] = ++data.step;
    data.state_json = state.dump();
    written.save(data);
  }
  checkpoints.resume = true;
  const auto error =
      test::thrown_by<IoError>([&] { Fitter(disc(), choices_for(disc(), options)).run(checkpoints, {}); });
  EXPECT_EQ(error.kind(), IoError::Kind::corrupt);
  EXPECT_NE(error.why().find("tile 4"), std::string::npos) << error.why();
}

TEST_F(Fit, LearnsFromEverySampling) {
  for (const Sampling sampling : {Sampling::uniform, Sampling::stratified, Sampling::error}) {
    FitOptions options = quick();
    options.sampling = sampling;
    options.batch = 200;
    EXPECT_GT(psnr_after(disc(3), options), 25) << name_of(sampling);
  }
}

TEST_F(Fit, TellsHowItWasTrained) {
  const ImageField field = fit(disc(), quick(10));
  const auto training = nlohmann::json::parse(field.training());
  EXPECT_EQ(training.at("steps"), 10);
  EXPECT_EQ(training.at("plan").at("seed"), 7);
  EXPECT_GT(training.at("loss").get<double>(), 0);
}

TEST(PlanFor, SamplesByErrorWhatANetworkAloneCannotHold) {
  const auto sampling = [](const Tensor& picture, const FitOptions& wishes) {
    return choices_for(picture, wishes).sampling;
  };
  const Tensor photograph = draw(80, 80, 3, [](double x, double y, int) { return (x + y) / 200; });
  EXPECT_EQ(sampling(photograph, {.model = Model::siren}), Sampling::error);
  EXPECT_EQ(sampling(photograph, {.model = Model::hashgrid}), Sampling::stratified);
  EXPECT_EQ(sampling(photograph, {.batch = 0}), Sampling::stratified);
  EXPECT_EQ(sampling(photograph, {.simba = true}), Sampling::uniform);
  EXPECT_EQ(sampling(photograph, {.batch = 0, .sampling = Sampling::error}), Sampling::error);
  EXPECT_EQ(sampling(ink(), {.model = Model::siren}), Sampling::uniform);
  EXPECT_EQ(sampling(ink(), {.sampling = Sampling::stratified}), Sampling::stratified);
  const auto text = [&](Sampling s) {
    return to_json(choices_for(ink(), {.model = Model::siren, .sampling = s}));
  };
  EXPECT_EQ(text(Sampling::uniform).find("sampling"), std::string::npos);  // as in files from before
  EXPECT_NE(text(Sampling::error).find("\"sampling\":\"error\""), std::string::npos);
  EXPECT_EQ(sampling_from("stratified"), Sampling::stratified);
  EXPECT_THROW(sampling_from("strata"), ConfigError);
}

// first_omega and omega count in a field if others make another field of the same seed.
TEST(PlanFor, RefusesAnOmegaThatWouldChangeNothing) {
  const auto check_one = [](const FitOptions& wishes) {
    FieldOptions o = choices_for(disc(), wishes).field;
    const std::vector<float> drawn = ImageField(o, 1).render({8, 8}).values<float>();
    o.first_omega *= 2;
    o.omega *= 2;
    const bool counts = ImageField(o, 1).render({8, 8}).values<float>() != drawn;
    EXPECT_EQ(takes_omega(o), counts) << name_of(model_of(o));
    for (const auto wish : {&FitOptions::first_omega, &FitOptions::omega}) {
      FitOptions wished = wishes;
      wished.*wish = 20;
      if (counts)
        EXPECT_NO_THROW(choices_for(disc(), wished)) << name_of(model_of(o));
      else
        EXPECT_THROW(choices_for(disc(), wished), ConfigError) << name_of(model_of(o));
    }
  };
  for (const std::string& name : model_names()) check_one({.model = model_from(name)});
  check_one({.simba = true});
}

// Checkpoints from before batches went by blocks say nothing of sampling, and had other points between the
// samples.
TEST(PlanFor, NamesTheSamplingOfPointsBetween) {
  const auto named = [](const FitOptions& wishes) {
    return nlohmann::json::parse(to_json(choices_for(disc(3), wishes))).contains("sampling");
  };
  EXPECT_TRUE(named({.model = Model::hashgrid, .sampling = Sampling::uniform, .footprint = 1}));
  EXPECT_TRUE(named({.model = Model::hashgrid, .footprint = 1}));
  EXPECT_FALSE(named({.model = Model::siren, .sampling = Sampling::uniform})) << "as earlier fits have it";
}

TEST(PlanFor, RefusesWishesThatMakeNoSense) {
  const auto refused = [](auto change, const Tensor& picture = disc()) {
    FitOptions options = quick();
    change(options);
    EXPECT_THROW(choices_for(picture, options), ConfigError);
  };
  refused([](FitOptions& o) { o.lr = -1; });
  refused([](FitOptions& o) { o.lr = 0; });
  refused([](FitOptions& o) { o.lr = NAN; });
  refused([](FitOptions& o) { o.batch = -1; });
  refused([](FitOptions& o) { o.width = 0; });
  refused([](FitOptions& o) { o.depth = 0; });
  refused([](FitOptions& o) { o.depth = 1'000'000'000; });
  refused([](FitOptions& o) { o.steps = 0; });
  refused([](FitOptions& o) { o.omega = 0; });
  refused([](FitOptions& o) { o.footprint = 0; });
  refused([](FitOptions& o) { o.warmup = -1; });
  refused([](FitOptions& o) { o.seconds = -1; });
  refused([](FitOptions& o) { o.target_psnr = NAN; });
  refused([](FitOptions& o) { o.loss = Loss::hinge; });  // greys
  refused([](FitOptions& o) {
    o.loss = Loss::bce;
    o.footprint = 2;
  });
  refused([](FitOptions& o) {
    o.steps = {};
    o.seconds = 1;
    o.warmup = 10;
  });
  EXPECT_THROW(choices_for(Tensor::of({2, 2}, {0, 1, 1, 0}), {}), ShapeError);
  EXPECT_THROW(choices_for(Tensor::from<float>({0, 2, 1}, {}), {}), ShapeError);
}

TEST(PlanFor, GivesADrawingTheOriginalNetworkIfItIsToBeTanh) {
  const FitChoices p = choices_for(ink(), {.model = Model::tanh});
  EXPECT_EQ(layer_sizes(p.field), layer_sizes(simba_choices().field));
  EXPECT_EQ(parameter_count(p.field), 98752);
  EXPECT_EQ(p.optimizer, OptimizerKind::muon);
  EXPECT_EQ(choices_for(ink(), {.model = Model::tanh, .width = 32}).field.widths,
            std::vector<std::int64_t>(7, 32));
  // With one hidden layer there is no matrix for Muon; what else was chosen stays.
  EXPECT_EQ(choices_for(ink(), {.model = Model::tanh, .depth = 1}).optimizer, OptimizerKind::adam);
  EXPECT_EQ(choices_for(ink(), {.depth = 1, .simba = true}).optimizer, OptimizerKind::sgd);
}

// Started around 0, as Glorot and Bengio have it, it is at 15 dB by then.
TEST(SlowFit, DrawsThinLinesWithTheOriginalNetwork) {
  const Tensor cub = io::read_image(VELDT_SOURCE "/assets/cub.png");
  const FitChoices choices = choices_for(cub, {.steps = 300, .model = Model::tanh, .batch = 2048});
  Fitter fitter(cub, choices);
  fitter.run({}, {});
  EXPECT_GT(quality_of(fitter.field(), cub), 20);
}

TEST(PlanFor, KeepsABatchWithinThePicture) {
  FitOptions options = quick();
  for (const std::int64_t batch : {0, 576, 577, 1'000'000}) {
    options.batch = batch;
    EXPECT_EQ(choices_for(disc(), options).batch, 576);
  }
  EXPECT_LE(choices_for(disc(), quick()).batch, 576);
}

TEST(PlanFor, GivesAPictureATeacherUnlessItIsLargeOrAskedForANetwork) {
  const FitChoices choices = choices_for(disc(3), {});
  EXPECT_TRUE(choices.has_teacher());
  EXPECT_EQ(choices.field.footprint, 4);
  EXPECT_EQ(choices.warmup, 20);
  EXPECT_EQ(choices_for(disc(3), {.seconds = 1}).warmup, 0) << "there is no number of steps";
  EXPECT_FALSE(choices_for(ink(), {}).has_teacher());
  const Tensor greys = data::resample(ink(), {12, 12}, data::Filter::area);
  EXPECT_EQ(kind_of(facts_of(greys), greys).style, Style::line);
  EXPECT_TRUE(choices_for(greys, {}).has_teacher());
  EXPECT_FALSE(choices_for(greys, {}).field.two_tone);
  EXPECT_TRUE(choices_for(greys, {.model = Model::siren}).field.two_tone)
      << "a scene before the filter, as asked";
  EXPECT_FALSE(choices_for(disc(3), {.model = Model::siren}).has_teacher());
  EXPECT_EQ(model_of(choices_for(disc(3), {.omega = 10}).field), Model::siren) << "a grid has none";
  EXPECT_FALSE(choices_for(disc(3), {.footprint = 1}).has_teacher());
  EXPECT_FALSE(choices_for(full({1025, 512, 3}, 0.5), {}).has_teacher());
  EXPECT_FALSE(choices_for(disc(3), {.loss = Loss::bce}).has_teacher()) << "it has another head";
  const FitChoices whole = choices_for(disc(3), {.batch = 0});
  EXPECT_TRUE(whole.has_teacher());
  EXPECT_EQ(whole.field.footprint, 4);
  EXPECT_EQ(whole.batch, 24 * 24 * 16);
}

TEST(PlanFor, TakesAPriorForATeacherWhereThereIsOne) {
  Rng rng(1);
  FitOptions wishes;
  wishes.prior = std::make_shared<Prior>(PriorOptions{.width = 4, .depth = 2}, rng);
  EXPECT_EQ(nlohmann::json::parse(to_json(choices_for(disc(3), wishes))).at("teacher"), "prior");
  EXPECT_EQ(nlohmann::json::parse(to_json(choices_for(disc(3), {}))).at("teacher"), "rules");
  EXPECT_EQ(choices_for(ink(), wishes).prior, nullptr);
}

TEST_F(Fit, FollowsItsPrior) {
  Rng rng(1);
  FitOptions wishes{.steps = 200};
  const ImageField by_rules = fit(disc(), wishes);
  wishes.prior = std::make_shared<Prior>(PriorOptions{.width = 4, .depth = 2}, rng);
  const ImageField by_prior = fit(disc(), wishes);
  const Tensor drawn = permute(redraw(*wishes.prior, permute(disc(), {2, 0, 1}), 8), {1, 2, 0});
  const auto off = [&](const ImageField& field) {
    return mean(square(field.render({96, 96}) - drawn)).item();
  };
  EXPECT_LT(off(by_prior), 1e-4);
  EXPECT_GT(off(by_rules), 2 * off(by_prior));
}

TEST_F(Fit, IsStoppedWhileItsTeacherDraws) {
  Rng rng(1);
  FitOptions wishes{.steps = 50};
  wishes.prior = std::make_shared<Prior>(PriorOptions{.width = 4, .depth = 2}, rng);
  const Tensor tall = draw(4, 300, 1, [](double x, double y, int) { return (x + y) / 310; });
  Fitter fitter(tall, choices_for(tall, wishes));
  std::vector<double> parts;
  const train::RunResult run = fitter.run({}, {}, [&](double part) {
    parts.push_back(part);
    return parts.size() < 2;
  });
  EXPECT_EQ(run.stop, train::Stop::asked);
  EXPECT_EQ(run.steps, 0);
  ASSERT_EQ(parts.size(), 2);
  EXPECT_GT(parts[1], parts[0]);
  EXPECT_EQ(fitter.run({}, {}, [](double) { return true; }).steps, 50) << "it can go on afterwards";
}

TEST_F(Fit, CountsItsTeachersTime) {
  Rng rng(1);
  FitOptions wishes{.seconds = 0.1};
  wishes.prior = std::make_shared<Prior>(PriorOptions{.width = 4, .depth = 2}, rng);
  Fitter fitter(disc(), choices_for(disc(), wishes));
  const train::RunResult run = fitter.run({}, {}, [](double) {
    std::this_thread::sleep_for(std::chrono::milliseconds(120));  // all of the available time
    return true;
  });
  EXPECT_GE(run.seconds, 0.12);
  EXPECT_EQ(run.stop, train::Stop::time_over);
  EXPECT_LE(run.steps, 5);  // of the hundreds that 0.1 s have room for
}

TEST_F(Fit, IsNotResumedUnderAnotherPrior) {
  const test::TempDir dir;
  CheckpointOptions checkpoints;
  checkpoints.directory = dir.path();
  const auto run_with = [&](std::uint64_t seed) {
    Rng rng(seed);
    FitOptions wishes{.steps = 5};
    wishes.prior = std::make_shared<Prior>(PriorOptions{.width = 4, .depth = 2}, rng);
    Fitter(disc(), choices_for(disc(), wishes)).run(checkpoints, {});
  };
  run_with(1);
  checkpoints.resume = true;
  EXPECT_THROW(run_with(2), ConfigError);
  EXPECT_NO_THROW(run_with(1));
}

TEST(PlanFor, GivesEqualTextForEqualPlansAlone) {
  EXPECT_EQ(to_json(choices_for(disc(), quick())), to_json(choices_for(disc(), quick())));
  EXPECT_NE(to_json(choices_for(disc(), quick(200))), to_json(choices_for(disc(), quick(201))));
}

}  // namespace
}  // namespace veldt::field
