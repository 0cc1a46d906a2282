// Pictures with noise: what is learned from which pictures, and a picture that goes through a network in
// tiles.
#include "veldt/recipe/denoise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/io/make_png.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/recipe/trained.h"
#include "veldt/recipe/trainer.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {
namespace {

using test::error_of;
using testing::HasSubstr;

const std::string kRecipe =
    "[data]\nkind = \"denoise\"\npath = \"p\"\ncrop = 8\nnoise = 0.1\ngrey = true\n[model]\nlayers = "
    "[\"Conv2d(outputs, 1)\"]\n[train]\nepochs = 1\n";

TEST(Denoise, PartsAreWholePicturesAndNoiseStaysTheSame) {
  const test::TempDir dir = test::TempDir::in_memory();
  std::filesystem::create_directories(dir / "p");
  for (int i = 0; i < 6; ++i)
    test::put_bytes(dir / ("p/" + std::to_string(i) + ".png"),
                    test::make_png({.width = 16, .height = 17}, std::vector<int>(272, 10 * i)));
  const Recipe recipe = parse(kRecipe, {"data.test=0.3", "data.validation=0.5"});
  const Data data = load_data(recipe, dir.path());
  EXPECT_EQ(data.train->size(), 2 * 4);
  EXPECT_EQ(data.validation->size(), 2 * 4);
  EXPECT_EQ(data.test->size(), 2 * 4);
  EXPECT_EQ(data.facts.examples, 6);
  EXPECT_NEAR(data.test->get(0).at(0).values<float>()[0], 40.0 / 255, 1e-6);
  EXPECT_EQ(data.facts.model.input, (Shape{1, 8, 8}));
  EXPECT_EQ(data.facts.model.output, (Shape{1, 8, 8}));
  data::Loader measuring = measuring_loader(recipe, data, data.test);
  const data::Batch first = measuring.batch(0), again = measuring_loader(recipe, data, data.test).batch(0);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].values<float>(), again[0].values<float>());
  EXPECT_NE(first[0].values<float>(), first[1].values<float>());
  data::Loader training = training_loader(recipe, data);
  EXPECT_EQ(training.batch(0)[1].shape(), (Shape{8, 1, 8, 8}));
  // A folder of its own for measuring.
  std::filesystem::create_directories(dir / "p/train");
  std::filesystem::create_directories(dir / "p/test");
  std::filesystem::copy(dir / "p/1.png", dir / "p/train/1.png");
  std::filesystem::copy(dir / "p/2.png", dir / "p/test/2.png");
  EXPECT_EQ(load_data(parse(kRecipe), dir.path()).test->size(), 4);
  EXPECT_THAT(error_of<UsageError>([&] { load_data(recipe, dir.path()); }), HasSubstr("data.test is 0.3"));
}

TEST(Denoise, APictureOfAnySizeGoesThroughInTiles) {
  const test::TempDir dir = test::TempDir::in_memory();
  const Recipe recipe = parse(kRecipe);
  Facts facts;
  facts.model = {{1, 8, 8}, DType::f32, 1, {1, 8, 8}};
  nn::Graph model = build_model(recipe, facts.model);
  {
    const NoGrad off;  // half of each pixel
    for (Tensor p : model.parameters()) p.assign(full(p.shape(), p.rank() > 1 ? 0.5 : 0));
  }
  save(dir / "model.safetensors", recipe, facts, model, {});
  const Trained trained = load(dir / "model.safetensors");
  Rng rng(1);
  std::vector<std::int64_t> done;
  const Tensor heard = trained.denoise(rand({21, 13, 1}, rng), [&](std::int64_t rows, std::int64_t all) {
    EXPECT_EQ(all, 21);
    done.push_back(rows);
    return done.size() < 3;
  });
  EXPECT_THAT(done, testing::ElementsAre(6, 10, 14));
  EXPECT_FALSE(heard.defined());
  for (const Shape& shape : {Shape{8, 8, 1}, Shape{21, 13, 1}, Shape{3, 30, 1}, Shape{1, 1, 1}}) {
    const Tensor picture = rand(shape, rng), half = trained.denoise(picture);
    ASSERT_EQ(half.shape(), shape);
    const std::vector<float> in = picture.values<float>(), out = half.values<float>();
    for (std::size_t i = 0; i < in.size(); ++i) EXPECT_NEAR(out[i], in[i] / 2, 1e-6);
  }
  EXPECT_EQ(trained.denoise(full({9, 9, 4}, 200, DType::u8)).shape(), (Shape{9, 9, 1}));
  EXPECT_THROW(trained.denoise(zeros({9, 9})), ShapeError);
  EXPECT_THAT(error_of<UsageError>([&] {
                trained.classify(zeros({8, 8, 1}));
              }),
              HasSubstr("denoise(picture)"));
}

}  // namespace
}  // namespace veldt::recipe
