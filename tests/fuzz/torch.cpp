// PyTorch's files: the pickle by itself, the archives and the legacy format around it, and what chooses a
// reader.
#include "tests/fuzz/target.h"
#include "veldt/core/error.h"
#include "veldt/io/npy.h"
#include "veldt/io/pickle.h"
#include "veldt/io/state.h"
#include "veldt/io/torch_file.h"
#include "veldt/io/torch_globals.h"

namespace veldt::fuzz {
namespace {

void read_pickle(const std::string& bytes) {
  std::size_t next = 0;
  io::PickleInput input("a pickle", bytes.size(), [&](void* to, std::size_t count) {
    next += bytes.copy(static_cast<char*>(to), count, next);
  });
  const io::Pickle pickle = io::read_pickle(
      input, [](std::string_view name) { return io::torch_global(name).role != io::TorchRole::unknown; });
  require(input.taken() <= bytes.size(), "a pickle ends within its file");
  require(pickle.values.size() <= io::kMaxPickleValues + 4, "a pickle has no more values than are allowed");
  for (const io::PickleValue& value : pickle.values) {
    for (const io::PickleRef ref : {value.callee, value.arguments, value.state})
      require(ref < pickle.values.size(), "a value refers to values that are there");
    for (const io::PickleRef ref : value.items)
      require(ref < pickle.values.size(), "a container has values that are there");
  }
}

std::vector<std::string> torch_seeds() { return files_in("tests/golden/torch", ".pt"); }

// The pickles of the legacy files begin with others, and those of archives with an archive's header.
std::vector<std::string> pickle_seeds() {
  std::vector<std::string> seeds;
  for (const std::string& file : torch_seeds())
    for (const std::string begin : {"\x80\x02", "\x80\x03", "\x80\x04", "\x80\x05"})
      if (const std::size_t at = file.rfind(begin); at != std::string::npos) seeds.push_back(file.substr(at));
  for (const std::string text :
       {"(dp0\nS'a'\np1\nI01\nsV\\u00e9\np2\nF1.5\ns.", "(lp0\nL12L\na(I1\nI2\ntp1\nag0\na.",
        "(ios\nsystem\np0\n.", "ccollections\nOrderedDict\n(tR.", "Pid\n.", "]\x94h\0a."})
    seeds.push_back(text);
  return seeds;
}

std::vector<std::string> torch_words() {
  return {"\x80\x02",
          "ctorch\nFloatStorage\n",
          "ctorch._utils\n_rebuild_tensor_v2\n",
          "storage",
          "QK\0",
          "\x8a\x08",
          "ccollections\nOrderedDict\n)R",
          "(tR",
          "\x93",
          "\x94",
          "\x95",
          "state_dict",
          "data.pkl",
          "byteorder",
          "cnumpy\ndtype\n",
          "PK\x01\x02",
          "PK\x03\x04",
          "PK\x05\x06",
          "PK\x06\x06"};
}

void read_torch(const std::string& bytes) {
  const io::LoadedState state = io::read_torch(file_of(bytes));
  require(!state.tensors.empty(), "a file that is read has tensors");
  std::int64_t numbers = 0;
  for (const NamedTensor& named : state.tensors) numbers += named.tensor.numel();
  if (numbers > (1 << 20)) return;  // views that repeat their elements take no memory until they are written
  try {
    io::write_torch(scratch("copy.pt"), state.tensors);
  } catch (const ConfigError&) {
    return;  // names that are no text
  }
  const io::LoadedState copy = io::read_torch(scratch("copy.pt"));
  require(copy.tensors.size() == state.tensors.size() && copy.converted.empty(), "what is written is whole");
  for (std::size_t i = 0; i < copy.tensors.size(); ++i)
    require(copy.tensors[i].name == state.tensors[i].name &&
                same(copy.tensors[i].tensor, state.tensors[i].tensor),
            "tensors that are written and read again are the same");
}

// A file of any kind, or an index of others: "input" is what the file itself is called.
void read_state(const std::string& bytes) { io::load_state(file_of(bytes)); }

std::vector<std::string> state_seeds() {
  std::vector<std::string> seeds = torch_seeds();
  seeds.push_back(R"({"metadata": {}, "weight_map": {"a": "input", "b": "../input"}})");
  seeds.push_back(R"({"weight_map": {"a": 1}})");
  seeds.push_back(written("a.npz", [](const std::string& path) {
    io::write_npz(path, {{"a", Tensor::of({2}, {1, 2})}});
  }));
  return seeds;
}

}  // namespace

std::vector<Target> torch_targets() {
  return {{"pickle", read_pickle, pickle_seeds, torch_words},
          {"torch", read_torch, torch_seeds, torch_words},
          {"state", read_state, state_seeds, torch_words}};
}

}  // namespace veldt::fuzz
