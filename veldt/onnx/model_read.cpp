// Protobuf messages to structs. Every length is checked by protozero against the bytes that are there.
#include <functional>
#include <protozero/pbf_reader.hpp>
#include <stdexcept>

#include "veldt/core/error.h"
#include "veldt/io/file.h"
#include "veldt/io/magic.h"
#include "veldt/onnx/model.h"
#include "veldt/onnx/tensor_read.h"

namespace veldt::onnx {

namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr int kMaxDepth = 64;

// What these bytes are no model for; the file as a whole may be something else.
struct NoModel : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ModelReader {
 public:
  explicit ModelReader(const Source& source) : source_(source) {}

  Model model(pbf_reader m);
  Value value(pbf_reader m, const ValueType& type, int depth = 0);

 private:
  Graph graph(pbf_reader m, int depth);
  Node node(pbf_reader m, int depth);
  Attribute attribute(pbf_reader m, int depth);
  Function function(pbf_reader m);
  ValueType type(pbf_reader m, int depth);
  ValueInfo info(pbf_reader m);
  void check(int depth) const {
    if (depth > kMaxDepth) source_.fail(str("messages are nested deeper than ", kMaxDepth));
  }

  const Source& source_;
};

std::pair<std::string, std::string> entry(pbf_reader m) {
  std::pair<std::string, std::string> out;
  while (m.next()) {
    if (m.tag() == 1)
      out.first = text_of(m);
    else if (m.tag() == 2)
      out.second = text_of(m);
    else
      m.skip();
  }
  return out;
}

std::pair<std::string, std::int64_t> opset(pbf_reader m) {
  std::pair<std::string, std::int64_t> out{"", 1};
  while (m.next()) {
    if (m.tag() == 1)
      out.first = text_of(m);
    else if (m.tag() == 2)
      out.second = integer_of(m);
    else
      m.skip();
  }
  if (out.first == "ai.onnx") out.first.clear();
  return out;
}

Dimension dimension(pbf_reader m) {
  Dimension out;
  while (m.next()) {
    if (m.tag() == 1)
      out.size = integer_of(m);
    else if (m.tag() == 2)
      out.name = text_of(m);
    else
      m.skip();
  }
  if (out.size < 0) out.size = -1;
  return out;
}

// element, and shape, of a Tensor or SparseTensor
void tensor_type(pbf_reader m, ValueType& out) {
  out.kind = ValueType::Kind::tensor;
  while (m.next()) {
    if (m.tag() == 1) {
      out.element = element_type(integer_of(m));
    } else if (m.tag() == 2) {
      out.ranked = true;
      pbf_reader shape = message_of(m);
      while (shape.next()) {
        if (shape.tag() == 1)
          out.dimensions.push_back(dimension(message_of(shape)));
        else
          shape.skip();
      }
    } else {
      m.skip();
    }
  }
}

ValueType ModelReader::type(pbf_reader m, int depth) {
  check(depth);
  ValueType out;
  while (m.next()) {
    const auto tag = m.tag();
    if (tag == 1 || tag == 8) {
      tensor_type(message_of(m), out);
    } else if (tag == 4 || tag == 9) {
      out.kind = tag == 4 ? ValueType::Kind::sequence : ValueType::Kind::optional;
      pbf_reader inner = message_of(m);
      while (inner.next()) {
        if (inner.tag() == 1)
          out.item = std::make_shared<const ValueType>(type(message_of(inner), depth + 1));
        else
          inner.skip();
      }
    } else {
      m.skip();
    }
  }
  return out;
}

ValueInfo ModelReader::info(pbf_reader m) {
  ValueInfo out;
  while (m.next()) {
    if (m.tag() == 1)
      out.name = text_of(m);
    else if (m.tag() == 2)
      out.type = type(message_of(m), 0);
    else
      m.skip();
  }
  return out;
}

Attribute ModelReader::attribute(pbf_reader m, int depth) {
  check(depth);
  using Kind = Attribute::Kind;
  Attribute out;
  std::int64_t declared = 0;
  while (m.next()) {
    switch (m.tag()) {
      case 1: out.name = text_of(m); break;
      case 2:
        append_reals(m, out.reals);
        if (out.reals.size() != 1)
          source_.fail("the attribute " + out.name + " has several numbers where one belongs");
        out.real = out.reals.front();
        out.reals.clear();
        out.kind = Kind::real;
        break;
      case 3: out.integer = integer_of(m), out.kind = Kind::integer; break;
      case 4: out.text = text_of(m), out.kind = Kind::text; break;
      case 5: out.values.push_back(read_tensor(message_of(m), source_).second), out.kind = Kind::value; break;
      case 6:
        out.graphs.push_back(std::make_shared<const Graph>(graph(message_of(m), depth + 1)));
        out.kind = Kind::graph;
        break;
      case 7: append_reals(m, out.reals), out.kind = Kind::reals; break;
      case 8: append_integers(m, out.integers), out.kind = Kind::integers; break;
      case 9: out.texts.push_back(text_of(m)), out.kind = Kind::texts; break;
      case 10:
        out.values.push_back(read_tensor(message_of(m), source_).second), out.kind = Kind::values;
        break;
      case 11:
        out.graphs.push_back(std::make_shared<const Graph>(graph(message_of(m), depth + 1)));
        out.kind = Kind::graphs;
        break;
      case 20: declared = integer_of(m); break;
      case 21: out.refers_to = text_of(m); break;
      case 22:
        out.values.push_back(read_sparse_tensor(message_of(m), source_).second), out.kind = Kind::value;
        break;
      case 23:
        out.values.push_back(read_sparse_tensor(message_of(m), source_).second), out.kind = Kind::values;
        break;
      default: m.skip();
    }
  }
  // A list without elements, or a number that is 0, may have left no other trace.
  constexpr Kind kKinds[] = {Kind::none,   Kind::real,  Kind::integer,  Kind::text,  Kind::value,
                             Kind::graph,  Kind::reals, Kind::integers, Kind::texts, Kind::values,
                             Kind::graphs, Kind::value, Kind::values,   Kind::type,  Kind::type};
  if (out.kind == Kind::none && declared > 0 && declared < static_cast<std::int64_t>(std::size(kKinds)))
    out.kind = kKinds[declared];
  if ((out.kind == Kind::value && out.values.size() != 1) ||
      (out.kind == Kind::graph && out.graphs.size() != 1)) {
    if (out.refers_to.empty())
      source_.fail("the attribute " + out.name + " does not have the one value that it declares");
  }
  return out;
}

Node ModelReader::node(pbf_reader m, int depth) {
  Node out;
  while (m.next()) {
    switch (m.tag()) {
      case 1: out.inputs.push_back(text_of(m)); break;
      case 2: out.outputs.push_back(text_of(m)); break;
      case 3: out.name = text_of(m); break;
      case 4: out.op = text_of(m); break;
      case 5: out.attributes.push_back(attribute(message_of(m), depth + 1)); break;
      case 7: out.domain = text_of(m); break;
      case 8: out.overload = text_of(m); break;
      default: m.skip();
    }
  }
  if (out.domain == "ai.onnx") out.domain.clear();
  return out;
}

Graph ModelReader::graph(pbf_reader m, int depth) {
  check(depth);
  Graph out;
  while (m.next()) {
    switch (m.tag()) {
      case 1: out.nodes.push_back(node(message_of(m), depth)); break;
      case 2: out.name = text_of(m); break;
      case 5: out.initializers.push_back(read_tensor(message_of(m), source_)); break;
      case 11: out.inputs.push_back(info(message_of(m))); break;
      case 12: out.outputs.push_back(info(message_of(m))); break;
      case 13: out.inner.push_back(info(message_of(m))); break;
      case 15: out.initializers.push_back(read_sparse_tensor(message_of(m), source_)); break;
      default: m.skip();
    }
  }
  return out;
}

Function ModelReader::function(pbf_reader m) {
  Function out;
  while (m.next()) {
    switch (m.tag()) {
      case 1: out.name = text_of(m); break;
      case 4: out.inputs.push_back(text_of(m)); break;
      case 5: out.outputs.push_back(text_of(m)); break;
      case 6: out.attributes.push_back(text_of(m)); break;
      case 7: out.nodes.push_back(node(message_of(m), 0)); break;
      case 9: out.opsets.insert(opset(message_of(m))); break;
      case 10: out.domain = text_of(m); break;
      case 11: out.defaults.push_back(attribute(message_of(m), 0)); break;
      case 13: out.overload = text_of(m); break;
      default: m.skip();
    }
  }
  if (out.domain == "ai.onnx") out.domain.clear();
  return out;
}

Model ModelReader::model(pbf_reader m) {
  Model out;
  bool has_graph = false;
  while (m.next()) {
    switch (m.tag()) {
      case 1: out.ir_version = integer_of(m); break;
      case 2: out.producer = text_of(m); break;
      case 3: out.producer_version = text_of(m); break;
      case 7: out.graph = graph(message_of(m), 0), has_graph = true; break;
      case 8: out.opsets.insert(opset(message_of(m))); break;
      case 14: out.metadata.insert(entry(message_of(m))); break;
      case 25: out.functions.push_back(function(message_of(m))); break;
      default: m.skip();
    }
  }
  if (!has_graph) throw NoModel("it has no graph");
  out.opsets.insert({"", 1});
  return out;
}

Value ModelReader::value(pbf_reader m, const ValueType& type, int depth) {
  check(depth);
  if (type.kind == ValueType::Kind::tensor || type.kind == ValueType::Kind::unknown)
    return read_tensor(m, source_).second;
  // SequenceProto and OptionalProto have their members under the same numbers, but for the last ones.
  const bool sequence = type.kind == ValueType::Kind::sequence;
  static const ValueType kTensor{.kind = ValueType::Kind::tensor};
  static const ValueType kSequence{.kind = ValueType::Kind::sequence,
                                   .item = std::make_shared<const ValueType>(kTensor)};
  std::vector<Value> items;
  while (m.next()) {
    switch (m.tag()) {
      case 3: items.push_back(value(message_of(m), kTensor, depth + 1)); break;
      case 4: items.push_back(read_sparse_tensor(message_of(m), source_).second); break;
      case 5: items.push_back(value(message_of(m), kSequence, depth + 1)); break;
      default: m.skip();
    }
  }
  if (!sequence && items.size() > 1) source_.fail("an optional has several values");
  return sequence ? Value::sequence(std::move(items)) : Value::optional(std::move(items));
}

std::string no_message(const protozero::exception& error) {
  return str("its bytes are no protobuf message (", error.what(), ")");
}

[[noreturn]] void refuse_bytes(const Source& source, const std::string& bytes, const std::string& why) {
  const std::string_view head = std::string_view(bytes).substr(0, io::kMagicBytes);
  if (io::is_onnx(head)) source.fail(why + "; it is damaged, or a part of it is missing");
  throw IoError(IoError::Kind::malformed, str("\"", source.name, "\" is no ONNX graph"),
                io::seems_to_be(head) + ", and " + why,
                "give a file of ONNX, as torch.onnx.export writes it");
}

// protozero's exceptions become the reader's own.
template <class Fn> auto parsed(const Source& source, const Fn& fn) {
  try {
    return fn();
  } catch (const protozero::exception& error) {
    source.fail(no_message(error));
  }
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? std::string(".") : slash == 0 ? "/" : path.substr(0, slash);
}

// A model is read whole: its weights lie in it.
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 36;

}  // namespace

