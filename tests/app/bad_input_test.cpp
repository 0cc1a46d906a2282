// User errors, and damaged or hostile files: each gives an error of three lines with the right exit code, and
// leaves nothing half-written. A case is a row of a table; add a row for a new verb or error.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/io/make_png.h"
#include "tests/support/temp_dir.h"
#include "tests/support/sanitizers.h"

namespace veldt::test {
namespace {

struct BadCase {
  std::string name;
  std::vector<std::string> arguments;  // IN/.. is a file made below, OUT/.. goes where nothing may be left
  int exit_code;
  std::vector<std::string> words = {};  // the error must contain each of them
};

std::string little_endian(std::uint64_t value) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

std::string safetensors_with(const std::string& header, const std::string& data = "") {
  return little_endian(header.size()) + header + data;
}

std::string gradient_png() {
  std::vector<int> samples;
  for (int i = 0; i < 32 * 32; ++i) samples.push_back((i * 37 + i / 32 * 11) % 256);
  return make_png({.width = 32, .height = 32}, samples);
}

std::string flipped(std::string bytes, std::size_t at) {
  bytes.at(at) = static_cast<char>(bytes.at(at) ^ 4);
  return bytes;
}

void make_pictures(const std::string& in) {
  const std::string good = gradient_png();
  std::filesystem::create_directory(in + "/directory");
  put_bytes(in + "/good.png", good);
  put_bytes(in + "/larger.png", make_png({.width = 2, .height = 3}, {0, 50, 100, 150, 200, 250}));
  put_bytes(in + "/empty.png", "");
  put_bytes(in + "/truncated.png", good.substr(0, good.size() / 2));
  put_bytes(in + "/flipped.png", flipped(good, good.size() / 2));
  put_bytes(in + "/huge.png", claim_size(1'000'000'000, 1));
  put_bytes(in + "/text.png", "this is a shopping list: milk, bread\n");
  put_bytes(in + "/photo.png", "\xff\xd8\xff\xe0 pretends");
}

void make_tables(const std::string& in) {
  const std::string head = "x,y,pixel_value\n";
  put_bytes(in + "/good.csv", head + "0,0,1\n1,0,0\n0,1,0\n1,1,1\n");
  put_bytes(in + "/ragged.csv", head + "0,0,1\n1,0\n0,1,0\n1,1,1\n");
  put_bytes(in + "/nan.csv", head + "0,0,1\n1,0,nan\n0,1,0\n1,1,1\n");
  put_bytes(in + "/bom.csv", "\xef\xbb\xbf" + head + "0,0,1\n");
  put_bytes(in + "/huge.csv", head + "0,0,1e400\n");
  put_bytes(in + "/headless.csv", "0,0,1\n");
  put_bytes(in + "/empty.csv", "");
}

// A WAV of `floats` samples whose header claims `bytes` of them.
std::string wav(std::uint32_t bytes, const std::vector<float>& floats) {
  const auto number = [](std::uint32_t value) { return little_endian(value).substr(0, 4); };
  std::string samples;
  for (const float v : floats) samples += number(std::bit_cast<std::uint32_t>(v));
  const std::string format =
      std::string("\3\0\1\0", 4) + number(8000) + number(32000) + std::string("\4\0\x20\0", 4);
  return "RIFF" + number(36 + bytes) + "WAVEfmt " + number(16) + format + "data" + number(bytes) + samples;
}

void make_sounds(const std::string& in) {
  put_bytes(in + "/good.wav", wav(8, {0.5, -0.5}));
  put_bytes(in + "/empty.wav", "");
  put_bytes(in + "/silent.wav", wav(0, {}));
  put_bytes(in + "/absurd.wav", wav(0xfffffff0, {0.5, -0.5}));
  put_bytes(in + "/cut.wav", wav(400, {0.5, -0.5}));
  put_bytes(in + "/nan.wav", wav(8, {0.5, std::nanf("")}));
  put_bytes(in + "/text.wav", "this is a shopping list: milk, bread\n");
}

void make_models(const std::string& in) {
  const auto tensor = [](const std::string& shape, const std::string& offsets) {
    return R"({"w":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  put_bytes(in + "/endless.safetensors", little_endian(std::uint64_t{1} << 62) + "{}");
  put_bytes(in + "/long.safetensors", little_endian(99'000'000) + "{}");
  put_bytes(in + "/short.safetensors", "\x01\x02");
  put_bytes(in + "/cut.safetensors", safetensors_with(std::string(2368, ' ')).substr(0, 300));
  put_bytes(in + "/product.safetensors",
            safetensors_with(tensor("[4294967296,4294967296,4]", "[0,4]"), std::string(4, '\0')));
  put_bytes(in + "/beyond.safetensors", safetensors_with(tensor("[1000]", "[0,4000]"), std::string(4, '\0')));
  put_bytes(in + "/negative.safetensors", safetensors_with(tensor("[-1]", "[0,4]"), std::string(4, '\0')));
  put_bytes(in + "/deep.safetensors", safetensors_with(std::string(100'000, '[')));
  put_bytes(in + "/deep_object.safetensors", safetensors_with(R"({"a":)" + std::string(100'000, '[')));
  const std::string network = safetensors_with(
      R"({"__metadata__":{"kind":"veldt.recipe"},)" + tensor("[1]", "[0,4]").substr(1), std::string(4, '\0'));
  put_bytes(in + "/network.safetensors", network);
  std::filesystem::create_directory(in + "/run");
  put_bytes(in + "/run/model.safetensors", network);
  put_bytes(in + "/other.safetensors", safetensors_with(tensor("[1]", "[0,4]"), std::string(4, '\0')));
}

const std::vector<std::string> kHostile = {"endless", "long",     "short", "product",
                                           "beyond",  "negative", "deep",  "deep_object"};

std::vector<BadCase> usage_cases() {
  return {
      {"UnknownVerb", {"rendr"}, 2, {"'rendr'", "did you mean 'render'?"}},
      {"VerbLikeNone", {"shopping"}, 2, {"'shopping'", "--help"}},
      {"UnknownVerbWithFlags", {"rendr", "a.vp", "--size", "3"}, 2, {"'rendr'", "did you mean 'render'?"}},
      {"UnknownVerbAskedForHelp", {"pakc", "--help"}, 2, {"'pakc'", "did you mean 'pack'?"}},
      {"UnknownVerbBelowAskedForHelp", {"help", "csv", "encod"}, 2, {"did you mean 'encode'?"}},
      {"VerbOfOthersForTwo", {"upscale", "a.png"}, 2, {"'upscale'", "did you mean 'resize'?"}},
      {"VerbOfOthers", {"train-image", "a.png"}, 2, {"'train-image'", "did you mean 'fit'?"}},
      {"NoVerbOfVerbsBelow", {"csv", "draw"}, 2, {"'draw'", "veldt csv --help"}},
      {"UnknownFlag",
       {"compare", "--min-pnsr", "3", "a", "b"},
       2,
       {"'--min-pnsr'", "did you mean '--min-psnr'?"}},
      {"OutputOfAFolder", {"train", "m.toml", "-o", "x"}, 2, {"'-o'", "did you mean '--out'?"}},
      {"UnknownFlagWithValue", {"compare", "--dif=x", "a", "b"}, 2, {"'--dif'", "did you mean '--diff'?"}},
      {"UnknownFlagOfAVerbsVerb",
       {"csv", "encode", "a", "--treshold", "1"},
       2,
       {"did you mean '--threshold'?"}},
      {"UnknownFlagOfVeldt", {"--verison"}, 2, {"did you mean '--version'?"}},
      {"FlagLikeNone", {"info", "--xyzzy", "a"}, 2, {"'--xyzzy'", "veldt info --help"}},
      {"NothingToCompareWith", {"compare", "a.png"}, 2, {"needs B"}},
      {"OneTooMany", {"compare", "a", "b", "c"}, 2, {"'c'"}},
      {"CsvWithoutVerb", {"csv"}, 2, {"encode, decode"}},
      {"CsvUnknownVerb", {"csv", "encod"}, 2, {"did you mean 'encode'?"}},
      {"NoOutput", {"csv", "encode", "a.png"}, 2, {"--output"}},
      {"ValueMissing", {"compare", "a", "b", "--min-psnr"}, 2, {"--min-psnr"}},
      {"NotANumber", {"compare", "a", "b", "--min-psnr", "high"}, 2, {"--min-psnr cannot be 'high'"}},
      {"NanIsNoNumber", {"compare", "a", "b", "--min-psnr", "nan"}, 2, {"finite"}},
      {"NoThreads", {"compare", "a", "b", "--threads", "0"}, 2, {"--threads cannot be '0'"}},
      {"TooManyThreads", {"compare", "a", "b", "--threads", "99999999999999999999"}, 2, {"--threads"}},
      {"ThresholdOutOfRange", {"csv", "encode", "a", "-o", "b", "--threshold", "2"}, 2, {"--threshold"}},
      {"ThresholdAndRgb", {"csv", "encode", "a", "-o", "b", "--threshold", "1", "--rgb"}, 2, {"--rgb"}},
      {"NewlineInAName", {"info", "no\nsuch\nfile"}, 3, {"\\x0a"}},
      {"CompareFewerPixels",
       {"compare", "IN/good.png", "IN/good.png", "--max-pixels", "100"},
       4,
       {"1024 pixels"}},
      {"EncodeFewerPixels",
       {"csv", "encode", "IN/good.png", "-o", "OUT/t.csv", "--max-pixels", "100"},
       4,
       {}},
      {"DecodeFewerPixels", {"csv", "decode", "IN/good.csv", "-o", "OUT/p.png", "--max-pixels", "3"}, 4, {}},
      {"VerifyFewerPixels", {"info", "--verify", "IN/good.png", "--max-pixels", "100"}, 4, {}},
      {"ModelOfAnotherName", {"fit", "IN/good.png", "-o", "OUT/x.pt"}, 2, {"name it .safetensors"}},
      {"ModelOfAPagesName", {"fit", "IN/good.png", "-o", "OUT/x.html"}, 2, {"name it .safetensors"}},
      {"EncodeOntoAPicture", {"csv", "encode", "IN/good.png", "-o", "OUT/x.png"}, 2, {"name it .csv"}},
      {"QuantizeOntoAHeader",
       {"quantize", "IN/network.safetensors", "-o", "OUT/q.h"},
       2,
       {"name it .safetensors, and make a .h of it with veldt export"}},
      {"PruneOntoAPicture",
       {"prune", "IN/network.safetensors", "-o", "OUT/q.png", "--weights", "0.5"},
       2,
       {"name it .safetensors"}},
      {"PackOntoAPage", {"pack", "IN/good.png", "-o", "OUT/x.html"}, 2, {"name it .vp, and make a .html"}},
      {"UnpackOntoATable", {"unpack", "IN/missing.vp", "-o", "OUT/x.csv"}, 2, {"ends in .csv"}},
      {"EncodeOverItsInput", {"csv", "encode", "IN/good.png", "-o", "IN/good.png"}, 2, {"would overwrite"}},
      {"DecodeOverItsInput", {"csv", "decode", "IN/good.csv", "-o", "IN/good.csv"}, 2, {"would overwrite"}},
      {"DiffOverItsInput",
       {"compare", "IN/good.png", "IN/good.png", "--diff", "IN/good.png"},
       2,
       {"would overwrite"}},
      {"ScaleAndSize", {"render", "m", "-o", "p", "--size", "3", "--scale", "2"}, 2, {"--scale", "--size"}},
      {"SizeOfNothing", {"render", "m", "-o", "p", "--size", "0"}, 2, {"must be above 0"}},
      {"SizeOfNoHeight", {"render", "m", "-o", "p", "--size", "5x0"}, 2, {"must be above 0"}},
      {"SizeOfNoNumber", {"render", "m", "-o", "p", "--size", "12y"}, 2, {"the longer side"}},
      {"CropOfNoWidth", {"render", "m", "-o", "p", "--crop", "0,0,0,5"}, 2, {"its width is 0,"}},
      {"CropOfNoHeight", {"render", "m", "-o", "p", "--crop", "0,0,5,-1"}, 2, {"its height is -1,"}},
      {"SizesDiffer", {"compare", "IN/good.png", "IN/larger.png"}, 2, {"32 x 32", "2 x 3"}},
  };
}

// Each verb that reads pictures, with each bad one.
std::vector<BadCase> picture_cases() {
  struct Fault {
    std::string name, file;
    int exit_code;
    std::vector<std::string> words;
  };
  const std::vector<Fault> faults = {
      {"Missing", "IN/missing.png", 3, {"missing.png", "No such file"}},
      {"Directory", "IN/directory", 3, {"directory"}},
      {"Empty", "IN/empty.png", 4, {"empty.png"}},
      {"Truncated", "IN/truncated.png", 4, {"truncated.png"}},
      {"Flipped", "IN/flipped.png", 4, {"flipped.png"}},
      {"Huge", "IN/huge.png", 4, {"1000000000"}},
      {"Text", "IN/text.png", 4, {"text.png"}},
      {"Jpeg", "IN/photo.png", 4, {"photo.png"}},
      {"RaggedTable", "IN/ragged.csv", 4, {"ragged.csv", "line 3"}},
      {"NanTable", "IN/nan.csv", 4, {"nan.csv", "line 3"}},
      {"MarkedTable", "IN/bom.csv", 4, {"bom.csv", "byte order mark"}},
      {"OverflowingTable", "IN/huge.csv", 4, {"huge.csv", "line 2"}},
      {"HeadlessTable", "IN/headless.csv", 4, {"headless.csv"}},
      {"EmptyTable", "IN/empty.csv", 4, {"empty.csv", "the file is empty"}},
  };
  std::vector<BadCase> cases;
  for (const Fault& f : faults) {
    cases.push_back({"Compare" + f.name, {"compare", "IN/good.png", f.file}, f.exit_code, f.words});
    cases.push_back({"Encode" + f.name, {"csv", "encode", f.file, "-o", "OUT/t.csv"}, f.exit_code, f.words});
    cases.push_back(
        {"Fit" + f.name, {"fit", f.file, "-o", "OUT/m.safetensors", "--steps", "2"}, f.exit_code, f.words});
    if (f.name != "Directory")
      cases.push_back({"Info" + f.name, {"info", "--verify", f.file}, f.exit_code, f.words});
    if (f.file.ends_with(".csv"))
      cases.push_back(
          {"Decode" + f.name, {"csv", "decode", f.file, "-o", "OUT/p.png"}, f.exit_code, f.words});
  }
  cases.push_back({"DecodePicture", {"csv", "decode", "IN/good.png", "-o", "OUT/p.png"}, 4, {"good.png"}});
  cases.push_back({"InfoOfADirectory", {"info", "IN/directory"}, 4, {"directory"}});
  return cases;
}

std::vector<BadCase> sound_cases() {
  std::vector<BadCase> cases;
  const auto add = [&](const std::string& name, const std::string& file,
                       const std::vector<std::string>& words) {
    cases.push_back({"Fit" + name, {"fit", file, "-o", "OUT/m.safetensors", "--steps", "2"}, 4, words});
    cases.push_back({"Info" + name, {"info", "--verify", file}, 4, words});
    cases.push_back({"Compare" + name, {"compare", "IN/good.wav", file}, 4, words});
  };
  add("EmptySound", "IN/empty.wav", {"empty.wav", "the file is empty"});
  add("SoundOfZeroLength", "IN/silent.wav", {"silent.wav", "no sample"});
  add("AbsurdSound", "IN/absurd.wav", {"absurd.wav", "4294967280"});
  add("CutSound", "IN/cut.wav", {"cut.wav", "400 bytes"});
  add("NanSound", "IN/nan.wav", {"nan.wav", "frame 1"});
  add("TextSound", "IN/text.wav", {"text.wav", "text"});
  cases.push_back({"FitMissingSound", {"fit", "IN/none.wav", "-o", "OUT/m"}, 3, {"none.wav"}});
  return cases;
}

std::vector<BadCase> model_cases() {
  std::vector<BadCase> cases;
  for (const std::string& name : kHostile) {
    const std::string file = "IN/" + name + ".safetensors";
    cases.push_back({"Info_" + name, {"info", file}, 4, {file.substr(3)}});
    cases.push_back({"Compare_" + name, {"compare", "IN/good.png", file}, 4, {file.substr(3)}});
    cases.push_back({"Render_" + name, {"render", file, "-o", "OUT/p.png"}, 4, {file.substr(3)}});
  }
  cases.push_back({"RenderCutModel",
                   {"render", "IN/cut.safetensors", "-o", "OUT/p.png"},
                   4,
                   {"2368 bytes, and the whole file has 300"}});
  cases.push_back({"CompareWithOtherTensors", {"compare", "IN/good.png", "IN/other.safetensors"}, 4, {}});
  for (const char* name : {"other", "cut", "endless", "deep"})
    cases.push_back(
        {std::string("Explain_") + name,
         {"explain", std::string("IN/") + name + ".safetensors", "IN/good.png", "-o", "OUT/w.png"},
         4,
         {name}});
  cases.push_back({"ExplainAPicture", {"explain", "IN/good.png", "IN/good.png", "-o", "OUT/w.png"}, 4, {}});
  cases.push_back(
      {"ExplainADirectory", {"explain", "IN/directory", "IN/good.png", "-o", "OUT/w.png"}, 3, {}});
  cases.push_back({"ExplainByNothing",
                   {"explain", "IN/other.safetensors", "IN/good.png", "-o", "OUT/w.png", "--method", "magic"},
                   2,
                   {"--method"}});
  cases.push_back({"RenderOtherTensors", {"render", "IN/other.safetensors", "-o", "OUT/p.png"}, 4, {}});
  cases.push_back(
      {"RenderNetwork", {"render", "IN/network.safetensors", "-o", "OUT/p.png"}, 4, {"of another kind"}});
  cases.push_back({"RenderARun", {"render", "IN/run", "-o", "OUT/p.png"}, 2, {"no field", "veldt predict"}});
  cases.push_back({"RenderPicture", {"render", "IN/good.png", "-o", "OUT/p.png"}, 4, {"good.png"}});
  cases.push_back({"RenderMissing", {"render", "IN/missing.safetensors", "-o", "OUT/p.png"}, 3, {}});
  return cases;
}

std::vector<BadCase> fit_cases() {
  const auto fit = [](const std::string& flag, const std::string& value) {
    return std::vector<std::string>{"fit", "IN/good.png", "-o", "OUT/m.safetensors", flag, value};
  };
  return {
      {"FitNegativeRate", fit("--lr", "-1"), 2, {"--lr cannot be '-1'"}},
      {"FitNoBatch", fit("--batch", "0"), 2, {"--batch cannot be '0'"}},
      {"FitNoWidth", fit("--width", "0"), 2, {"--width cannot be '0'"}},
      {"FitMillionWide", fit("--width", "1000000"), 2, {"--width cannot be '1000000'"}},
      {"FitNoSteps", fit("--steps", "0"), 2, {"--steps cannot be '0'"}},
      {"FitManyLayers", fit("--depth", "1000000000"), 2, {"--depth"}},
      {"FitUnknownModel", fit("--model", "sirne"), 2, {"did you mean 'siren'?"}},
      {"FitUnknownDevice", fit("--device", "tpu"), 2, {"'tpu'"}},
      {"FitDeviceCalledGpu", fit("--device", "gpu"), 2, {"'gpu'", "use --device cuda"}},
      {"FitNoTime", fit("--time", "0s"), 2, {"--time cannot be '0s'"}},
      {"FitOmegaOfAGrid",
       {"fit", "IN/good.png", "-o", "OUT/m", "--model", "hashgrid", "--omega", "30"},
       2,
       {"hashgrid takes no omega", "siren, finer, wire and gauss", "leave --first-omega"}},
      {"FitOmegaOfThePreset",
       {"fit", "IN/good.png", "-o", "OUT/m", "--preset", "simba", "--omega", "30"},
       2,
       {"tanh of the simba preset takes no omega"}},
      {"FitMuonOfOneLayer",
       {"fit", "IN/good.png", "-o", "OUT/m", "--depth", "1", "--optimizer", "muon", "--model", "siren"},
       2,
       {"muon has no matrix to train", "--depth of 2"}},
      {"FitMistypedFlag", fit("--stpes", "5"), 2, {"did you mean '--steps'?"}},
  };
}

// "-" is not a stream, and empty text is not a path.
std::vector<BadCase> path_cases() {
  std::vector<BadCase> cases;
  for (const auto& [name, path] : {std::pair("Dash", "-"), std::pair("Nothing", "")}) {
    const std::string value = path, said = "cannot be '" + value + "'";
    cases.push_back({std::string(name) + "ToFit", {"fit", value, "-o", "OUT/m"}, 2, {"INPUT " + said}});
    cases.push_back(
        {std::string(name) + "FromFit", {"fit", "IN/good.png", "-o", value}, 2, {"--output " + said}});
    cases.push_back({std::string(name) + "ToCompare", {"compare", "IN/good.png", value}, 2, {"B " + said}});
    cases.push_back({std::string(name) + "ToInfo", {"info", value}, 2, {"FILE " + said}});
    cases.push_back(
        {std::string(name) + "ToPredict", {"predict", "IN/other.safetensors", value}, 2, {"INPUT " + said}});
    cases.push_back({std::string(name) + "ToExplain",
                     {"explain", "IN/other.safetensors", value, "-o", "OUT/w.png"},
                     2,
                     {"INPUT " + said}});
    cases.push_back(
        {std::string(name) + "ForARun", {"train", "IN/r.toml", "--out", value}, 2, {"--out " + said}});
  }
  return cases;
}

// Impossible outputs.
std::vector<BadCase> output_cases() {
  return {
      {"EncodeIntoNothing", {"csv", "encode", "IN/good.png", "-o", "IN/no/such/t.csv"}, 6, {"t.csv"}},
      {"EncodeOntoADirectory", {"csv", "encode", "IN/good.png", "-o", "IN/directory"}, 6, {"directory"}},
      {"EncodeBelowAFile", {"csv", "encode", "IN/good.png", "-o", "IN/good.csv/t.csv"}, 6, {"t.csv"}},
      {"EncodeOntoAFullDevice", {"csv", "encode", "IN/good.png", "-o", "/dev/full"}, 6, {"/dev/full"}},
      {"DecodeOntoAFullDevice", {"csv", "decode", "IN/good.csv", "-o", "/dev/full"}, 6, {"/dev/full"}},
      {"DecodeIntoNothing", {"csv", "decode", "IN/good.csv", "-o", "IN/no/such/p.png"}, 6, {"p.png"}},
      {"DiffIntoNothing", {"compare", "IN/good.png", "IN/good.png", "--diff", "IN/no/d.png"}, 6, {"d.png"}},
      {"DiffOntoAFullDevice",
       {"compare", "IN/good.png", "IN/good.png", "--diff", "/dev/full"},
       6,
       {"/dev/full"}},
      {"FitIntoNothing", {"fit", "IN/good.png", "-o", "IN/no/such/m.safetensors"}, 6, {"m.safetensors"}},
      {"EncodeWithANameTooLong",
       {"csv", "encode", "IN/good.png", "-o", "OUT/" + std::string(300, 'a')},
       6,
       {}},
      {"EncodeFromANameTooLong", {"csv", "encode", std::string(6000, 'a'), "-o", "OUT/t.csv"}, 3, {}},
  };
}

class BadInput : public testing::TestWithParam<BadCase> {
 protected:
  BadInput() {
    std::filesystem::create_directory(in_);
    std::filesystem::create_directory(out_);
    make_pictures(in_);
    make_tables(in_);
    make_sounds(in_);
    make_models(in_);
  }

  std::vector<std::string> placed(std::vector<std::string> arguments) const {
    for (std::string& argument : arguments) {
      if (argument.starts_with("IN/")) argument.replace(0, 2, in_);
      if (argument.starts_with("OUT/")) argument.replace(0, 3, out_);
    }
    return arguments;
  }

  const TempDir dir_;
  const std::string in_ = dir_ / "in", out_ = dir_ / "out";
};

TEST_P(BadInput, IsAnErrorOfThreeLinesAndLeavesNothing) {
  const BadCase& bad = GetParam();
  const std::size_t before = count_entries(in_);
  const Ran ran = run_veldt(placed(bad.arguments));
  EXPECT_EQ(ran.exit_code, bad.exit_code) << ran.err;
  EXPECT_TRUE(has_three_lines(ran.err));
  EXPECT_EQ(ran.out, "");
  for (const std::string& word : bad.words)
    EXPECT_NE(ran.err.find(word), std::string::npos) << word << "\n" << ran.err;
  EXPECT_EQ(count_entries(out_), 0u);
  EXPECT_EQ(count_entries(in_), before);
}

const auto kName = [](const testing::TestParamInfo<BadCase>& at) { return at.param.name; };
INSTANTIATE_TEST_SUITE_P(Usage, BadInput, testing::ValuesIn(usage_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Pictures, BadInput, testing::ValuesIn(picture_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Sounds, BadInput, testing::ValuesIn(sound_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Models, BadInput, testing::ValuesIn(model_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Fit, BadInput, testing::ValuesIn(fit_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Paths, BadInput, testing::ValuesIn(path_cases()), kName);
INSTANTIATE_TEST_SUITE_P(Outputs, BadInput, testing::ValuesIn(output_cases()), kName);

// CPU time, not wall time, because the test machine may be busy.
TEST_F(BadInput, HostileHeadersAreRefusedWithinFiftyMilliseconds) {
  for (const std::string& name : kHostile)
    EXPECT_LT(run_veldt({"info", in_ + "/" + name + ".safetensors"}).cpu_seconds,
              test::kAddressSanitizer ? 0.5 : 0.05)
        << name;
}

TEST_F(BadInput, WithJsonIsAnObjectOnStdoutToo) {
  const Ran ran = run_veldt({"info", "--json", in_ + "/missing.png"});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_TRUE(has_three_lines(ran.err));
  EXPECT_TRUE(ran.out.starts_with(R"({"error":{"what":)")) << ran.out;
  EXPECT_NE(ran.out.find(R"("exit_code":3)"), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace veldt::test
