// veldt import: what it lists, writes, maps and fits, what it refuses, and veldt info of the same files.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/app/command.h"
#include "tests/support/temp_dir.h"
#include "veldt/io/npy.h"
#include "veldt/io/safetensors.h"
#include "veldt/io/torch_file.h"
#include "veldt/models/model_file.h"

namespace veldt::test {
namespace {

using nlohmann::json;

const std::string kTorchFiles = VELDT_SOURCE "/tests/golden/torch/";

json json_of_verb(std::vector<std::string> words) {
  words.emplace_back("--json");
  const Ran ran = run_veldt(words);
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  return json::parse(ran.out, nullptr, false);
}

TEST(Import, ListsWhatACheckpointHolds) {
  const Ran ran = run_veldt({"import", kTorchFiles + "checkpoint.pt"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  for (const char* words : {"PyTorch, zip", "state_dict", "an optimizer's state, 12 tensors",
                            "argparse.Namespace", "1.running_mean", "[3, 2]"})
    EXPECT_NE(ran.out.find(words), std::string::npos) << words << "\n" << ran.out;
  const json out = json_of_verb({"import", kTorchFiles + "checkpoint.pt"});
  EXPECT_EQ(out["taken"], "state_dict");
  EXPECT_EQ(out["numbers"], 22);
  EXPECT_EQ(out["tensors"].size(), 7u);
  EXPECT_EQ(out["left_out"][0], (json{{"name", "epoch"}, {"what", "3"}}));
  const json info = json_of_verb({"info", "--verify", kTorchFiles + "checkpoint.pt"});
  EXPECT_EQ(info["tensors"], out["tensors"]);
  EXPECT_EQ(info["not_finite"], 0);
}

TEST(Import, WritesSafetensorsAndPyTorchsFiles) {
  const TempDir dir;
  const NamedTensors wanted = io::read_torch(kTorchFiles + "legacy_2.pt").tensors;
  for (const char* name : {"a.safetensors", "a.pt", "a.pth"}) {
    const Ran ran = run_veldt({"import", kTorchFiles + "legacy_2.pt", "-o", dir / name});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const std::string path = dir / name;
    const NamedTensors got =
        path.ends_with("s") ? io::read_safetensors(path).tensors : io::read_torch(path).tensors;
    ASSERT_EQ(got.size(), wanted.size()) << name;
    for (const auto& [key, tensor] : wanted)
      EXPECT_TRUE(std::any_of(got.begin(), got.end(),
                              [&](const NamedTensor& named) {
                                return named.name == key && named.tensor.bytes() == tensor.bytes() &&
                                       named.tensor.shape() == tensor.shape();
                              }))
          << name << ' ' << key;
  }
  EXPECT_EQ(io::read_safetensors(dir / "a.safetensors").metadata.at("format"), "pt");
}

TEST(Import, SaysWhatWasConverted) {
  const TempDir dir;
  const json out = json_of_verb({"import", kTorchFiles + "narrow.pt", "-o", dir / "a.safetensors"});
  EXPECT_EQ(out["tensors"][0], (json{{"name", "int8"}, {"dtype", "i8"}, {"shape", {2}}, {"in_file", "i8"}}));
  const Ran ran = run_veldt({"import", kTorchFiles + "narrow.pt", "-o", dir / "a.safetensors"});
  EXPECT_NE(ran.err.find("6 of 7 tensors were converted, int16 from int16 to i64"), std::string::npos)
      << ran.err;
}

TEST(Import, MapsNamesAndTakesParts) {
  const TempDir dir;
  io::write_npz(dir / "a.npz", {{"module.layer1.0.w", Tensor::of({2}, {1, 2})},
                                {"module.layer2.0.w", Tensor::of({1}, {3})}});
  const json out = json_of_verb({"import", dir / "a.npz", "--map", "^module\\.", "", "--map",
                                 "layer(\\d+)\\.0", "stage$1.conv", "-o", dir / "b.safetensors"});
  EXPECT_EQ(out["tensors"][0]["name"], "stage1.conv.w");
  EXPECT_NE(io::read_safetensors(dir / "b.safetensors").find("stage2.conv.w"), nullptr);
  EXPECT_EQ(
      json_of_verb({"import", kTorchFiles + "nested.pt", "--take", "encoder.layers"})["tensors"][0]["name"],
      "0.w");
  EXPECT_EQ(json_of_verb(
                {"import", kTorchFiles + "unknown.pt", "--pass-over", "argparse.ArgumentParser"})["tensors"]
                .size(),
            1u);
}

// A network's own tensors under PyTorch's wrapper's names, with ten classes.
TEST(Import, MakesAKnownNetwork) {
  const TempDir dir;
  const std::unique_ptr<nn::Module> net = models::make("mobilenet_v3_small", {{"classes", 10}});
  NamedTensors state = net->state_dict();
  for (NamedTensor& named : state) named.name = "module." + named.name;
  state.push_back({"module.extra", Tensor::of({1}, {1})});
  io::write_torch(dir / "a.pt", state);
  const json out = json_of_verb({"import", dir / "a.pt", "--map", "^module\\.", "", "--as",
                                 "mobilenet_v3_small", "-o", dir / "b.safetensors"});
  EXPECT_EQ(out["fit"]["classes"], 10);
  EXPECT_EQ(out["fit"]["fitted"], state.size() - 1);
  EXPECT_EQ(out["fit"]["unexpected"], json{"extra"});
  EXPECT_FALSE(out["fit"].contains("missing"));
  const models::Model model = models::load(dir / "b.safetensors");
  const NamedTensors got = model.network->state_dict();
  ASSERT_EQ(got.size(), state.size() - 1);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(got[i].tensor.bytes(), state[i].tensor.bytes()) << got[i].name;
  const Ran bare =
      run_veldt({"import", dir / "a.pt", "--as", "mobilenet_v3_small", "-o", dir / "c.safetensors"});
  EXPECT_EQ(bare.exit_code, 4);
  EXPECT_NE(bare.err.find("tensors are missing"), std::string::npos) << bare.err;
  EXPECT_NE(bare.err.find("--map '^module\\.' ''"), std::string::npos) << bare.err;
  EXPECT_EQ(count_entries(dir.path()), 2u) << "nothing is written of what does not fit";
}

TEST(Import, RefusesWithThreeLines) {
  const TempDir dir, others;
  put_bytes(others / "notes.txt", "[notes]\nof a day\n");
  put_bytes(others / "config.pt", "config\n");
  put_bytes(others / "empty.safetensors", "");
  struct Case {
    std::vector<std::string> words;
    int exit_code;
    const char* says;
  };
  const std::string good = kTorchFiles + "floats.pt";
  const Case cases[] = {
      {{kTorchFiles + "function.pt"}, 4, "posix.system"},
      {{kTorchFiles + "module.pt"}, 4, "torch.save(model.state_dict()"},
      {{kTorchFiles + "torchscript.pt"}, 4, "torch.jit.load"},
      {{"missing.pt"}, 3, "missing.pt"},
      {{others / "notes.txt"}, 4, "it seems to be text"},
      {{others / "config.pt"}, 4, "it seems to be text"},
      {{others / "empty.safetensors"}, 4, "the file is empty"},
      {{kCub}, 4, "it seems to be a PNG"},
      {{good, "--take", "ema"}, 2, "its keys there are a, b"},
      {{good, "--map", "("}, 2, "--map"},
      {{good, "--map", "(", ""}, 2, "no regular expression"},
      {{good, "--map", "[ab]", "c"}, 2, "two tensors would be named c"},
      {{good, "--as", "resnet81"}, 2, "resnet18"},
      {{good, "-o", dir / "a.onnx"}, 2, ".safetensors"},
      {{good, "-o", good}, 2, "floats.pt"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> words = {"import"};
    words.insert(words.end(), c.words.begin(), c.words.end());
    const Ran ran = run_veldt(words);
    EXPECT_EQ(ran.exit_code, c.exit_code) << c.says << ran.err;
    EXPECT_TRUE(has_three_lines(ran.err)) << ran.err;
    EXPECT_NE(ran.err.find(c.says), std::string::npos) << c.says << "\n" << ran.err;
  }
  EXPECT_EQ(count_entries(dir.path()), 0u);
}

}  // namespace
}  // namespace veldt::test