Model parse_model(const std::string& bytes, const std::string& name, const std::string& folder) {
  const Source source{name, folder};
  try {
    return ModelReader(source).model(pbf_reader(bytes));
  } catch (const protozero::exception& error) {
    refuse_bytes(source, bytes, no_message(error));
  } catch (const NoModel& error) {
    refuse_bytes(source, bytes, error.what());
  }
}

Model read_model(const std::string& path) {
  return parse_model(io::read_file(path, kMaxBytes), path, folder_of(path));
}

Value read_value(const std::string& path, const ValueType& type) {
  const std::string bytes = io::read_file(path, kMaxBytes);
  const Source source{path, {}};
  return parsed(source, [&] { return ModelReader(source).value(pbf_reader(bytes), type); });
}

std::string ValueType::description() const {
  if (kind == Kind::unknown) return "unknown";
  if (kind != Kind::tensor)
    return str(kind == Kind::sequence ? "sequence(" : "optional(", item ? item->description() : "", ")");
  std::string out(name_of(element));
  if (!ranked) return out;
  out += '[';
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    if (i > 0) out += ',';
    const Dimension& d = dimensions[i];
    out += d.size >= 0 ? str(d.size) : d.name.empty() ? "?" : d.name;
  }
  return out + ']';
}

}  // namespace veldt::onnx
