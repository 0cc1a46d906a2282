// veldt export: a trained network or a field as an ONNX file; fields also as publish.cpp writes them.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "veldt/app/inputs.h"
#include "veldt/app/network_header.h"
#include "veldt/app/onnx_files.h"
#include "veldt/app/publish.h"
#include "veldt/app/verbs.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/option_tree.h"
#include "veldt/cli/terminal.h"
#include "veldt/compress/quantize.h"
#include "veldt/core/error.h"
#include "veldt/field/coordinates.h"
#include "veldt/field/field.h"
#include "veldt/io/file.h"
#include "veldt/io/image.h"
#include "veldt/io/magic.h"
#include "veldt/io/safetensors.h"
#include "veldt/models/model_file.h"
#include "veldt/onnx/export.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/recipe/trained.h"

namespace veldt::app {
namespace {

struct ExportFlags {
  std::string model, output;
  std::int64_t batch = 0;
  WishedSize size;
};

#if VELDT_HAVE_ONNX

// What the file's network takes and gives: example inputs, and their names.
struct ExportedNetwork {
  std::shared_ptr<nn::Module> module;
  TensorList inputs;
  onnx::ExportOptions options;
};

// Positions [n, 2] of 0..1 from left to right and from top to bottom, or [n, 1] from a sound's start to its
// end, or [n, 3] with the time of a clip, to levels [n, channels]: 0..1 of a picture.
class FieldLevels : public nn::Module {
 public:
  explicit FieldLevels(const field::Field& field) : field_(field), map_(field_.options()) {}

  Tensor forward(const Tensor& positions) const override {
    const auto coordinate = [&](int column, float at_0, float at_1) {
      return affine(narrow(positions, 1, column, 1), static_cast<double>(at_1) - at_0, at_0);
    };
    std::vector<Tensor> inputs;
    if (map_.has_x()) inputs.push_back(coordinate(0, map_.x(0), map_.x(1)));
    inputs.push_back(coordinate(static_cast<int>(inputs.size()), map_.y(0), map_.y(1)));
    if (map_.has_time()) inputs.push_back(coordinate(2, map_.time(0), map_.time(1)));
    if (map_.inputs() > static_cast<int>(inputs.size())) inputs.push_back(ones({positions.size(0), 1}));
    return field::levels_from(field_.network()(cat(inputs, 1)), field_.options().head);
  }
  void fields(nn::Fields& f) override { f("network", field_.network()); }

 private:
  field::Field field_;
  field::CoordinateMap map_;
};

// A table's network with the scales of its columns and of its target: what `veldt predict` does.
class TableNetwork : public nn::Module {
 public:
  explicit TableNetwork(recipe::Trained trained) : trained_(std::move(trained)) {}

  Tensor forward(const Tensor& rows) const override {
    const Tensor y = trained_.model(recipe::scaled_columns(rows, trained_.facts.columns));
    const recipe::Scaling& s = trained_.facts.scaling;
    return trained_.recipe.classes ? y : affine(y, s.deviation, s.mean);
  }
  void fields(nn::Fields& f) override { trained_.model.fields(f); }

