// Arrays: npy, npz, idx, gzip, safetensors and CIFAR's pictures.
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "tests/fuzz/target.h"
#include "veldt/data/pictures.h"
#include "veldt/io/file.h"
#include "veldt/io/gzip.h"
#include "veldt/io/idx.h"
#include "veldt/io/npy.h"
#include "veldt/io/safetensors.h"

namespace veldt::fuzz {
namespace {

constexpr DType kOfNumpy[] = {DType::f32, DType::f64, DType::f16, DType::i64,
                              DType::i32, DType::u8,  DType::i8,  DType::boolean};

NamedTensors arrays() {
  NamedTensors all;
  for (const DType dtype : kOfNumpy)
    all.push_back({std::string(name_of(dtype)), Tensor::of({2, 3}, {0, 1, 1, 0, 1, 0}, dtype)});
  return all;
}

bool same_tensors(const NamedTensors& a, const NamedTensors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const NamedTensor& x, const NamedTensor& y) {
    return x.name == y.name && same(x.tensor, y.tensor);
  });
}

void read_npy(const std::string& bytes) {
  const Tensor array = io::read_npy(file_of(bytes));
  io::write_npy(scratch("copy.npy"), array);
  require(same(io::read_npy(scratch("copy.npy")), array),
          "an array that is written and read again is the same");
}

std::vector<std::string> npy_seeds() {
  std::vector<std::string> seeds;
  for (const NamedTensor& array : arrays())
    seeds.push_back(written("a.npy", [&](const std::string& path) { io::write_npy(path, array.tensor); }));
  return seeds;
}

std::vector<std::string> npy_words() {
  return {"{'descr': '", "'fortran_order': ",
          "'shape': (",  "True",
          "False",       ">f4",
          "<f8",         "|u1",
          "|b1",         "<i2",
          ">u4",         "|i1"};
}

void read_npz(const std::string& bytes) {
  const NamedTensors all = io::read_npz(file_of(bytes));
  io::write_npz(scratch("copy.npz"), all);
  require(same_tensors(io::read_npz(scratch("copy.npz")), all),
          "arrays that are written and read again are the same");
}

std::vector<std::string> npz_seeds() {
  std::vector<std::string> seeds;
  for (const bool compress : {false, true})
    for (const std::size_t count : {1, 2, 7})
      seeds.push_back(written("a.npz", [&](const std::string& path) {
        const NamedTensors all = arrays();
        io::write_npz(path, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)},
                      {.compress = compress});
      }));
  return seeds;
}

std::vector<std::string> npz_words() {
  return {"PK\x01\x02", "PK\x03\x04", "PK\x05\x06", "PK\x06\x06", "PK\x06\x07", ".npy", {"\x01\0\x10\0", 4}};
}

std::string gzipped(const std::string& bytes) {
  return written("a.gz", [&](const std::string& path) {
    gzFile file = ::gzopen(path.c_str(), "wb");
    ::gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    ::gzclose(file);
  });
}

void read_idx(const std::string& bytes) {
  const Tensor array = io::read_idx(file_of(bytes));
  require(array.rank() <= 255, "an idx file counts its dimensions in a byte");  // none: a single number
}

std::vector<std::string> idx_seeds() {
  using namespace std::string_literals;
  std::vector<std::string> seeds;
  const std::pair<char, std::size_t> kinds[] = {{'\x08', 1}, {'\x09', 1}, {'\x0b', 2},
                                                {'\x0c', 4}, {'\x0d', 4}, {'\x0e', 8}};
  for (const auto& [kind, bytes] : kinds)
    seeds.push_back("\0\0"s + kind + "\x02\0\0\0\x02\0\0\0\x03"s + std::string(6 * bytes, '\x01'));
  seeds.push_back(gzipped(seeds[0]));
  return seeds;
}

