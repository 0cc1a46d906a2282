// PyTorch's files: what torch.save wrote of every kind (tests/golden/torch_files.py), what is refused and by
// which name, damaged ones, and what Veldt writes.
#include "veldt/io/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/io/faults.h"
#include "tests/io/make_torch.h"
#include "tests/support/temp_dir.h"
#include "veldt/tensor/backends.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::io {
namespace {

using namespace std::string_literals;
using test::bytes_of;
using test::count_entries;
using test::put_bytes;
using test::says;
using test::TempDir;
using test::thrown_by;
using Kind = IoError::Kind;

const std::string kTorchGolden = VELDT_SOURCE "/tests/golden/torch/";

nlohmann::json golden_torch() { return nlohmann::json::parse(bytes_of(kTorchGolden + "expected.json")); }

const std::set<std::string> kConvertedDTypes = {"int16",  "uint16",        "uint32",
                                                "uint64", "float8_e4m3fn", "float8_e5m2"};

double golden_number(const nlohmann::json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto text = value.get<std::string>();
  return text == "nan" ? NAN : text == "inf" ? INFINITY : -INFINITY;
}

// Veldt's dtype of PyTorch's.
DType dtype_for(const std::string& name) {
  const std::pair<const char*, DType> same[] = {
      {"float32", DType::f32}, {"float64", DType::f64}, {"float16", DType::f16}, {"bfloat16", DType::bf16},
      {"int32", DType::i32},   {"uint8", DType::u8},    {"int8", DType::i8},     {"bool", DType::boolean}};
  for (const auto& [theirs, ours] : same)
    if (name == theirs) return ours;
  return name.starts_with("float8") ? DType::f32 : DType::i64;
}

bool same_number(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

void expect_tensor(const std::string& of, const Tensor& tensor, const nlohmann::json& wanted) {
  const auto shape = wanted["shape"].get<std::vector<std::int64_t>>();
  EXPECT_EQ(tensor.shape(), Shape(std::span<const std::int64_t>(shape))) << of;
  EXPECT_EQ(tensor.dtype(), dtype_for(wanted["dtype"])) << of;
  const std::vector<double> got = to(tensor, DType::f64).values<double>();
  ASSERT_EQ(got.size(), wanted["values"].size()) << of;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(same_number(got[i], golden_number(wanted["values"][i])))
        << of << " at " << i << ": " << got[i];
}

TEST(ReadTorch, ReadsEveryKindOfFileAsPyTorchDoes) {
  int read = 0;
  const nlohmann::json files = golden_torch();
  for (const auto& [file, wanted] : files.items()) {
    if (!wanted.contains("tensors")) continue;
    const LoadedState state = read_torch(kTorchGolden + file);
    EXPECT_EQ(state.taken, wanted["taken"].get<std::string>()) << file;
    EXPECT_EQ(state.tensors.size(), wanted["tensors"].size()) << file;
    std::size_t converted = 0;
    for (const auto& [name, tensor] : wanted["tensors"].items()) {
      const Tensor* found = state.find(name);
      ASSERT_NE(found, nullptr) << file << ' ' << name;
      expect_tensor(file + " " + name, *found, tensor);
      const auto dtype = tensor["dtype"].get<std::string>();
      if (kConvertedDTypes.contains(dtype)) ++converted;
    }
    EXPECT_EQ(state.converted.size(), converted) << file;
    ++read;
  }
  EXPECT_GT(read, 20);
}

TEST(ReadTorch, NamesWhatItRefuses) {
  int refused = 0;
  const nlohmann::json files = golden_torch();
  for (const auto& [file, wanted] : files.items()) {
    if (!wanted.contains("refused")) continue;
    const IoError error = thrown_by<IoError>([&] { read_torch(kTorchGolden + file); });
    EXPECT_EQ(error.kind(), Kind::malformed) << file;
    EXPECT_TRUE(says(error, wanted["refused"])) << file << ": " << error.what();
    ++refused;
  }
  EXPECT_GE(refused, 9);
}

LoadedState read_pickled(const std::string& pickle, const LoadOptions& options = {}) {
  const TempDir dir = TempDir::in_memory();
  test::write_archive(dir / "a.pt", pickle);
  return read_torch(dir / "a.pt", options);
}

IoError error_of_pickled(const std::string& pickle) {
  return thrown_by<IoError>([&] { read_pickled(pickle); });
}

IoError error_of_file(const std::string& bytes) {
  const TempDir dir = TempDir::in_memory();
  put_bytes(dir / "a.pt", bytes);
  return thrown_by<IoError>([&] { read_torch(dir / "a.pt"); });
}

TEST(ReadTorch, TensorsThatShareMemoryInPyTorchShareItHere) {
  for (const char* file : {"zip_2.pt", "legacy_2.pt"}) {
    const LoadedState state = read_torch(kTorchGolden + file);
    EXPECT_EQ(state.find("tied.a")->view().data, state.find("tied.b")->view().data) << file;
    const float* whole = state.find("turned")->data<float>();
    EXPECT_EQ(state.find("part")->data<float>(), whole + 6) << file;
    EXPECT_EQ(state.find("stepped")->data<float>(), whole + 1) << file;
    EXPECT_FALSE(state.find("conv.weight")->requires_grad()) << file;
  }
}

TEST(ReadTorch, TakesTheStateByHabitOrAsAsked) {
  const std::string t = test::pickled(test::PickledTensor{}), none = "}";
  const auto key = [](const std::string& text) { return test::pickled(text); };
  const auto dict = [&](const std::string& name, const std::string& value) {
    return "}" + key(name) + value + "s";
  };
  const std::string optimizer = "}(" + key("state") + dict("m", t) + key("param_groups") + "]u";
  struct Case {
    std::string pickle;
    const char* take;
    const char* taken;
    std::vector<std::string> names;
  };
  const Case cases[] = {
      {"}(" + key("model") + dict("w", t) + key("state_dict") + dict("v", t) + "u.", "", "state_dict", {"v"}},
      {"}(" + key("model") + dict("w", t) + key("state_dict") + dict("v", t) + "u.", "model", "model", {"w"}},
      {dict("model", dict("state_dict", dict("w", t))) + ".", "", "model.state_dict", {"w"}},
      {dict("model", dict("net", dict("w", t))) + ".", "", "model", {"net.w"}},
      {"}(" + key("encoder") + dict("w", t) + key("optim") + optimizer + key("epoch") + "K\x03u.",
       "",
       "",
       {"encoder.w"}},
      {"}(" + key("state") + dict("m", t) + key("param_groups") + "]u.", "", "state", {"m"}},
      {"}(" + key("w") + t + key("model") + dict("v", t) + "u.", "", "", {"w", "model.v"}},
      {"}(" + key("rng") + t + key("model") + "}(" + key("v") + t + key("w") + t + "uu.",
       "",
       "model",
       {"v", "w"}},
      {"}(" + key("rng") + t + key("state_dict") + dict("v", t) + "u.", "", "state_dict", {"v"}},
      {dict("a.b", dict("c", dict("w", t))) + ".", "a.b.c", "a.b.c", {"w"}},
      {dict("only", t) + ".", "only", "only", {"tensor"}},
      {dict("state_dict", none) + "(" + key("other") + t + "u.", "", "", {"other"}},
      {"](" + t + t + "e.", "", "", {"0", "1"}},
  };
  for (const Case& c : cases) {
    const LoadedState state = read_pickled(c.pickle, {.take = c.take});
    EXPECT_EQ(state.taken, c.taken) << c.pickle;
    std::vector<std::string> names;
    for (const NamedTensor& named : state.tensors) names.push_back(named.name);
    EXPECT_EQ(names, c.names) << c.pickle;
  }
  const auto error = thrown_by<ConfigError>([&] { read_pickled(dict("model", t) + ".", {.take = "modle"}); });
  EXPECT_TRUE(says(error, "did you mean model?")) << error.what();
}

// Random numbers' states and schedules: lists without tensors are one line each, and keys that are no text
// say so.
TEST(ReadTorch, ListsWhatItLeavesOutInShort) {
  const auto key = [](const std::string& text) { return test::pickled(text); };
  const std::string t = test::pickled(test::PickledTensor{});
  const LoadedState state =
      read_pickled("}(" + key("w") + t + key("rng") + "(K\x01K\x02K\x03l" + key("lr") + "}" + key("a") +
                   "K\x01sK\x01K\x02\x86" + t + key("note") + key("x\x1by") + "u.");
  ASSERT_EQ(state.left_out.size(), 4u);
  EXPECT_EQ(state.left_out[0].name + " " + state.left_out[0].what, "rng a list of 3");
  EXPECT_EQ(state.left_out[1].name + " " + state.left_out[1].what, "lr a dict of 1");
  EXPECT_EQ(state.left_out[2].what, "'x\x1by'");
  EXPECT_EQ(state.left_out[3].name + " " + state.left_out[3].what, "(a key that is no text) a tensor");
}

TEST(ReadTorch, PassesOverClassesThatTheCallerNames) {
  const std::string pickle = "}(" + test::pickled(std::string("a")) + test::pickled(test::PickledTensor{}) +
                             test::pickled(std::string("c")) + "cmy.configuration\nConfig\n)\x81}" + "bu.";
  EXPECT_TRUE(says(error_of_pickled(pickle), "my.configuration.Config"));
  const LoadedState state = read_pickled(pickle, {.pass_over = {"my.configuration.Config"}});
  EXPECT_EQ(state.tensors.size(), 1u);
  ASSERT_EQ(state.left_out.size(), 1u);
  EXPECT_EQ(state.left_out[0].what, "my.configuration.Config");
}

// As PyTorch before 1.6 wrote a module that was saved whole, with the path and the text of its class.
TEST(ReadTorch, RefusesALegacyModuleByItsClass) {
  const std::string pickle = "((" + test::pickled(std::string("module")) +
                             "ctorch.nn.modules.linear\nLinear\n" + test::pickled(std::string("linear.py")) +
                             test::pickled(std::string("class Linear")) + "tQ)\x81.";
  EXPECT_TRUE(
      says(error_of_file(test::legacy_file(pickle)), "its pickle names torch.nn.modules.linear.Linear"));
}

// The name is in the error whatever else is wrong, and nothing is run: there is nothing that could.
TEST(ReadTorch, RefusesUnknownNamesWithThem) {
  for (const std::string& pickle : {"cos\nsystem\nX\x0d\x00\x00\x00touch /tmp/ab\x85R."s,
                                    "\x80\x04\x8c\x02os\x8c\x06system\x93."s, "(S'x'\nios\nsystem\n."s,
                                    "}X\x01\x00\x00\x00"
                                    "acos\nsystem\ns."s,
                                    "cos\nsystem\n\xff"s}) {
    EXPECT_TRUE(says(error_of_pickled(pickle), "its pickle names os.system")) << pickle;
    EXPECT_TRUE(says(error_of_file(test::legacy_file(pickle)), "its pickle names os.system")) << pickle;
  }
  const IoError several = error_of_pickled("}(cos\nsystem\ncbuiltins\neval\ncbuiltins\ngetattr\nNu.");
  EXPECT_TRUE(says(several, "it also names builtins.eval, builtins.getattr")) << several.what();
  EXPECT_TRUE(says(error_of_pickled("c__main__\nNet\nctorch.nn.modules.linear\nLinear\n)\x81."),
                   "a whole module was saved"));
}

TEST(ReadTorch, RefusesTensorsThatCannotBe) {
  using T = test::PickledTensor;
  const std::int64_t large = std::int64_t{1} << 57;
  const std::pair<T, const char*> cases[] = {
      {{.sizes = {3}}, "goes on to element 2 of a storage that has 2"},
      {{.offset = 1}, "goes on to element 2"},
      {{.strides = {2}}, "goes on to element 2"},
      {{.sizes = {2, 2}}, "2 sizes and 1 strides"},
      {{.sizes = {-1}}, "not a number from 0 to 2^58"},
      {{.strides = {-1}}, "not a number from 0 to 2^58"},
      {{.offset = -1}, "not a number from 0 to 2^58"},
      {{.sizes = {std::int64_t{1} << 60}}, "not a number from 0 to 2^58"},
      {{.sizes = {large, large}, .strides = {0, 0}}, "too large for any memory"},
      {{.sizes = {2, 2}, .strides = {large, large}}, "goes on to element"},
      {{.sizes = {large}, .strides = {large}}, "too large for any memory"},
      {{.sizes = std::vector<std::int64_t>(9, 1), .strides = std::vector<std::int64_t>(9, 1)},
       "9 dimensions"},
      {{.numel = 3}, "storage 0 has 8 bytes, and should have 12"},
      {{.sizes = {large}, .numel = large}, "storage 0 has 8 bytes"},
      {{.key = "1"}, "no member x/data/1"},
      {{.key = "../data.pkl"}, "no member x/data/../data.pkl"},
      {{.type = "Size"}, "no class of storages"},
      {{.type = "ComplexFloatStorage"}, "ComplexFloatStorage"},
      {{.sizes = {1}, .numel = 1, .type = "DoubleStorage"}, nullptr},
  };
  for (const auto& [tensor, words] : cases) {
    if (words == nullptr) {
      EXPECT_NO_THROW(read_pickled(test::dict_of(tensor)));
      continue;
    }
    const IoError error = error_of_pickled(test::dict_of(tensor));
    EXPECT_EQ(error.kind(), Kind::malformed);
    EXPECT_TRUE(says(error, words)) << error.what();
  }
}

TEST(ReadTorch, AViewThatRepeatsItsElementsTakesNoMemory) {
  const std::int64_t many = std::int64_t{1} << 28;
  const LoadedState state = read_pickled(test::dict_of({.sizes = {many, many}, .strides = {0, 0}}));
  EXPECT_EQ(state.tensors[0].tensor.numel(), many * many);
  EXPECT_LT(pool(Device{}).stats().bytes_in_use, std::size_t{1} << 20);
}

TEST(ReadTorch, RefusesPicklesThatMakeNoSense) {
  const std::string t = test::pickled(test::PickledTensor{});
  const auto key = [](const std::string& text) { return test::pickled(text); };
  std::string deep = "\x80\x02", laughs = "\x80\x02}q\x00"s;
  for (int i = 0; i < 40; ++i) deep += "}" + key("a");
  deep += t + std::string(40, 's') + ".";
  for (int i = 0; i < 30; ++i) {
    const std::string last = "h" + std::string(1, static_cast<char>(i));
    laughs += "}(" + key("a") + last + key("b") + last + "uq" + std::string(1, static_cast<char>(i + 1));
  }
  const std::pair<std::string, const char*> cases[] = {
      {"N.", "holds no tensors"},
      {"}.", "holds no tensors"},
      {"}" + key("epoch") + "K\x03s.", "holds no tensors"},
      {"}q\x00"s + key("a") + "h\x00s."s, "nest more than 32 levels"},
      {deep, "nest more than 32 levels"},
      {laughs + ".", "more parts than any network"},
      {"}(" + key("a.b") + t + key("a") + "}" + key("b") + t + "su.", "two tensors of the name a.b"},
      {"}(" + key("a") + t + key("a") + t + "u.", "two tensors of the name a"},
      {"}" + key("") + t + "s.", "a tensor has no name"},
      {"}" + key(std::string(1001, 'a')) + t + "s.", "more than 1000 bytes"},
      {"}" + key("a") + "ctorch._utils\n_rebuild_tensor_v2\n)Rs.", "its call has 0 arguments"},
      {"}" + key("a") +
           "ctorch._utils\n_rebuild_tensor_v2\n(NK\x00"
           "))tRs."s,
       "its storage is none"},
      {"}" + key("a") +
           "ctorch._utils\n_rebuild_tensor_v2\n(K\x07QK\x00"
           "))tRs."s,
       "says of its storage is not known"},
      {"}" + key("a") + "cnumpy.core.multiarray\n_reconstruct\n)Rs.", "its state is none of NumPy's"},
      {"}" + key("a") +
           "cnumpy.core.numeric\n_frombuffer\n(C\x08"
           "12345678cnumpy\ndtype\n(X\x02\x00\x00\x00"
           "f4tR(K\x01tX\x01\x00\x00\x00"
           "CtRs."s,
       "takes 4 bytes and 8 are there"},
      {"}" + key("a") +
           "cnumpy.core.numeric\n_frombuffer\n(C\x04"
           "1234cnumpy\ndtype\n(X\x02\x00\x00\x00"
           "O8tR(K\x01tX\x01\x00\x00\x00"
           "CtRs."s,
       "NumPy's dtype 'O8'"},
      {test::dict_of({}) + "N", "ends before its member does"},
  };
  for (const auto& [pickle, words] : cases) {
    const IoError error = error_of_pickled(pickle);
    EXPECT_EQ(error.kind(), Kind::malformed) << words;
    EXPECT_TRUE(says(error, words)) << words << ": " << error.what();
  }
}

TEST(ReadTorch, RefusesArchivesThatAreOthers) {
  const TempDir dir;
  const std::string good = test::dict_of({});
  const std::pair<test::Members, const char*> cases[] = {
      {{{"constants.pkl", "x"}}, "torch.jit.load"},
      {{{"code/__torch__.py", "x"}}, "torch.jit.load"},
      {{{"archive_format", "pt2"}}, "torch.export"},
      {{{"byteorder", "middle"}, {"data/0", std::string(8, '\0')}}, "byte order is 'middle'"},
      {{}, "no member x/data/0"},
      {{{"data/0", std::string(12, '\0')}}, "has 12 bytes, and should have 8"}};
  for (const auto& [members, words] : cases) {
    test::write_archive(dir / "a.pt", good, members);
    const IoError error = thrown_by<IoError>([&] { read_torch(dir / "a.pt"); });
    EXPECT_TRUE(says(error, words)) << error.what();
  }
  {
    ZipWriter other(dir / "b.zip");
    other.add("readme.txt", "x", {}, false);
    other.commit();
  }
  EXPECT_TRUE(says(thrown_by<IoError>([&] { read_torch(dir / "b.zip"); }), "without PyTorch's data.pkl"));
  std::string booleans = test::dict_of({.type = "BoolStorage"});
  test::write_archive(dir / "a.pt", booleans, {{"data/0", "\x01\x02"}});
  EXPECT_TRUE(says(thrown_by<IoError>([&] { read_torch(dir / "a.pt"); }), "above 1"));
}

TEST(ReadTorch, RefusesLegacyFilesThatLie) {
  const std::string good = test::dict_of({}), storage = test::little_endian(2, 8) + std::string(8, '\0');
  const std::pair<std::string, const char*> cases[] = {
      {"", "the file is empty"},
      {"\x80\x02N.", "none that torch.save wrote"},
      {"\x80\x02K\x05.", "none that torch.save wrote"},
      {test::legacy_file(good, {}), "does not have storage 0"},
      {test::legacy_file(good, {"7"}), "a storage 7 that its pickle does not name"},
      {test::legacy_file(good, {"0", "0"}, storage + storage), "or twice"},
      {test::legacy_file(good, {"0"}, test::little_endian(3, 8) + std::string(12, '\0')),
       "and 3 are announced"},
      {test::legacy_file(good, {"0"}, test::little_endian(2, 8) + std::string(7, '\0')),
       "7 bytes before the end"},
      {test::legacy_file(test::dict_of({.sizes = {1}, .numel = std::int64_t{1} << 57}), {"0"},
                         test::little_endian(std::uint64_t{1} << 57, 8)),
       "0 bytes before the end"},
      {test::legacy_file(good, {"0"}, ""), "ends too early"},
      {std::string(257, 'a') + "ustar" + std::string(300, '\0'), "tar format"},
      {"\x89PNG\r\n\x1a\n", "PNG"},
  };
  for (const auto& [bytes, words] : cases) {
    const IoError error = error_of_file(bytes);
    EXPECT_EQ(error.kind(), Kind::malformed) << words;
    EXPECT_TRUE(says(error, words)) << words << ": " << error.what();
  }
}

// Old files have views of storages: (key, offset, size) after the storage's own numbers.
TEST(ReadTorch, ReadsViewsOfStoragesOfOldFiles) {
  const std::string id = "((" + test::pickled(std::string("storage")) + "ctorch\nFloatStorage\n" +
                         test::pickled(std::string("0")) + test::pickled(std::string("cpu")) + "K\x04(" +
                         test::pickled(std::string("view")) + "K\x01K\x03ttQ";
  const std::string pickle = "\x80\x02}" + test::pickled(std::string("a")) +
                             "ctorch._utils\n_rebuild_tensor\n" + id + test::pickled(std::int64_t{1}) +
                             "K\x02\x85K\x01\x85tRs.";
  const float values[] = {1, 2, 3, 4};
  const TempDir dir;
  put_bytes(dir / "a.pt", test::legacy_file(pickle, {"0"},
                                            test::little_endian(4, 8) +
                                                std::string(reinterpret_cast<const char*>(values), 16)));
  EXPECT_EQ(read_torch(dir / "a.pt").tensors.at(0).tensor.values<float>(), (std::vector<float>{3, 4}));
}

// Each byte of small files, changed in two ways, and each beginning of them: read, or refused, and nothing
// else.
TEST(ReadTorch, DamagedFilesAreReadOrRefused) {
  const TempDir dir = TempDir::in_memory();
  for (const char* file : {"checkpoint_legacy.pt", "floats.pt"}) {
    const std::string whole = bytes_of(kTorchGolden + file);
    int refused = 0;
    const auto read = [&](const std::string& bytes) {
      put_bytes(dir / "a", bytes);
      try {
        for (const NamedTensor& named : read_torch(dir / "a").tensors) EXPECT_GE(named.tensor.numel(), 0);
      } catch (const IoError& error) {
        EXPECT_EQ(error.kind(), Kind::malformed) << error.what();
        ++refused;
      }
    };
    for (std::size_t i = 0; i < whole.size(); ++i)
      for (const int flip : {1 << (i % 8), 0xff}) {
        std::string bytes = whole;
        bytes[i] = static_cast<char>(bytes[i] ^ flip);
        read(bytes);
      }
    EXPECT_GT(refused, 100) << file;
    refused = 0;
    for (std::size_t size = 0; size < whole.size(); ++size) read(whole.substr(0, size));
    EXPECT_EQ(static_cast<std::size_t>(refused), whole.size()) << file << ", cut off";
  }
}

NamedTensors every_dtype() {
  NamedTensors all;
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::i32,
                            DType::u8, DType::i8, DType::boolean})
    all.push_back({str("of.", dtype), Tensor::of({2, 3}, {0, 1, 1, 0, 1, 0}, dtype)});
  all.push_back({"turned", transpose(Tensor::of({2, 3}, {0, 1, 2, 3, 4, 5}))});
  all.push_back({"nothing", empty({0, 4})});
  all.push_back({"scalar", Tensor::of({}, {42})});
  all.push_back({"stra\u00dfe", zeros({300})});
  return all;
}

