// The file of a prior: safetensors with f16 weights under the module's names, and its options in the
// metadata.
#include <charconv>
#include <cmath>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/field/prior.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"

namespace veldt::field {
namespace {

constexpr const char* kKind = "veldt.prior";
constexpr std::int64_t kMeans = 1, kTwoTone = 2;  // versions of the format: the meaning of a pixel

IoError no_prior(const std::string& path, const std::string& why) {
  return {IoError::Kind::malformed, str(path, " is not a prior"), why, "give a file that train_prior wrote"};
}

std::int64_t number_of(const std::string& path, const io::SafeTensorsHeader& header, const char* name) {
  const auto found = header.metadata.find(name);
  if (found == header.metadata.end()) throw no_prior(path, str("its metadata has no ", name));
  const std::string& text = found->second;
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
    throw no_prior(path, str("its ", name, " is '", text, "', which is not a whole number"));
  return number;
}

// The checked header.
PriorOptions options_of(const std::string& path, const io::SafeTensorsHeader& header) {
  const auto kind = header.metadata.find("kind");
  if (kind == header.metadata.end() || kind->second != kKind)
    throw no_prior(path, str("its metadata does not say that its kind is ", kKind));
  if (const std::int64_t version = number_of(path, header, "format_version");
      version != kMeans && version != kTwoTone)
    throw IoError(
        IoError::Kind::corrupt, str("cannot read ", path),
        str("it has format version ", version, ", and this Veldt reads ", kMeans, " and ", kTwoTone),
        "use the Veldt that it was made for");
  const PriorOptions options = {number_of(path, header, "width"), number_of(path, header, "depth"),
                                number_of(path, header, "format_version") == kTwoTone};
  if (!options.possible())
    throw no_prior(path, str("it has a width of ", options.width, " and a depth of ", options.depth));
  return options;
}

void check_tensors(const std::string& path, const io::SafeTensorsHeader& header, const NamedTensors& wanted) {
  if (header.tensors.size() != wanted.size())
    throw no_prior(path,
                   str("it holds ", header.tensors.size(), " tensors, and its sizes need ", wanted.size()));
  for (const auto& [name, tensor] : wanted) {
    const io::TensorInfo* info = nullptr;
    for (const io::TensorInfo& each : header.tensors)
      if (each.name == name) info = &each;
    if (info == nullptr) throw no_prior(path, str("it holds no ", name));
    if (info->dtype != "F16" || Shape(info->shape) != tensor.shape())
      throw no_prior(path, str(name, " is ", info->dtype, ' ', Shape(info->shape), ", and should be F16 ",
                               tensor.shape()));
  }
}

bool finite(const Tensor& t) { return std::isfinite(max(abs(to(t, DType::f32))).item()); }

}  // namespace

void save_prior(const std::string& path, const Prior& prior, std::map<std::string, std::string> about) {
  NamedTensors halves;
  for (const auto& [name, tensor] : prior.state_dict()) {
    halves.push_back({name, to(tensor.detach(), DType::f16)});
    if (!finite(halves.back().tensor))
      throw Error(str("cannot write the prior ", path), str(name, " holds a number beyond what f16 has"),
                  "train it again, at a smaller rate");
  }
  about["kind"] = kKind;
  about["format_version"] = str(prior.options().two_tone ? kTwoTone : kMeans);
  about["width"] = str(prior.options().width);
  about["depth"] = str(prior.options().depth);
  io::write_safetensors(path, halves, about);
}

Prior load_prior(const std::string& path) {
  const io::SafeTensorsHeader header = io::read_safetensors_header(path);
  Rng rng(0);
  Prior prior(options_of(path, header), rng);
  check_tensors(path, header, prior.state_dict());
  const io::SafeTensors file = io::read_safetensors(path);
  for (const auto& [name, tensor] : file.tensors)
    if (!finite(tensor)) throw no_prior(path, str(name, " holds a number that is not finite"));
  prior.load_state_dict(file.tensors);
  prior.freeze();
  return prior;
}

}  // namespace veldt::field
