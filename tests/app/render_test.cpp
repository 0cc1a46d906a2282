// veldt render through the real command: any size and part, in little memory, and files that are not as they
// should be.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/app/process.h"
#include "tests/app/small_model.h"
#include "tests/io/faults.h"
#include "tests/support/sanitizers.h"
#include "veldt/field/image_field.h"
#include "veldt/io/directory.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/create.h"

namespace veldt::test {
namespace {

using Words = std::vector<std::string>;

class RenderCommand : public testing::Test {
 protected:
  RenderCommand() { field_of(3).save(model_); }

  static field::ImageField field_of(std::int64_t channels, std::int64_t units = 16) {
    field::FieldOptions o;
    o.widths = {units, units};
    o.channels = channels;
    o.width = 40;
    o.height = 20;
    return {o, 1};
  }
  Words render(const Words& more) const { return Words{"render", model_, "-o", out_} + more; }
  void expect_size(const Words& more, std::int64_t width, std::int64_t height) {
    const Ran ran = run_veldt(render(more));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    const io::ImageInfo info = io::image_info(out_);
    EXPECT_EQ(info.width, width);
    EXPECT_EQ(info.height, height);
    EXPECT_EQ(count_entries(dir_.path()), 2u);
  }

  const TempDir dir_, log_;
  const std::string model_ = dir_ / "m.safetensors", out_ = dir_ / "p.png";
};

TEST_F(RenderCommand, DrawsEverySizeAskedFor) {
  expect_size({}, 40, 20);
  expect_size({"--size", "1x1"}, 1, 1);
  expect_size({"--size", "7x90"}, 7, 90);
  expect_size({"--size", "100"}, 100, 50);
  expect_size({"--scale", "2.5"}, 100, 50);
  expect_size({"--crop", "10,5,20,10", "--scale", "3"}, 60, 30);
  expect_size({"--size", "1"}, 1, 1);
}

TEST_F(RenderCommand, SaysWhatTakesForEver) {
  field_of(3, 64).save(model_);
  Process process(render({"--size", "1000000"}), log_);
  ASSERT_TRUE(comes_true([&] { return process.err().find("will take about") != std::string::npos; }))
      << process.err();
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130);
  EXPECT_NE(process.err().find("veldt: note: 1000000x500000 will take about"), std::string::npos)
      << process.err();
  EXPECT_NE(process.err().find("--crop"), std::string::npos);
  EXPECT_EQ(process.err().find("will take about"), process.err().rfind("will take about"));
  EXPECT_FALSE(io::exists(out_));
  EXPECT_EQ(run_veldt(render({"--size", "100"})).err.find("will take about"), std::string::npos);
}

TEST_F(RenderCommand, SaysWhenItStretches) {
  const auto says = [&](const Words& more) {
    const Ran ran = run_veldt(render(more));
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.err.find("veldt: note: ") != std::string::npos &&
           ran.err.find(" stretches what is drawn") != std::string::npos;
  };
  EXPECT_TRUE(says({"--size", "30x30"}));
  EXPECT_TRUE(says({"--size", "80x42"}));
  EXPECT_TRUE(says({"--size", "80x40", "--crop", "10,5,10,10"}));
  EXPECT_FALSE(says({"--size", "30x30", "--quiet"}));
  for (const Words& more :
       {Words{}, Words{"--size", "31"}, Words{"--size", "80x40"}, Words{"--size", "31x15"},
        Words{"--size", "31x16"}, Words{"--size", "1x1"}, Words{"--size", "80x80", "--crop", "10,5,10,10"}})
    EXPECT_FALSE(says(more)) << (more.empty() ? "" : more[1]);
}

TEST_F(RenderCommand, SaysWhatAFileIsThatIsNoModel) {
  const std::string picture = dir_ / "in.png";
  io::write_image(picture, zeros({8, 8, 1}));
  const Ran ran = run_veldt({"render", picture, "-o", out_});
  EXPECT_EQ(ran.exit_code, 4) << ran.err;
  EXPECT_NE(ran.err.find("in.png is not a safetensors file\n  why: it seems to be a PNG"), std::string::npos)
      << ran.err;
}

TEST_F(RenderCommand, DrawsWhatTheLibraryDraws) {
  ASSERT_EQ(run_veldt(render({"--size", "63x41", "--bits", "16"})).exit_code, 0);
  const std::vector<float> drawn = io::read_image(out_).values<float>();
  const std::vector<float> expected = field_of(3).render({63, 41}).values<float>();
  ASSERT_EQ(drawn.size(), expected.size());
  for (std::size_t i = 0; i < drawn.size(); ++i) ASSERT_NEAR(drawn[i], expected[i], 1.0 / 65535) << i;
}

TEST_F(RenderCommand, EscapesTheNameInItsResults) {
  const std::string name = dir_ / "o\x1b[31m\nx.png";
  for (const Words& more : {Words{}, Words{"--dry-run"}}) {
    const Ran ran = run_veldt(Words{"render", model_, "-o", name} + more);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    EXPECT_NE(ran.out.find("o\\x1b[31m\\x0ax.png"), std::string::npos) << ran.out;
  }
}

TEST_F(RenderCommand, PrintsOneJsonObject) {
  const Ran ran = run_veldt(render({"--json", "--quiet", "--size", "8x9"}));
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(nlohmann::json::parse(ran.out), (nlohmann::json{{"output", out_}, {"width", 8}, {"height", 9}}));
}

TEST_F(RenderCommand, ADryRunForetellsAndWritesNothing) {
  const Ran ran = run_veldt(render({"--size", "80x40", "--supersample", "2", "--dry-run", "--json"}));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const auto json = nlohmann::json::parse(ran.out);
  EXPECT_EQ(json.at("samples_a_pixel"), 4);
  const double parameters = 2 * 16 + 16 + 16 * 16 + 16 + 16 * 3 + 3;
  EXPECT_EQ(json.at("flops"), 2 * parameters * 80 * 40 * 4);
  for (const char* key : {"parameters", "flops", "memory_bytes", "uncompressed_bytes"})
    EXPECT_TRUE(json.at(key).is_number_integer()) << key << " " << json.at(key);
  EXPECT_GT(json.at("memory_bytes").get<double>(), 80 * 40 * 3 * 4);
  EXPECT_NE(run_veldt(render({"--dry-run"})).out.find("would write"), std::string::npos);
  EXPECT_EQ(count_entries(dir_.path()), 1u);
}

TEST_F(RenderCommand, ADryRunRefusesWhatARunWould) {
  for (const Words& more :
       {Words{"--bits", "5"}, Words{"--bits", "1"}, Words{"-o", dir_ / "p.gif"},
        Words{"-o", dir_ / "p.jpg", "--bits", "16"}, Words{"-o", dir_ / "p.jpg", "--size", "70000"},
        Words{"-o", dir_ / "p.webp", "--size", "20000"}}) {
    const Ran dry = run_veldt(render(more + Words{"--dry-run", "--quiet"})),
              wet = run_veldt(render(more + Words{"--quiet"}));
    EXPECT_EQ(dry.exit_code, 2) << more[1];
    EXPECT_EQ(dry.err, wet.err) << more[1];
    EXPECT_EQ(count_entries(dir_.path()), 1u);
  }
}

TEST_F(RenderCommand, RefusesSizesThatMakeNoSense) {
  for (const Words& more :
       {Words{"--size", "0"}, Words{"--size", "-5"}, Words{"--size", "12y"}, Words{"--size", "1x2x3"},
        Words{"--size", "99999999999"}, Words{"--size", "8", "--scale", "2"}, Words{"--scale", "0"},
        Words{"--scale", "1e300"}, Words{"--crop", "1,2,3"}, Words{"--crop", "0,0,41,20"},
        Words{"--crop", "nan,0,1,1"}, Words{"--crop", "0,0,0,5"}, Words{"--supersample", "65"},
        Words{"--bits", "5"}, Words{"--bits", "1"}}) {
    const Ran ran = run_veldt(render(more));
    EXPECT_EQ(ran.exit_code, 2) << more[0] << " " << more[1] << "\n" << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err));
    EXPECT_EQ(count_entries(dir_.path()), 1u);
  }
}