 private:
  recipe::Trained trained_;
};

ExportedNetwork field_to_export(const std::string& path) {
  const field::Field field = field::Field::load(path);
  Rng rng(1);
  const std::int64_t dimensions = field.options().dimensions;
  return {std::make_shared<FieldLevels>(field),
          {rand({4, dimensions}, rng)},
          {.input_names = {"positions"},
           .output_names = {"levels"},
           .metadata = {{"veldt.kind", field.options().is_sound() ? "sound_field" : "image_field"},
                        {"veldt.height", std::to_string(field.options().height)},
                        {"veldt.width", std::to_string(field.options().width)}}}};
}

ExportedNetwork recipe_to_export(const std::string& path) {
  recipe::Trained trained = recipe::load(path);
  compress::unlink_layers(trained.model);
  const recipe::ModelFacts& facts = trained.facts.model;
  Rng rng(1);
  const auto example = [&](const Shape& shape) {
    const Shape batch = shape.with_inserted(0, 2);
    return facts.dtype == DType::i64 ? randint(batch, rng, 0, trained.facts.tokenizer->size())
                                     : rand(batch, rng);
  };
  ExportedNetwork out;
  out.inputs = {example(facts.input)};
  if (facts.target.rank() > 0) {
    out.inputs.push_back(example(facts.target));
    out.options.input_names = {"source", "target"};
  }
  out.options.metadata = {{"veldt.kind", trained.recipe.kind},
                          {"veldt.recipe", in_json(trained.recipe)},
                          {"veldt.facts", in_json(trained.facts)}};
  if (trained.recipe.kind == "table")
    out.module = std::make_shared<TableNetwork>(std::move(trained));
  else
    out.module = std::make_shared<nn::Graph>(std::move(trained.model));
  return out;
}

// A network of models::save(): it takes pictures as its preprocessing leaves them.
ExportedNetwork known_to_export(const std::string& path) {
  models::Model model = models::load(path);
  const models::Preprocessing& p = model.preprocessing;
  Rng rng(1);
  ExportedNetwork out;
  out.inputs = {rand({2, std::ssize(p.mean), p.height, p.width}, rng)};
  out.options.metadata = io::read_safetensors_header(path).metadata;
  std::erase_if(out.options.metadata, [](const auto& entry) { return entry.first == "veldt.xxh3"; });
  out.module = std::move(model.network);
  return out;
}

ExportedNetwork network_to_export(const std::string& path) {
  const std::string file = recipe::model_file(path);
  if (is_packed(file))
    throw UsageError(fmt::format("cannot write {} as ONNX", file),
                     "it is a packed picture, most of which is no network",
                     "export it as a page (-o page.html), or fit it first");
  const FileKind kind = kind_of_file(file);
  if (kind != FileKind::safetensors)
    throw IoError(IoError::Kind::malformed, fmt::format("cannot export {}", file),
                  kind == FileKind::onnx ? std::string("it is an ONNX graph already")
                                         : io::seems_to_be(first_bytes(file)),
                  "give what veldt train, veldt fit or veldt import --as wrote; PyTorch's own networks are "
                  "exported in Python, by torch.onnx.export");
  const auto metadata = io::read_safetensors_header(file).metadata;
  if (!field::field_kind(metadata).empty()) return field_to_export(file);
  const auto told = metadata.find("kind");
  return told != metadata.end() && told->second == models::kModelKind ? known_to_export(file)
                                                                      : recipe_to_export(file);
}

int export_network(const ExportFlags& flags, Context& context) {
  if (!flags.output.ends_with(".onnx"))
    throw UsageError(
        fmt::format("cannot write {}", flags.output),
        fmt::format("networks are written as .onnx, quantised ones also as .h, and fields also as {}",
                    kPublishedEndings),
        io::is_picture_name(flags.output)
            ? fmt::format("a picture of a field is drawn by veldt render: veldt render {} -o {}", flags.model,
                          flags.output)
        : io::ending_of(flags.output).empty()
            ? fmt::format("write {}/ for tiles, or give it one of these endings", flags.output)
            : "give it one of these endings");
  check_output(flags.output, "--output", {flags.model}, context);
  ExportedNetwork network = network_to_export(flags.model);
  if (flags.batch > 0) {
    network.options.dynamic_batch = false;
    for (Tensor& input : network.inputs) {
      const Shape one = slice(input, 0, 0, 1).shape().without(0);
      input = contiguous(expand(slice(input, 0, 0, 1), one.with_inserted(0, flags.batch)));
    }
  }
  const onnx::Exported made =
      onnx::export_model(flags.output, *network.module, network.inputs, network.options);
  std::int64_t parameters = network.module->parameter_count();
  for (const compress::PlacedWeight& w : compress::weights_of(*network.module))
    if (w.part.weight->is_quantized()) parameters += numel(w.part.weight->shape());
  if (context.json)
    context.out.json({{"model", flags.model},
                      {"output", flags.output},
                      {"opset", onnx::kExportedOpset},
                      {"nodes", made.nodes},
                      {"parameters", parameters},
                      {"bytes", made.bytes},
                      {"batch", made.dynamic_batch ? nlohmann::json() : nlohmann::json(flags.batch)}});
  else
    context.out.text(fmt::format("wrote {}: {} nodes, {} parameters, {} bytes, opset {}, batches of {}\n",
                                 on_one_line(flags.output), made.nodes, parameters, made.bytes,
                                 onnx::kExportedOpset,
                                 made.dynamic_batch ? "any size" : std::to_string(flags.batch)));
  return kOk;
}

#else

int export_network(const ExportFlags&, Context&) { refuse_onnx(); }

#endif

}  // namespace

Run add_export(VerbOptions& verb, Context& context) {
  auto flags = std::make_shared<ExportFlags>();
  add_path(verb, "MODEL", flags->model,
           "what veldt train, veldt fit or veldt import --as wrote: a model file, or the folder of a run; or "
           "a packed "
           "picture (.vp)")
      .required();
  add_path(
      verb, "-o,--output", flags->output,
      "the file to write: .onnx; of a quantised network also .h (C++); of a field also .html (a page), .h, "
      ".glsl, .svg (two tones), or FOLDER/ (tiles)")
      .required();
  add_count(verb, "--batch", flags->batch, {.least = 1},
            "for batches of this size alone, not of any: for networks whose steps depend on it");
  add_size(verb, flags->size, "the fitted picture, of tiles");
  add_threads(verb, context);
  verb.examples(
      "  veldt export runs/mnist -o digits.onnx\n"
      "  veldt export cub.safetensors -o cub.onnx          positions in, colours out\n"
      "  veldt export cub.safetensors -o cub.html          a page that draws it in any browser, at any "
      "depth\n"
      "  veldt export photo.vp -o photo.html               a page little larger than the packed picture\n"
      "  veldt export bach.safetensors -o bach.html        one that plays\n"
      "  veldt export cub.safetensors -o cub.h             one C++17 header: float3 field(float x, float y)\n"
      "  veldt export cub.safetensors -o cub.svg           outlines of a drawing of two tones\n"
      "  veldt export photo.safetensors -o photo/ --size 2000    tiles of every scale, with a page\n"
      "  veldt export mnist_int8.safetensors -o digits.h   one C++11 header of a quantised network, for a "
      "microcontroller\n"
      "  veldt export resnet18.safetensors -o r.onnx       a network that veldt import --as made\n");
  return [flags, &context] {
    if (flags->batch > 0 && is_published(flags->output))
      throw UsageError("--batch does not fit this output", "batches are of ONNX", "leave it out");
    if (flags->output.ends_with(".h") && !holds_field(flags->model)) {
      if (!flags->size.sides.empty() || flags->size.scale)
        throw UsageError("a network has no size in pixels", "--size and --scale are of tiles",
                         "leave them out");
      return export_network_header(flags->model, flags->output, context);
    }
    return is_published(flags->output) ? publish_field(flags->model, flags->output, flags->size, context)
                                       : export_network(*flags, context);
  };
}

}  // namespace veldt::app