TEST(WriteTorch, IsReadAsItWas) {
  const TempDir dir;
  const NamedTensors wanted = every_dtype();
  write_torch(dir / "a.pt", wanted);
  const LoadedState read = read_torch(dir / "a.pt");
  ASSERT_EQ(read.tensors.size(), wanted.size());
  for (std::size_t i = 0; i < read.tensors.size(); ++i) {
    const auto& [name, tensor] = wanted[i];
    EXPECT_EQ(read.tensors[i].name, name);
    EXPECT_EQ(read.tensors[i].tensor.dtype(), tensor.dtype()) << name;
    EXPECT_EQ(read.tensors[i].tensor.shape(), tensor.shape()) << name;
    EXPECT_EQ(read.tensors[i].tensor.bytes(), tensor.bytes()) << name;
  }
  EXPECT_EQ(read.format, "PyTorch, zip");
  EXPECT_TRUE(read.converted.empty());
}

TEST(WriteTorch, SameTensorsGiveSameBytes) {
  const TempDir dir;
  write_torch(dir / "a.pt", every_dtype());
  write_torch(dir / "b.pt", every_dtype());
  EXPECT_EQ(bytes_of(dir / "a.pt"), bytes_of(dir / "b.pt"));
  EXPECT_EQ(count_entries(dir.path()), 2u);
}

TEST(WriteTorch, RefusesNamesThatAreNoKeys) {
  const TempDir dir;
  const Tensor x = zeros({1});
  for (const NamedTensors& tensors : {NamedTensors{{"", x}}, NamedTensors{{"a", x}, {"a", x}},
                                      NamedTensors{{"\xff", x}}, NamedTensors{{"a\n", x}}})
    EXPECT_THROW(write_torch(dir / "a.pt", tensors), ConfigError);
  EXPECT_EQ(count_entries(dir.path()), 0u);
}

}  // namespace
}  // namespace veldt::io