TEST_F(RenderCommand, RefusesDamagedModelsAndThoseOfANewerVeldt) {
  const std::string whole = bytes_of(model_);
  put_bytes(out_, "older");
  const auto expect_refused = [&](const std::string& bytes, const std::vector<int>& codes) {
    put_bytes(model_, bytes);
    const Ran ran = run_veldt(render({}));
    EXPECT_TRUE(std::find(codes.begin(), codes.end(), ran.exit_code) != codes.end())
        << ran.exit_code << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err));
    EXPECT_EQ(bytes_of(out_), "older");
    EXPECT_EQ(count_entries(dir_.path()), 2u);
  };
  expect_refused(whole.substr(0, whole.size() / 2), {4});
  std::string flipped = whole;
  flipped.back() = static_cast<char>(flipped.back() ^ 16);
  expect_refused(flipped, {9});
  flipped = whole;
  flipped[40] = static_cast<char>(flipped[40] ^ 1);
  expect_refused(flipped, {4, 9});
  auto metadata = field_of(3).metadata();
  metadata["format_version"] = "7";
  io::write_safetensors(model_, field_of(3).tensors(), metadata);
  expect_refused(bytes_of(model_), {9});
  EXPECT_NE(run_veldt(render({})).err.find("format version 7"), std::string::npos);
}

TEST_F(RenderCommand, KeepsTheOlderPictureWhenTheDiskIsFull) {
  const SmallDisk disk(dir_ / "disk", "64k");
  if (!disk.active()) GTEST_SKIP() << "mounting a small disk needs root";
  put_bytes(dir_ / "disk/p.png", "older");
  const Ran ran = run_veldt({"render", model_, "-o", dir_ / "disk/p.png", "--size", "600", "--bits", "16"});
  EXPECT_EQ(ran.exit_code, 6) << ran.err;
  EXPECT_TRUE(has_three_lines(ran.err));
  EXPECT_EQ(bytes_of(dir_ / "disk/p.png"), "older");
  EXPECT_EQ(count_entries(dir_ / "disk"), 1u);
}

