// compare, csv and info on good files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/app/process.h"
#include "tests/io/make_png.h"
#include "tests/support/sanitizers.h"
#include "tests/support/temp_dir.h"
#include "veldt/field/image_field.h"
#include "veldt/io/image.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/train/checkpoint.h"
#include "veldt/train/picture_scores.h"

namespace veldt::test {
namespace {

using nlohmann::json;

const std::string kGreyCub = VELDT_SOURCE "/assets/cub_grey.png";

json json_of(std::vector<std::string> words) {
  words.emplace_back("--json");
  const Ran ran = run_veldt(words);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return json::parse(ran.out, nullptr, false);
}

field::ImageField small_field(std::int64_t channels = 1, std::int64_t width = 24, std::int64_t height = 16) {
  field::FieldOptions options;
  options.widths = {8, 8};
  options.channels = channels;
  options.width = width;
  options.height = height;
  return {options, 3};
}

// ---- compare ----

TEST(Compare, SaysHowPicturesDiffer) {
  const json score = json_of({"compare", kCub, kGreyCub});
  for (const char* key : {"psnr", "ssim", "mae", "max_abs", "wrong_pixels"})
    EXPECT_TRUE(score.contains(key)) << key;
  EXPECT_EQ(score.at("identical"), false);
  const Ran text = run_veldt({"compare", kCub, kGreyCub});
  for (const char* word : {"PSNR", "SSIM", "MAE", "largest error", "wrong pixels"})
    EXPECT_NE(text.out.find(word), std::string::npos) << text.out;
}

TEST(Compare, ShrinksTheLargerOfTwoPicturesOfOneForm) {
  const test::TempDir dir;
  const Tensor small = io::read_image(kGreyCub);
  io::write_image(dir / "large.png", repeat_interleave(repeat_interleave(small, 3, 0), 3, 1));
  const Ran ran = run_veldt({"compare", dir / "large.png", kGreyCub});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("identical"), std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("wrong pixels"), std::string::npos) << "neither has two colours";
  EXPECT_NE(ran.err.find("is shrunk from 600x600 to 200x200"), std::string::npos) << ran.err;
  io::write_image(dir / "wide.png", repeat_interleave(small, 2, 1));
  EXPECT_EQ(run_veldt({"compare", dir / "wide.png", kGreyCub}).exit_code, 2);
}

// Opaque white columns and nearly transparent black ones: the mean is weighted by alpha.
TEST(Compare, ShrinksPixelsThatOneCanSeeThroughAsTheyAreSeen) {
  const TempDir dir;
  std::vector<int> samples;
  for (int i = 0; i < 64 * 64; ++i) {
    const bool white = i % 2 == 0;
    const int colour = white ? 255 : 0, alpha = white ? 255 : 50;
    samples.insert(samples.end(), {colour, colour, colour, alpha});
  }
  put_bytes(dir / "large.png",
            make_png({.width = 64, .height = 64, .type = PNG_COLOR_TYPE_RGB_ALPHA}, samples));
  put_bytes(dir / "small.png", make_png({.width = 32, .height = 32}, std::vector<int>(32 * 32, 230)));
  const Ran ran = run_veldt({"compare", dir / "large.png", dir / "small.png", "--json"});
  EXPECT_EQ(json::parse(ran.out).at("identical"), true) << ran.out;
  EXPECT_NE(ran.err.find("laid over white"), std::string::npos) << ran.err;
}

TEST(Compare, IdenticalPicturesPassEveryThreshold) {
  const json score = json_of({"compare", kCub, kCub, "--min-psnr", "100000"});
  EXPECT_EQ(score.at("psnr"), 999);
  EXPECT_EQ(score.at("identical"), true);
  EXPECT_EQ(score.at("wrong_pixels"), 0);
  EXPECT_NE(run_veldt({"compare", kCub, kCub}).out.find("inf (identical)"), std::string::npos);
}

TEST(Compare, AMissedThresholdExitsWithEightAfterTheResult) {
  const Ran ran = run_veldt({"compare", kCub, kGreyCub, "--min-psnr", "60", "--json"});
  EXPECT_EQ(ran.exit_code, 8);
  EXPECT_TRUE(has_three_lines(ran.err));
  EXPECT_NE(ran.err.find("below 60 dB"), std::string::npos);
  EXPECT_TRUE(json::parse(ran.out).contains("psnr"));
}

TEST(Compare, DrawsTheDifferenceUpToWhite) {
  const TempDir dir;
  const std::string a = dir / "a.png", b = dir / "b.png", d = dir / "d.png";
  io::write_image(a, Tensor::of({1, 3, 1}, {0, 0.2, 0.4}));
  io::write_image(b, Tensor::of({1, 3, 1}, {0, 0.4, 0.8}));
  EXPECT_EQ(run_veldt({"compare", a, b, "--diff", d}).exit_code, 0);
  EXPECT_EQ(io::read_image(d).values<float>(), (std::vector<float>{0, 128 / 255.0f, 1}));
}

// The bands in which pictures are compared do not show, not even in the last bit.
TEST(Compare, IsTheSameInBands) {
  const TempDir dir;
  const std::int64_t width = 2047, height = 2054;  // a band has 2049 rows
  Rng rng(5);
  const Tensor a = rand({height, width, 1}, rng);
  Tensor b = a * 0.9 + 0.05;
  // The last rows differ most, and seams lie within SSIM's windows.
  narrow(b, 0, 2047, 7).assign(1.0 - narrow(a, 0, 2047, 7));
  io::write_image(dir / "a.png", a, {.bits = 16});
  io::write_image(dir / "b.png", b, {.bits = 16});
  const json score = json_of({"compare", dir / "a.png", dir / "b.png", "--diff", dir / "d.png"});
  const Tensor x = io::read_image(dir / "a.png"), y = io::read_image(dir / "b.png");
  const train::PictureScore whole = train::compare_pictures(x, y);
  EXPECT_EQ(score.at("psnr"), whole.psnr);
  EXPECT_EQ(score.at("ssim"), whole.ssim);
  EXPECT_EQ(score.at("mae"), whole.mae);
  EXPECT_EQ(score.at("max_abs"), whole.max_abs);
  EXPECT_EQ(score.at("wrong_pixels"), whole.wrong_pixels);
  const Tensor difference = abs(x - y);
  EXPECT_GT(max(narrow(difference, 0, 2049, 5)).item(), max(narrow(difference, 0, 0, 2047)).item());
  io::write_image(dir / "whole.png", difference * (1 / max(difference).item()));
  EXPECT_EQ(io::read_image(dir / "d.png").values<float>(), io::read_image(dir / "whole.png").values<float>());
}

// Twice 64 MB of bytes are held, and not the 512 MB that they would be as numbers.
TEST(SlowCompare, TakesTheMemoryOfTheBytesAndOfABand) {
  if (kAddressSanitizer) GTEST_SKIP() << "the sanitizer has memory of its own";
  const TempDir dir;
  const std::int64_t side = 8192;
  {
    io::ImageWriter file(dir / "a.png", {side, side}, 1, {.compression = 1});
    std::vector<float> row(static_cast<std::size_t>(side));
    for (std::int64_t y = 0; y < side; ++y) {
      std::fill(row.begin(), row.end(), static_cast<float>(y % 256) / 255);
      file.write_rows(row.data(), 1);
    }
    file.finish();
  }
  Process process({"compare", dir / "a.png", dir / "a.png", "--diff", dir / "d.png", "--threads", "2"}, dir);
  ASSERT_EQ(process.wait(), 0) << process.err();
  EXPECT_LT(process.peak_megabytes(), 300);
}

// A network whose numbers overflow draws NaN in some pixels.
TEST(Compare, SaysWhereValuesAreNoNumbers) {
  const TempDir dir;
  const std::string model = dir / "m.safetensors", picture = dir / "p.png", d = dir / "d.png";
  small_field().save(model);
  io::SafeTensors file = io::read_safetensors(model);
  file.metadata.erase("veldt.xxh3");
  for (auto& [name, tensor] : file.tensors)
    if (name == "layers.2.weight")
      tensor = Tensor::of({1, 8}, {3e38, -3e38, 3e38, -3e38, 3e38, -3e38, 3e38, -3e38});
  io::write_safetensors(model, file.tensors, file.metadata);
  io::write_image(picture, full({16, 24, 1}, 0.2));
  const std::vector<float> drawn = field::ImageField::load(model).render({24, 16}).values<float>();
  const auto bad = std::count_if(drawn.begin(), drawn.end(), [](float v) { return std::isnan(v); });
  ASSERT_GT(bad, 0);
  ASSERT_LT(bad, std::ssize(drawn));
  const Ran ran = run_veldt({"compare", picture, model, "--diff", d});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_NE(ran.out.find("PSNR           nan"), std::string::npos) << ran.out;
  EXPECT_NE(ran.err.find(std::to_string(bad) + " of 384 values are not numbers"), std::string::npos)
      << ran.err;
  std::vector<float> expected;
  const float largest = 0.8F;  // between 0.2 and a pixel of 1
  for (const float v : drawn)
    expected.push_back(std::isnan(v) ? 1 : std::floor(std::abs(v - 0.2F) / largest * 255 + 0.5F) / 255);
  EXPECT_EQ(io::read_image(d).values<float>(), expected);
  const json score = json_of({"compare", picture, model});
  EXPECT_TRUE(score.at("psnr").is_null()) << score;
  EXPECT_EQ(run_veldt({"compare", picture, model, "--min-psnr", "1"}).exit_code, 8);
}

TEST(Compare, GreyIsComparedWithColours) {
  const TempDir dir;
  const std::string grey = dir / "grey.png", rgb = dir / "rgb.png";
  put_bytes(grey, make_png({.width = 2}, {0, 255}));
  put_bytes(rgb, make_png({.width = 2, .type = PNG_COLOR_TYPE_RGB}, {0, 0, 0, 255, 0, 0}));
  const json score = json_of({"compare", grey, rgb});
  EXPECT_EQ(score.at("wrong_pixels"), 1) << "red is nearer to black than to white";
  EXPECT_EQ(score.at("max_abs"), 255);
}

TEST(Compare, AWrongPixelIsNearerToTheOtherOfTwoTones) {
  const TempDir dir;
  const auto picture = [&](const char* name, const std::vector<int>& levels) {
    put_bytes(dir / name, make_png({.width = static_cast<int>(levels.size())}, levels));
    return dir / name;
  };
  const auto wrong = [](const std::string& a, const std::string& b) {
    const int count = json_of({"compare", a, b}).at("wrong_pixels");
    EXPECT_EQ(json_of({"compare", b, a}).at("wrong_pixels"), count);
    return count;
  };
  const std::string pale = picture("pale.png", {204, 255, 204, 255});
  EXPECT_EQ(wrong(pale, picture("white.png", {255, 255, 255, 255})), 2);
  EXPECT_EQ(wrong(pale, picture("near.png", {229, 230, 180, 240})), 0);
  EXPECT_EQ(wrong(pale, picture("strong.png", {0, 255, 255, 0})), 2) << "black and white are farther apart";
  put_bytes(dir / "colours.png", make_png({.width = 2, .type = PNG_COLOR_TYPE_RGB}, {255, 0, 0, 200, 0, 41}));
  put_bytes(dir / "same.png", make_png({.width = 2, .type = PNG_COLOR_TYPE_RGB}, {255, 0, 40, 200, 0, 0}));
  EXPECT_EQ(wrong(dir / "colours.png", dir / "same.png"), 0) << "what tells the two apart is red";
}

TEST(Compare, AlphaIsLaidOverWhiteWithANote) {
  const TempDir dir;
  const std::string alpha = dir / "alpha.png", white = dir / "white.png";
  put_bytes(alpha, make_png({.width = 2, .type = PNG_COLOR_TYPE_GRAY_ALPHA}, {0, 0, 255, 255}));
  put_bytes(white, make_png({.width = 2}, {255, 255}));
  const Ran ran = run_veldt({"compare", alpha, white, "--json"});
  EXPECT_EQ(json::parse(ran.out).at("identical"), true);
  EXPECT_NE(ran.err.find("laid over white"), std::string::npos);
}

TEST(Compare, AModelIsDrawnAtThePicturesSize) {
  const TempDir dir;
  const field::ImageField field = small_field();
  field.save(dir / "m.safetensors");
  io::write_image(dir / "drawn.png", field.render({48, 32}), {.bits = 16});
  const json score = json_of({"compare", dir / "drawn.png", dir / "m.safetensors"});
  EXPECT_GT(score.at("psnr").get<double>(), 90);  // what rounding to 16 bits leaves
  EXPECT_EQ(json_of({"compare", dir / "m.safetensors", dir / "m.safetensors"}).at("identical"), true);
}

TEST(Compare, SaysAtWhichSizeTwoModelsAreDrawnAndWhatThatStretches) {
  const TempDir dir;
  small_field().save(dir / "m");
  small_field(1, 48, 32).save(dir / "larger");
  small_field(1, 10, 10).save(dir / "square");
  io::write_image(dir / "p.png", ones({16, 24, 1}));
  const auto notes = [&](const std::string& a, const std::string& b) {
    const Ran ran = run_veldt({"compare", dir / a, dir / b});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(run_veldt({"compare", dir / a, dir / b, "--quiet"}).err, "");
    return ran.err;
  };
  EXPECT_EQ(notes("m", "larger"),
            "veldt: note: both are drawn at 48x32, the size of " + (dir / "larger") + "\n");
  EXPECT_EQ(notes("m", "m"), "");
  EXPECT_EQ(notes("p.png", "larger"), "");
  EXPECT_EQ(notes("p.png", "square"),
            "veldt: note: " + (dir / "square") + " is stretched: it was fitted to 10x10\n");
  EXPECT_NE(notes("square", "m").find("both are drawn at 24x16"), std::string::npos);
}

TEST(Compare, PixelTablesArePicturesToo) {
  const TempDir dir;
  ASSERT_EQ(run_veldt({"csv", "encode", kCub, "-o", dir / "t.csv"}).exit_code, 0);
  EXPECT_EQ(json_of({"compare", dir / "t.csv", kCub}).at("identical"), true);
}

// ---- csv ----

void expect_round_trip(const std::string& picture, const std::vector<std::string>& flags = {}) {
  const TempDir dir;
  std::vector<std::string> encode = {"csv", "encode", picture, "-o", dir / "t.csv"};
  encode.insert(encode.end(), flags.begin(), flags.end());
  ASSERT_EQ(run_veldt(encode).exit_code, 0);
  ASSERT_EQ(run_veldt({"csv", "decode", dir / "t.csv", "-o", dir / "p.png"}).exit_code, 0);
  EXPECT_EQ(json_of({"compare", picture, dir / "p.png"}).at("identical"), true);
}

TEST(Csv, OneBitPicturesComeBackAsTheyWere) {
  expect_round_trip(kCub);
  const TempDir dir;
  run_veldt({"csv", "encode", kCub, "-o", dir / "t.csv"});
  run_veldt({"csv", "decode", dir / "t.csv", "-o", dir / "p.png"});
  EXPECT_EQ(io::image_info(dir / "p.png").bit_depth, 1);
  run_veldt({"csv", "encode", dir / "p.png", "-o", dir / "again.csv"});
  EXPECT_EQ(bytes_of(dir / "t.csv"), bytes_of(dir / "again.csv"));
}

TEST(Csv, IsDrawnInTheFormatOfTheName) {
  const TempDir dir;
  ASSERT_EQ(run_veldt({"csv", "encode", kCub, "-o", dir / "t.csv"}).exit_code, 0);
  for (const char* name : {"p.jpg", "p.webp"}) {
    const Ran ran = run_veldt({"csv", "decode", dir / "t.csv", "-o", dir / name});
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_EQ(json_of({"info", dir / name}).at("width"), 200);
  }
}

TEST(Csv, GreyAndColourPicturesComeBackAsTheyWere) {
  expect_round_trip(kGreyCub);
  expect_round_trip(kGreyCub, {"--rgb"});
  const TempDir dir;
  std::vector<int> samples;
  for (int i = 0; i < 5 * 7 * 3; ++i) samples.push_back(i * 53 % 256);
  put_bytes(dir / "c.png", make_png({.width = 7, .height = 5, .type = PNG_COLOR_TYPE_RGB}, samples));
  expect_round_trip(dir / "c.png");
}

TEST(Csv, BlackIsInkAndInkIsOne) {
  const TempDir dir;
  put_bytes(dir / "p.png", make_png({.width = 2, .depth = 1}, {0, 1}));
  run_veldt({"csv", "encode", dir / "p.png", "-o", dir / "t.csv"});
  EXPECT_EQ(bytes_of(dir / "t.csv"), "x,y,pixel_value\n0,0,1\n1,0,0\n");
}

TEST(Csv, TheThresholdDecidesWhatInkIs) {
  const TempDir dir;
  put_bytes(dir / "p.png", make_png({.width = 3}, {50, 100, 200}));
  run_veldt({"csv", "encode", dir / "p.png", "-o", dir / "t.csv", "--threshold", "0.3"});
  EXPECT_EQ(bytes_of(dir / "t.csv"), "x,y,pixel_value\n0,0,1\n1,0,0\n2,0,0\n");
}

TEST(Csv, WritesToStdout) {
  const TempDir dir;
  put_bytes(dir / "p.png", make_png({.width = 1, .depth = 1}, {0}));
  const Ran ran = run_veldt({"csv", "encode", dir / "p.png", "-o", "/dev/stdout"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, "x,y,pixel_value\n0,0,1\n");
}

// ---- info ----

TEST(Info, DescribesAPicture) {
  const json info = json_of({"info", kCub, "--verify"});
  EXPECT_EQ(info.at("kind"), "picture");
  EXPECT_EQ(info.at("width"), 200);
  EXPECT_EQ(info.at("bits"), 1);
  EXPECT_EQ(info.at("verified"), true);
}

TEST(Info, DescribesAModel) {
  const TempDir dir;
  field::ImageField field = small_field(3);
  field.set_training(R"({"psnr":41.5,"steps":12})");
  field.save(dir / "m");  // known by its bytes, not by its name
  const json info = json_of({"info", dir / "m", "--verify"});
  EXPECT_EQ(info.at("kind"), "image_field");
  EXPECT_EQ(info.at("layers"), "2-8-8-3");
  EXPECT_EQ(info.at("parameters"), 2 * 8 + 8 + 8 * 8 + 8 + 8 * 3 + 3);
  EXPECT_EQ(info.at("fitted_to").at("width"), 24);
  EXPECT_EQ(info.at("training").at("psnr"), 41.5);
  EXPECT_EQ(info.at("hashes"), "match");
  const std::string text = run_veldt({"info", dir / "m"}).out;
  EXPECT_NE(text.find("2-8-8-3"), std::string::npos) << text;
}

TEST(Info, NamesOptionsAsTheFlagsDoAndShowsWhatCounts) {
  const TempDir dir;
  field::ImageField field = small_field();
  field.set_training(R"({"plan":{"steps":0,"seconds":2.5,"target_psnr":0,"warmup":0,"lr_min":0},"steps":0})");
  field.save(dir / "m");
  const std::string text = run_veldt({"info", dir / "m"}).out;
  EXPECT_NE(text.find("\n  first-omega  "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  omega  "), std::string::npos) << text;
  for (const char* gone : {"first omega", "target psnr", "warmup"})
    EXPECT_EQ(text.find(gone), std::string::npos) << text;
  for (const char* kept : {"    seconds  2.5\n", "    lr min   0\n", "  steps  0\n"})
    EXPECT_NE(text.find(kept), std::string::npos) << kept << text;
  // JSON keeps the names of the file.
  EXPECT_EQ(json_of({"info", dir / "m"}).at("options").at("first_omega"), 60);
  EXPECT_TRUE(json_of({"info", dir / "m"}).at("training").at("plan").contains("warmup"));
}

TEST(Info, NamesWhatTablesHoldAndLeavesOutAnOmegaThatDoesNothing) {
  const TempDir dir;
  field::FieldOptions options;
  options.activation = field::Activation::relu;
  options.widths = {8};
  options.width = options.height = 4;
  options.encodings = {field::FrequencyOptions{3}, field::FourierOptions{5, 0.5}};
  field::ImageField(options, 1).save(dir / "m");
  const std::string text = run_veldt({"info", dir / "m"}).out;
  EXPECT_EQ(text.find("omega"), std::string::npos) << text;
  EXPECT_NE(text.find("\n    kind frequency  octaves 3\n    frequencies 5  kind fourier  sigma 0.5\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find(
          "\n  name                          dtype  shape\n  encoding.parts.1.frequencies  F32    [5, 2]\n"),
      std::string::npos)
      << text;
}

TEST(Info, PrintsNoControlCharacters) {
  const TempDir dir;
  const std::string bad = "x\x1b]0;title\a\n";
  io::write_safetensors(dir / "t", {{bad, ones({2})}}, {{bad, bad}, {"list", bad}});
  const Ran ran = run_veldt({"info", dir / "t"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out.find_first_of("\x1b\a"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\\x1b]0;title\\x07\\x0a"), std::string::npos) << ran.out;
}

TEST(Info, OutlivesDeepJson) {
  const TempDir dir;
  field::ImageField field = small_field();
  field.set_training(std::string(400'000, '['));
  field.save(dir / "m");
  EXPECT_EQ(run_veldt({"info", dir / "m"}).exit_code, 0);
  EXPECT_TRUE(json_of({"info", dir / "m"}).at("training").is_string());
  auto metadata = field.metadata();
  metadata["options"] = R"({"width":)" + std::string(400'000, '[') + std::string(400'000, ']') + "}";
  io::write_safetensors(dir / "o", field.tensors(), metadata);
  const Ran ran = run_veldt({"info", dir / "o"});
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_TRUE(has_three_lines(ran.err));
}

TEST(Info, ListsTheTensorsOfAnyFile) {
  const TempDir dir;
  io::write_safetensors(dir / "t.safetensors", {{"a.weight", ones({2, 3})}, {"b", zeros({4}, DType::i64)}},
                        {{"author", "someone"}});
  const json info = json_of({"info", dir / "t.safetensors"});
  EXPECT_EQ(info.at("kind"), "safetensors");
  EXPECT_EQ(info.at("metadata").at("author"), "someone");
  EXPECT_EQ(info.at("tensors").size(), 2u);
}

TEST(Info, ListsTheColumnsOfATable) {
  const TempDir dir;
  put_bytes(dir / "t.csv", "x,y,kind\n0.5,-1,a\n2,1e3,b\n0.25,2,a\n");
  const json info = json_of({"info", dir / "t.csv"});
  EXPECT_EQ(info.at("kind"), "table");
  EXPECT_EQ(info.at("rows"), 3);
  EXPECT_EQ(info.at("columns").at(1),
            (json{{"column", "y"}, {"holds", "numbers"}, {"least", -1}, {"most", 1000}}));
  EXPECT_EQ(info.at("columns").at(2), (json{{"column", "kind"}, {"holds", "texts"}, {"different", 2}}));
  put_bytes(dir / "t.csv", "x,y,kind\n0.5,-1\n");
  EXPECT_EQ(run_veldt({"info", dir / "t.csv"}).exit_code, 4);
}

TEST(Info, VerifyFindsAFlippedBitOfAModel) {
  const TempDir dir;
  const std::string path = dir / "m.safetensors";
  small_field().save(path);
  std::string bytes = bytes_of(path);
  bytes[bytes.size() - 10] = static_cast<char>(bytes[bytes.size() - 10] ^ 1);
  put_bytes(path, bytes);
  const Ran ran = run_veldt({"info", path, "--verify"});
  EXPECT_EQ(ran.exit_code, 9);
  EXPECT_TRUE(has_three_lines(ran.err));
}

TEST(Info, VerifyFindsNumbersThatAreNone) {
  const TempDir dir;
  const field::ImageField field = small_field();
  NamedTensors tensors = field.tensors();
  tensors[0].tensor = full(tensors[0].tensor.shape(), std::nan(""));
  io::write_safetensors(dir / "m.safetensors", tensors, field.metadata());
  const Ran ran = run_veldt({"info", dir / "m.safetensors", "--verify"});
  EXPECT_EQ(ran.exit_code, 9);
  EXPECT_NE(ran.err.find(tensors[0].name), std::string::npos) << ran.err;
}

class InfoOfARun : public testing::Test {
 protected:
  InfoOfARun() {
    const field::ImageField field = small_field();
    train::CheckpointDir run(dir_ / "run");
    for (const std::int64_t step : {10, 20})
      run.save({.step = step,
                .model = field.tensors(),
                .optim = {},
                .model_metadata = field.metadata(),
                .state_json = R"({"best_psnr":30.5,"nested":{}})"});
    newest_ = run.path_of(20);
  }
  const TempDir dir_;
  std::string newest_;
};

TEST_F(InfoOfARun, ListsItsCheckpoints) {
  const json info = json_of({"info", dir_ / "run", "--verify"});
  ASSERT_EQ(info.at("checkpoints").size(), 2u);
  EXPECT_EQ(info.at("checkpoints")[1].at("step"), 20);
  EXPECT_EQ(info.at("checkpoints")[1].at("damage"), "none");
}

TEST_F(InfoOfARun, LeavesOutDirectoriesOfOthers) {
  std::filesystem::create_directory(dir_ / "run/ckpt-notes");
  std::filesystem::create_directory(dir_ / "run/ckpt-7");
  EXPECT_EQ(json_of({"info", dir_ / "run", "--verify"}).at("checkpoints").size(), 2u);
}

TEST_F(InfoOfARun, DescribesOneCheckpoint) {
  const json info = json_of({"info", newest_ + "/", "--verify"});
  EXPECT_EQ(info.at("kind"), "checkpoint");
  EXPECT_EQ(info.at("step"), 20);
  EXPECT_EQ(info.at("field").at("layers"), "2-8-8-1");
  EXPECT_EQ(info.at("state").at("best_psnr"), 30.5);
}

TEST_F(InfoOfARun, NamesADamagedCheckpoint) {
  const std::string path = newest_ + "/model.safetensors";
  std::string bytes = bytes_of(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  put_bytes(path, bytes);
  const Ran listed = run_veldt({"info", dir_ / "run"});
  EXPECT_EQ(listed.exit_code, 0);
  EXPECT_EQ(listed.out.find("null"), std::string::npos) << listed.out;
  const Ran ran = run_veldt({"info", dir_ / "run", "--verify"});
  EXPECT_EQ(ran.exit_code, 9);
  EXPECT_NE(ran.err.find("ckpt-00000020"), std::string::npos) << ran.err;
  EXPECT_EQ(run_veldt({"info", newest_}).exit_code, 9);
}

}  // namespace
}  // namespace veldt::test
