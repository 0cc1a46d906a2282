// veldt run: an ONNX graph on arrays and pictures.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veldt/app/describe.h"
#include "veldt/app/inputs.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/terminal.h"
#include "veldt/data/pictures.h"
#include "veldt/io/file.h"
#include "veldt/io/magic.h"
#include "veldt/io/image.h"
#include "veldt/io/text_values.h"
#include "veldt/io/npy.h"
#include "veldt/onnx/network.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/close.h"
#include "veldt/ops/sort.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"

namespace veldt::app {
namespace {

using Json = nlohmann::ordered_json;

struct RunFlags {
  std::string model, output;
  std::vector<std::string> inputs;
  std::vector<double> mean, deviation;
  std::int64_t top = 5, max_pixels = kMaxPixels;
};

// An array's numbers as the graph's type, if none changes by that.
onnx::Value converted(const Tensor& array, const onnx::ValueInfo& input) {
  const onnx::ElementType wanted = input.type.element;
  const onnx::Value given(array);
  if (wanted == onnx::ElementType::undefined || wanted == given.type() || wanted == onnx::ElementType::string)
    return given;
  onnx::Value out = onnx::cast(given, wanted);
  const bool same =
      onnx::is_floating(wanted) == is_float(array.dtype()) &&
      (is_float(array.dtype()) || array_equal(to(out.tensor(), DType::i64), to(array, DType::i64)));
  if (!same)
    throw UsageError(fmt::format("the input \"{}\" cannot be {}", input.name, given.description()),
                     fmt::format("the graph takes {}", input.type.description()),
                     "give an array of this type");
  return out;
}

std::int64_t fixed_size(const onnx::ValueInfo& input, std::size_t dim) {
  return dim < input.type.dimensions.size() ? std::max<std::int64_t>(input.type.dimensions[dim].size, 0) : 0;
}

// [1, c, h, w], or [1, h, w, c] where the graph has its channels last; without a batch for a graph of three
// dimensions. Brought to the graph's size, if it has one.
onnx::Value picture_for(const RunFlags& flags, const std::string& path, const onnx::ValueInfo& input,
                        const Context& context) {
  const std::size_t rank = input.type.dimensions.size(), batch = rank == 4 ? 1 : 0;
  if (input.type.ranked && rank != 3 && rank != 4) {
    static_cast<void>(load_picture(path, flags.max_pixels, context));  // if it is one
    throw UsageError(fmt::format("the input \"{}\" cannot be a picture", input.name),
                     fmt::format("the graph takes {}", input.type.description()), "give an array (.npy)");
  }
  const auto is_colour = [](std::int64_t n) { return n == 1 || n == 3; };
  const bool last =
      rank > 0 && is_colour(fixed_size(input, batch + 2)) && !is_colour(fixed_size(input, batch));
  const std::size_t first_side = rank == 0 ? 0 : last ? batch : batch + 1;
  const std::int64_t channels = rank == 0 ? 3 : fixed_size(input, last ? batch + 2 : batch);
  const Tensor picture = load_picture(path, flags.max_pixels, context);
  Tensor x = data::picture_planes(picture, {.height = rank == 0 ? 0 : fixed_size(input, first_side),
                                            .width = rank == 0 ? 0 : fixed_size(input, first_side + 1),
                                            .grey = channels == 1});
  if (!context.quiet && (x.size(1) != picture.size(0) || x.size(2) != picture.size(1)))
    print_note(fmt::format("{}, which is {}x{}, is brought to the graph's {}x{}", on_one_line(path),
                           picture.size(1), picture.size(0), x.size(2), x.size(1)));
  const auto by_channel = [&](const std::vector<double>& numbers, const char* flag) {
    if (numbers.size() != 1 && static_cast<std::int64_t>(numbers.size()) != x.size(0))
      throw UsageError(fmt::format("{} has {} numbers", flag, numbers.size()),
                       fmt::format("the picture has {} channels", x.size(0)),
                       "give one, or one for each channel: 0.485,0.456,0.406");
    const std::vector<float> list(numbers.begin(), numbers.end());
    return reshape(Tensor::from<float>({static_cast<std::int64_t>(list.size())}, list),
                   {static_cast<std::int64_t>(list.size()), 1, 1});
  };
  if (!flags.mean.empty()) x = sub(x, by_channel(flags.mean, "--mean"));
  if (!flags.deviation.empty()) x = div(x, by_channel(flags.deviation, "--std"));
  if (last) x = contiguous(permute(x, {1, 2, 0}));
  if (rank != 3) x = unsqueeze(x, 0);
  const onnx::ElementType wanted = input.type.element;
  if (wanted == onnx::ElementType::undefined || wanted == onnx::ElementType::float32) return x;
  // Whole numbers are a picture's bytes.
  return onnx::cast(onnx::is_floating(wanted) ? x : round(mul(x, 255)), wanted);
}

std::map<std::string, onnx::Value> read_inputs(const RunFlags& flags, const onnx::Network& network,
                                               const Context& context) {
  std::map<std::string, onnx::Value> out;
  const auto put = [&](const std::string& name, onnx::Value value) {
    if (!out.emplace(name, std::move(value)).second)
      throw UsageError(fmt::format("the input \"{}\" is given twice", name),
                       "a run has one value for each input", "leave one of them out");
  };
  const auto names = [&] {
    std::string list;
    for (const onnx::ValueInfo& input : network.inputs()) list += (list.empty() ? "" : ", ") + input.name;
    return list;
  };
  const auto info = [&](const std::string& name) -> const onnx::ValueInfo& {
    for (const onnx::ValueInfo& input : network.inputs())
      if (input.name == name) return input;
    throw UsageError(fmt::format("the graph has no input \"{}\"", name),
                     fmt::format("its inputs are: {}", names()), "write --input NAME=FILE with one of these");
  };
  for (const std::string& text : flags.inputs) {
    // A name ends at the first =, unless a file of the whole name is there.
    const std::size_t equals = std::filesystem::is_regular_file(text) ? std::string::npos : text.find('=');
    std::string name = equals == std::string::npos ? "" : text.substr(0, equals);
    const std::string path = equals == std::string::npos ? text : text.substr(equals + 1);
    if (path.empty())
      throw UsageError(fmt::format("--input {} names no file", on_one_line(text)),
                       "nothing follows the =", "write --input NAME=FILE");
    const std::string head = first_bytes(path);
    if (name.empty() && (head.starts_with("PK") || path.ends_with(".npz"))) {
      for (const NamedTensor& array : io::read_npz(path))
        put(array.name, converted(array.tensor, info(array.name)));
      continue;
    }
    if (name.empty()) {
      if (network.inputs().size() != 1)
        throw UsageError(fmt::format("cannot tell which input {} is for", on_one_line(path)),
                         fmt::format("the graph has {} inputs: {}", network.inputs().size(), names()),
                         "write --input NAME=FILE");
      name = network.inputs().front().name;
    }
    const onnx::ValueInfo& input = info(name);
    if (head.starts_with("\x93NUMPY") || path.ends_with(".npy"))
      put(name, converted(io::read_npy(path), input));
    else
      put(name, picture_for(flags, path, input, context));
  }
  return out;
}

// Sequences as their items, with numbers.
void flatten(const std::string& name, const onnx::Value& value,
             std::vector<std::pair<std::string, onnx::Value>>& out) {
  if (value.kind() != onnx::Value::Kind::sequence && value.kind() != onnx::Value::Kind::optional) {
    if (value.present()) out.emplace_back(name, value);
    return;
  }
  for (std::size_t i = 0; i < value.items().size(); ++i)
    flatten(fmt::format("{}.{}", name, i), value.items()[i], out);
}

Json described(const std::string& name, const onnx::Value& value, std::int64_t top) {
  Json row = {{"name", name}, {"type", value.description()}};
  if (value.kind() == onnx::Value::Kind::texts) {
    row["values"] = value.texts().values;
    return row;
  }
  const Tensor x = to(value.tensor(), DType::f64);
  if (x.numel() == 0) return row;
  row["least"] = min(x).item();
  row["mean"] = mean(x).item();
  row["most"] = max(x).item();
  const std::int64_t not_finite = count_not_finite(value.tensor());
  if (not_finite > 0) row["not_finite"] = not_finite;
  // One line of scores: the classes of a picture.
  if (top > 0 && not_finite == 0 && x.rank() > 0 && x.numel() == x.size(-1) && x.numel() > 1 &&
      onnx::is_floating(value.type())) {
    const Sorted best = topk(reshape(x, {x.numel()}), std::min(top, x.numel()));
    Json list = Json::array();
    const std::vector<double> scores = best.values.values<double>();
    const std::vector<std::int64_t> places = best.indices.values<std::int64_t>();
    for (std::size_t i = 0; i < places.size(); ++i)
      list.push_back({{"index", places[i]}, {"value", scores[i]}});
    row["top"] = list;
  }
  return row;
}

// Without the sign that a NaN may have.
std::string number_in_words(const Json& number) {
  const double x = number.get<double>();
  return std::isnan(x) ? "nan" : fmt::format("{:.6g}", x);
}

void print_outputs(const Json& rows, Context& context) {
  for (const Json& row : rows) {
    std::string text =
        fmt::format("{}  {}", on_one_line(row["name"].get<std::string>()), row["type"].get<std::string>());
    if (row.contains("mean"))
      text += fmt::format("  {} to {}, mean {}", number_in_words(row["least"]), number_in_words(row["most"]),
                          number_in_words(row["mean"]));
    if (row.contains("not_finite"))
      text += fmt::format(", {} not finite", row["not_finite"].get<std::int64_t>());
    if (row.contains("values"))
      for (const Json& value : row["values"]) text += "  \"" + on_one_line(value.get<std::string>()) + '"';
    context.out.text(text + '\n');
    if (row.contains("top"))
      for (const Json& one : row["top"])
        context.out.text(
            fmt::format("  {:>6}  {:.6g}\n", one["index"].get<std::int64_t>(), one["value"].get<double>()));
  }
}

void write_outputs(const std::string& path, const std::vector<std::pair<std::string, onnx::Value>>& outputs) {
  NamedTensors arrays;
  for (const auto& [name, value] : outputs) {
    if (!value.is_tensor())
      throw UsageError(fmt::format("the output \"{}\" is {}", name, value.description()),
                       "NumPy's files hold numbers", "leave -o out: it is printed");
    // NumPy has no bf16.
    arrays.push_back(
        {name, value.tensor().dtype() == DType::bf16 ? to(value.tensor(), DType::f32) : value.tensor()});
  }
  if (!path.ends_with(".npy")) return io::write_npz(path, arrays);
  if (arrays.size() != 1)
    throw UsageError(fmt::format("the graph has {} outputs", arrays.size()), "an .npy file holds one array",
                     "name an .npz file");
  io::write_npy(path, arrays.front().tensor);
}

int run_graph(const RunFlags& flags, Context& context) {
  NoGrad off;
  if (!flags.output.empty()) {
    if (!flags.output.ends_with(".npz") && !flags.output.ends_with(".npy"))
      throw UsageError(fmt::format("cannot write {}", flags.output), "results are written as NumPy's arrays",
                       "name an .npz or .npy file");
    std::vector<std::string> read = {flags.model};
    for (const std::string& input : flags.inputs)
      read.push_back(input.substr(input.find('=') == std::string::npos ? 0 : input.find('=') + 1));
    check_output(flags.output, "--output", read, context);
  }
  if (const FileKind kind = kind_of_file(flags.model); kind != FileKind::onnx && kind != FileKind::unknown)
    throw IoError(IoError::Kind::malformed, fmt::format("{} is no ONNX graph", flags.model),
                  io::seems_to_be(first_bytes(flags.model)),
                  "give what torch.onnx.export or veldt export wrote; networks of veldt train are used by "
                  "veldt predict");
  const onnx::Network network = onnx::load(flags.model).frozen();
  const auto inputs = read_inputs(flags, network, context);
  const onnx::Values results = network.run(inputs);
  std::vector<std::pair<std::string, onnx::Value>> outputs;
  for (std::size_t i = 0; i < results.size(); ++i) flatten(network.outputs()[i].name, results[i], outputs);
  if (!flags.output.empty()) write_outputs(flags.output, outputs);
  Json rows = Json::array();
  for (const auto& [name, value] : outputs) rows.push_back(described(name, value, flags.top));
  if (context.json)
    context.out.json({{"model", flags.model}, {"outputs", rows}});
  else
    print_outputs(rows, context);
  return kOk;
}

}  // namespace

Run add_run(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<RunFlags>();
  add_path(verb, "MODEL", flags->model, "an ONNX file").required();
  add_texts(verb, "--input,-i", "[NAME=]FILE", flags->inputs,
            "an array (.npy), a picture, or all arrays of an .npz by their names; the name of the graph's "
            "input may be left out where it has one");
  add_path(verb, "-o,--output", flags->output, "where the results go: an .npz, or an .npy for one");
  const auto numbers = [](std::vector<double>& into, io::NumberRange range) {
    return [&into, range](const io::Source& source, const std::string& text) {
      into.clear();
      std::size_t begin = 0;
      while (begin <= text.size()) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        into.push_back(io::number_from(source, text.substr(begin, end - begin), range));
        begin = end + 1;
      }
    };
  };
  add_text(verb, "--mean", "X,X,X",
           "subtracted from a picture's channels, which are 0 to 1: 0.485,0.456,0.406 for ImageNet",
           numbers(flags->mean, {}));
  add_text(verb, "--std", "X,X,X", "and what they are divided by after that: 0.229,0.224,0.225",
           numbers(flags->deviation, {.least = std::numeric_limits<float>::min(), .above = 0}));
  add_count(verb, "--top", flags->top, {.least = 0, .most = 1000},
            "the largest of a line of scores that are listed");
  add_max_pixels(verb, flags->max_pixels);
  add_threads(verb, context);
  verb.examples(
      "  veldt run mobilenet.onnx --input cat.jpg --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225\n"
      "  veldt run net.onnx --input x=a.npy --input mask=b.npy -o out.npz\n"
      "  veldt info net.onnx                   its inputs and outputs\n");
  return [flags, &context] { return run_graph(*flags, context); };
}

}  // namespace veldt::app