TEST_F(RenderCommand, RefusesOutputsThatCannotBe) {
  for (const std::string& path :
       {std::string("/dev/full"), model_ + "/p.png", dir_ / "no/such/p.png", dir_.path()}) {
    const Ran ran = run_veldt({"render", model_, "-o", path});
    EXPECT_EQ(ran.exit_code, 6) << path << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err));
  }
  EXPECT_EQ(count_entries(dir_.path()), 1u);
}

TEST_F(RenderCommand, StoppedByASignalLeavesNothing) {
  put_bytes(out_, "older");
  Process process(render({"--size", "20000", "--supersample", "8", "--threads", "1"}), log_);
  ASSERT_TRUE(comes_true([&] { return count_entries(dir_.path()) > 2; }))
      << process.err();  // its temporary file
  process.send(SIGINT);
  EXPECT_EQ(process.wait(), 130) << process.err();
  EXPECT_EQ(bytes_of(out_), "older");
  EXPECT_EQ(count_entries(dir_.path()), 2u);
}

// Twice the height would need twice the memory if rows were kept.
TEST_F(RenderCommand, DrawsLargePicturesWithinTwoHundredMegabytes) {
  if (kAddressSanitizer) GTEST_SKIP() << "memory is measured";
  for (const char* size : {"4096x1024", "16384x64", "262144x2"}) {
    Process process(render({"--size", size, "--quiet"}), log_);
    EXPECT_EQ(process.wait(), 0) << process.err();
    EXPECT_LT(process.peak_megabytes(), 200) << size;
  }
}

TEST_F(RenderCommand, DrawsWithWideNetworksWithinTwoHundredMegabytes) {
  if (kAddressSanitizer) GTEST_SKIP() << "memory is measured";
  field_of(1, 1500).save(model_);
  Process process(render({"--size", "2048x8", "--quiet"}), log_);
  EXPECT_EQ(process.wait(), 0) << process.err();
  EXPECT_LT(process.peak_megabytes(), 200);
}

// What a verb says to a folder, in one line.
std::string said_of(const std::string& folder, const std::string& verb, const std::string& ending) {
  const TempDir out;
  const Ran ran = run_veldt({verb, folder, "-o", out / ("out" + ending)});
  EXPECT_EQ(ran.exit_code, 2) << ran.err;
  EXPECT_EQ(count_entries(out.path()), 0u);
  std::string line = ran.err;
  std::replace(line.begin(), line.end(), '\n', ' ');
  return line;
}

TEST_F(RenderCommand, SaysWhatAFolderHolds) {
  const TempDir dir;
  const auto said = [&](const std::string& verb, const std::string& ending) {
    return said_of(dir / "", verb, ending);
  };
  for (const auto& [verb, ending] : {std::pair("render", ".png"), {"export", ".html"}}) {
    EXPECT_NE(said(verb, ending).find("holds no model"), std::string::npos) << said(verb, ending);
    EXPECT_EQ(said(verb, ending).find("for m in"), std::string::npos) << "a loop over nothing";
  }
  std::filesystem::copy(model_, dir / "a.safetensors");
  EXPECT_NE(said("render", ".png")
                .find("/*.safetensors; do veldt render \"$m\" -o \"${m%.*}.png\" --scale 4; done"),
            std::string::npos);
  EXPECT_NE(said("export", "/").find("-o \"${m%.*}/\"; done"), std::string::npos);
  // a.safetensors and a.vp are two pictures.
  io::write_file(dir / "a.vp", "");
  EXPECT_NE(said("export", ".html").find("/*.vp; do veldt export \"$m\" -o \"$m.html\"; done"),
            std::string::npos);
  EXPECT_NE(said("export", "/").find("-o \"$m.tiles/\"; done"), std::string::npos);
}

TEST_F(RenderCommand, SaysThatAFolderIsARun) {
  for (const char* name : {"/model.safetensors", "/best.safetensors"}) {
    const TempDir dir;
    const std::string run = dir / "it's a run";
    std::filesystem::create_directory(run);
    io::write_safetensors(run + name, {{"weight", zeros({2, 2})}});
    const std::string drawn = said_of(run, "render", ".png"), page = said_of(run, "export", ".html");
    EXPECT_NE(drawn.find("is a run of veldt train"), std::string::npos) << drawn;
    EXPECT_NE(drawn.find("it'\\''s a run' INPUT"), std::string::npos) << drawn;
    EXPECT_NE(page.find("-o x.onnx"), std::string::npos) << page;
  }
}

TEST_F(RenderCommand, QuotesAFolderForTheShell) {
  const TempDir dir;
  const std::string folder = dir / "it's a set";
  std::filesystem::create_directory(folder);
  std::filesystem::copy(model_, folder + "/a b.safetensors");
  const std::string said = said_of(folder, "render", ".png");
  EXPECT_NE(said.find("it'\\''s a set'/*.safetensors; do"), std::string::npos) << said;
}

}  // namespace
}  // namespace veldt::test
