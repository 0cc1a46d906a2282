// TensorProto to Value. Only for the readers of this folder.
// Tests: tests/onnx/model_test.cpp
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "veldt/onnx/value.h"

namespace protozero {
class pbf_reader;
}

namespace veldt::onnx {

// Where messages come from: the file's name for messages, and the folder of its external data ("": none
// allowed).
struct Source {
  std::string name, folder;
  mutable std::uint64_t dense = 0;                          // elements of sparse tensors that were made dense
  mutable std::map<std::string, std::uint64_t> taken = {};  // bytes of each file of external data
  [[noreturn]] void fail(const std::string& why) const;
};

// Throws Error for a number that no version of ONNX knows.
ElementType element_type(std::int64_t number);

// TensorProto: its name, and the tensor.
std::pair<std::string, Value> read_tensor(const protozero::pbf_reader& message, const Source& source);
// SparseTensorProto, made dense.
std::pair<std::string, Value> read_sparse_tensor(const protozero::pbf_reader& message, const Source& source);

// The field on which a reader stands. protozero leaves it to its callers to look at how a field is
// encoded: these throw its exception for one that is encoded otherwise.
std::string text_of(protozero::pbf_reader& m);
std::int64_t integer_of(protozero::pbf_reader& m);
protozero::pbf_reader message_of(protozero::pbf_reader& m);

// A repeated field, packed or not: the reader stands on one of its pieces.
void append_integers(protozero::pbf_reader& message, std::vector<std::int64_t>& to);
void append_reals(protozero::pbf_reader& message, std::vector<double>& to);

}  // namespace veldt::onnx
