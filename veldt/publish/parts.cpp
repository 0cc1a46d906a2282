// Takes a field apart, and puts it together again.
#include "veldt/publish/parts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/field/coordinates.h"
#include "veldt/ops/grid_encoding.h"
#include "veldt/ops/shape.h"

namespace veldt::publish {
namespace {

std::vector<float> floats(const Tensor& tensor) {
  return to(contiguous(to(tensor, Device{})), DType::f32).values<float>();
}

const Tensor* find(const NamedTensors& tensors, const std::string& name) {
  const auto at = std::find_if(tensors.begin(), tensors.end(), [&](const auto& t) { return t.name == name; });
  return at == tensors.end() ? nullptr : &at->tensor;
}

}  // namespace

std::int64_t Parts::numbers() const {
  std::size_t sum = closing.size();
  for (const EncodingPart& e : encodings) sum += e.numbers.size();
  for (const Dense& l : layers) sum += l.weight.size() + l.bias.size();
  return static_cast<std::int64_t>(sum);
}

namespace {

void must_not_move(const field::Field& field) {
  if (field.options().is_clip())
    throw ConfigError("an animated picture cannot be published as code, a page or tiles",
                      "those draw fields of x and y, and this is one of x, y and time",
                      "draw it with veldt render -o x.apng, or one moment of it with --at");
}

}  // namespace

Parts parts_of(const field::Field& field) {
  must_not_move(field);
  Parts out;
  out.options = field.options();
  const field::CoordinateMap map(out.options);
  out.x_scale = map.x_scale();
  out.x_shift = map.x_shift();
  out.y_scale = map.y_scale();
  out.y_shift = map.y_shift();
  const NamedTensors tensors = field.tensors();
  for (std::size_t i = 0; i < out.options.encodings.size(); ++i) {
    EncodingPart part{.options = out.options.encodings[i], .numbers = {}};
    const std::string name = "encoding.parts." + std::to_string(i);
    if (const auto* grid = std::get_if<GridOptions>(&part.options)) {
      GridOptions options = *grid;
      options.dims = out.options.inputs();
      part.grid = grid_layout(options);
    }
    for (const char* kind : {".table", ".frequencies"})
      if (const Tensor* numbers = find(tensors, name + kind)) part.numbers = floats(*numbers);
    out.encodings.push_back(std::move(part));
  }
  for (std::size_t i = 0; i <= out.options.widths.size(); ++i) {
    const std::string name = "layers." + std::to_string(i);
    const Tensor* weight = find(tensors, name + ".weight");
    Dense layer{weight->size(1), weight->size(0), floats(*weight), {}};
    if (const Tensor* bias = find(tensors, name + ".bias")) layer.bias = floats(*bias);
    out.layers.push_back(std::move(layer));
  }
  if (field.closing()) out.closing = floats(field.closing().coefficients());
  return out;
}

field::Field field_of(const Parts& parts) {
  const field::FieldOptions& o = parts.options;
  field::Field field(o, 0);
  for (const auto& [name, tensor] : field.network().state_dict()) {
    std::vector<float> values;
    const std::size_t at =
        static_cast<std::size_t>(std::stoul(name.substr(name.find_first_of("0123456789"))));
    if (name.starts_with("encoding"))
      values = parts.encodings[at].numbers;
    else
      values = name.ends_with("weight") ? parts.layers[at].weight : parts.layers[at].bias;
    Tensor target = tensor.detach();
    target.assign(Tensor::from<float>(target.shape(), values));
  }
  if (!parts.closing.empty())
    field.set_closing(
        field::Closing(Tensor::from<float>({o.closing, o.rows(), o.columns(), o.channels}, parts.closing)));
  return field;
}

void must_be_picture(const field::Field& field, const char* what) {
  must_not_move(field);
  if (field.options().is_sound())
    throw ConfigError(str("a sound cannot be written as ", what), "the field was fitted to a sound",
                      "write a page, whose name ends in .html: it plays the sound");
}

}  // namespace veldt::publish