void read_gzip(const std::string& bytes) {
  io::GzipFile file(file_of(bytes));
  std::vector<char> part(5000);
  std::uint64_t all = 0;
  while (const std::size_t got = file.read(part.data(), part.size())) all += got;
  require(all <= file.most_bytes(), "a file unpacks to what it can hold at most");
}

std::vector<std::string> gzip_seeds() {
  return {gzipped(""), gzipped("Veldt"), gzipped(std::string(20000, 'a')), gzipped("a") + gzipped("b"),
          "not packed"};
}

void read_safetensors(const std::string& bytes) {
  const io::SafeTensors all = io::read_safetensors(file_of(bytes));
  io::write_safetensors(scratch("copy.safetensors"), all.tensors, all.metadata);
  const io::SafeTensors copy = io::read_safetensors(scratch("copy.safetensors"));
  require(copy.verified && copy.metadata == all.metadata && copy.tensors.size() == all.tensors.size(),
          "what is written is whole");
  for (const auto& [name, tensor] : all.tensors)
    require(copy.find(name) != nullptr && same(*copy.find(name), tensor),
            "tensors that are written and read again are the same");
}

// As Veldt writes it, with digests, and as others do, without, so that a changed one is read too.
std::vector<std::string> safetensors_seeds() {
  const std::string header =
      R"({"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},)"
      R"("y":{"dtype":"U8","shape":[],"data_offsets":[8,9]}})";
  std::string length(8, '\0');
  length[0] = static_cast<char>(header.size());
  return {length + header + "123456789", written("a.safetensors", [](const std::string& path) {
            io::write_safetensors(path, arrays(), {{"a", "b"}});
          })};
}

std::vector<std::string> safetensors_words() {
  return {
      "\"dtype\":", "\"shape\":", "\"data_offsets\":", "\"__metadata__\":", "\"veldt.xxh3\":", "\"F64\"",
      "\"BF16\"",   "\"F16\"",    "\"I64\"",           "\"I32\"",           "\"BOOL\"",        "\"F8_E5M2\""};
}

// A file of CIFAR-10 and one of CIFAR-100, and what their classes are called.
void read_cifar(const std::string& bytes) {
  const std::string folder = scratch("cifar");
  std::filesystem::create_directories(folder);
  for (const char* name : {"test_batch.bin", "test.bin"}) io::write_file(folder + '/' + name, bytes);
  for (const char* name : {"batches.meta.txt", "fine_label_names.txt"})
    io::write_file(folder + '/' + name, bytes.substr(0, 200));
  for (const auto& [read, record] : {std::pair(&data::cifar10, 3073), std::pair(&data::cifar100, 3074)}) try {
      const data::DatasetPtr set = read(folder, data::Part::test);
      require(set->size() == std::ssize(bytes) / record, "a file has as many pictures as it has bytes for");
      const data::Example last = set->get(set->size() - 1);
      require(last.at(0).shape() == Shape{3, 32, 32}, "a picture has the form of all");
      require(last.at(1).item() >= 0 && last.at(1).item() < static_cast<double>(set->classes().size()),
              "each label is one of the classes");
    } catch (const Error&) {  // the bytes may be of the other kind
    }
}

std::vector<std::string> cifar_seeds() {
  const std::string picture(3072, '\x7f'), names = "cat\ndog\r\n";
  return {'\x03' + picture, "\x03\x10" + picture, '\x09' + picture + '\x01' + picture, '\x0a' + picture,
          names + std::string(3073 - names.size(), '\0')};
}

}  // namespace

std::vector<Target> array_targets() {
  return {{"npy", read_npy, npy_seeds, npy_words},
          {"npz", read_npz, npz_seeds, npz_words},
          {"idx", read_idx, idx_seeds},
          {"gzip", read_gzip, gzip_seeds},
          {"safetensors", read_safetensors, safetensors_seeds, safetensors_words},
          {"cifar", read_cifar, cifar_seeds}};
}

}  // namespace veldt::fuzz
