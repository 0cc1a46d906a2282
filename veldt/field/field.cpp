// Writes a field with its options into a safetensors file, and reads such a file as untrusted input.
#include "veldt/field/field.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "veldt/core/error.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

constexpr const char* kKinds[] = {"veldt.image_field", "veldt.sound_field"};
constexpr int kFormatVersion = 4;
constexpr const char* kClosing = "closing";
constexpr std::uint64_t kInitStream = 1;  // the seed's random stream for weights

// The first version that supports all features of the field.
int version_of(const FieldOptions& o, const Closing& closing) {
  if (o.is_clip()) return 4;
  if (o.squares || !o.tones.empty() || o.bits != 8 || closing.has_flats()) return 3;
  return o.closing > 0 ? 2 : 1;
}

Field fresh(const FieldOptions& options) { return Field(options, 0); }

IoError malformed(const std::string& path, const std::string& why) {
  return IoError(IoError::Kind::malformed, str(path, " is not a field"), why,
                 "give a file that veldt fit wrote");
}

void check_version(const std::string& path, const std::string& text) {
  int version = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), version);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size() || version < 1)
    throw malformed(path, str("its format version is '", text, "'"));
  if (version > kFormatVersion)
    throw IoError(
        IoError::Kind::corrupt, str("cannot read ", path),
        str("it has format version ", version, ", and this Veldt reads versions up to ", kFormatVersion),
        "use a newer Veldt");
}

const Tensor& finite_tensor(const NamedTensors& tensors, const std::string& name, const Shape& shape,
                            DType dtype, const std::string& path) {
  const auto found =
      std::find_if(tensors.begin(), tensors.end(), [&](const NamedTensor& t) { return t.name == name; });
  if (found == tensors.end()) throw malformed(path, str("the tensor ", name, " is missing"));
  const Tensor& tensor = found->tensor;
  if (tensor.shape() != shape || tensor.dtype() != dtype)
    throw malformed(path, str("the tensor ", name, " is ", tensor.dtype(), ' ', tensor.shape(), " where ",
                              dtype, ' ', shape, " belongs"));
  for (const float value : to(tensor, DType::f32).values<float>())
    if (!std::isfinite(value))
      throw IoError(IoError::Kind::corrupt, str(path, " is damaged"),
                    str("the tensor ", name, " holds ", value), "fit it again, or take an older copy");
  return tensor;
}

}  // namespace

std::string field_kind(const std::map<std::string, std::string>& metadata) {
  const auto found = metadata.find("kind");
  for (const std::string kind : kKinds)
    if (found != metadata.end() && found->second == kind) return kind.substr(kind.find('.') + 1);
  return {};
}

Field::Field(const FieldOptions& options, std::uint64_t seed)
    : options_(options), network_([&] {
        check(options);
        Rng rng(seed, kInitStream);
        return Network(options, rng);
      }()) {}

Device Field::device() const { return network_.named_parameters().front().tensor.device(); }
void Field::to(Device device) { network_.to(device); }

void Field::set_closing(const Closing& closing) {
  closing_ = closing;
  options_.closing = closing.numbers();
}

std::int64_t Field::parameter_count() const { return field::parameter_count(options_); }

NamedTensors Field::tensors() const {
  NamedTensors out;
  for (const auto& [name, tensor] : network_.state_dict()) out.push_back({name, tensor.detach()});
  if (closing_) out.push_back({kClosing, closing_.coefficients()});
  return out;
}

std::map<std::string, std::string> Field::metadata() const {
  std::map<std::string, std::string> out = {{"kind", kKinds[options_.is_sound() ? 1 : 0]},
                                            {"format_version", str(version_of(options_, closing_))},
                                            {"options", to_json(options_)}};
  if (!training_.empty()) out["training"] = training_;
  return out;
}

Field Field::from_tensors(const NamedTensors& tensors, const std::map<std::string, std::string>& metadata,
                          const std::string& path) {
  if (field_kind(metadata).empty()) {
    // Other files that Veldt writes: trained networks, known ones, priors.
    if (const auto kind = metadata.find("kind"); kind != metadata.end() && kind->second.starts_with("veldt."))
      throw IoError(IoError::Kind::malformed, str(path, " is not a field"),
                    "it holds a network of another kind, which draws no picture",
                    "give a file that veldt fit wrote; veldt predict and veldt eval use other networks");
    throw malformed(path, "its metadata does not say so");
  }
  const auto version = metadata.find("format_version"), options = metadata.find("options");
  if (version == metadata.end() || options == metadata.end())
    throw malformed(path, "its metadata lacks the format version or the options");
  check_version(path, version->second);
  const FieldOptions parsed = field_options_from_json(options->second);
  if (metadata.at("kind") != kKinds[parsed.is_sound() ? 1 : 0])
    throw malformed(path, str("its kind is ", metadata.at("kind"), " and its options are not"));
  // Sizes from a file are untrusted: the file must hold the numbers that the options require before memory is
  // allocated.
  std::int64_t stored = 0;
  for (const NamedTensor& t : tensors) stored += t.tensor.numel();
  if (stored != stored_count(parsed))
    throw malformed(path, str("its options need ", stored_count(parsed), " numbers, and it holds ", stored));
  Field out = fresh(parsed);
  NoGrad off;
  for (auto& [name, parameter] : out.network_.state_dict()) {
    Tensor to = parameter;
    to.assign(finite_tensor(tensors, name, parameter.shape(), parameter.dtype(), path));
  }
  if (parsed.closing > 0)
    out.closing_ = Closing(finite_tensor(tensors, kClosing,
                                         {parsed.closing, parsed.rows(), parsed.columns(), parsed.channels},
                                         parsed.bits > 8 ? DType::f32 : DType::f16, path));
  if (const auto training = metadata.find("training"); training != metadata.end())
    out.training_ = training->second;
  return out;
}

void Field::save(const std::string& path) const { io::write_safetensors(path, tensors(), metadata()); }

Field Field::load(const std::string& path) {
  const io::SafeTensors file = io::read_safetensors(path);
  return from_tensors(file.tensors, file.metadata, path);
}

}  // namespace veldt::field
