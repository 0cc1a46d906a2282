// Checks the options of a field, writes them as JSON and reads them back.
#include "veldt/field/options.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/field/enum_names.h"
#include "veldt/io/json.h"

namespace veldt::field {
namespace {

using nlohmann::json;

constexpr auto kActivations = names_of<Activation>("siren", "finer", "tanh", "relu", "gauss", "wire");
constexpr auto kModels =
    names_of<Model>("siren", "finer", "tanh", "relu", "gauss", "wire", "fourier", "hashgrid");
constexpr const char* kEncodings[] = {"identity", "frequency", "fourier", "grid"};  // as in EncodingOptions
constexpr auto kHeads = names_of<Head>("clamp", "sigmoid", "ink", "plain");
constexpr auto kCoordinates = names_of<Coordinates>("centres", "corners");
constexpr std::int64_t kMaxUnits = 65536;
constexpr std::size_t kMaxLayers = 64, kMaxEncodings = 8;
constexpr std::int64_t kMaxParameters = std::int64_t{1} << 30;
constexpr std::int64_t kMaxSoundChannels = 64;
constexpr std::int64_t kMaxFrames = std::int64_t{1} << 23;  // 3 minutes at 44.1 kHz

IoError bad_options(const std::string& why) {
  return IoError(IoError::Kind::malformed, "cannot use the options of this field", why,
                 "the file is damaged, or was not written by Veldt");
}

bool holds(const json& value, bool) { return value.is_boolean(); }
bool holds(const json& value, double) { return value.is_number(); }
bool holds(const json& value, int) { return io::whole_number<int>(value).has_value(); }
bool is_whole(const json& value) { return io::whole_number<std::int64_t>(value).has_value(); }
bool holds(const json& value, std::int64_t) { return is_whole(value); }
bool holds(const json& value, const std::string&) { return value.is_string(); }
bool holds(const json& value, const std::vector<std::int64_t>&) {
  return value.is_array() && std::all_of(value.begin(), value.end(), is_whole);
}

bool holds(const json& value, const std::vector<std::vector<double>>&) {
  const auto is_number = [](const json& v) { return v.is_number(); };
  return value.is_array() && std::all_of(value.begin(), value.end(), [&](const json& inner) {
           return inner.is_array() && std::all_of(inner.begin(), inner.end(), is_number);
         });
}

template <class T> T need(const json& from, const char* key) {
  const auto at = from.find(key);
  if (at == from.end()) throw bad_options(str("the key '", key, "' is missing"));
  if (!holds(*at, T())) throw bad_options(str("the key '", key, "' has the wrong type"));
  return at->get<T>();
}

template <class Enum, std::size_t n>
Enum need_enum(const json& from, const char* key, const EnumNames<Enum, n>& names) {
  const auto name = need<std::string>(from, key);
  if (const auto found = names.find(name)) return *found;
  throw bad_options(str("'", name, "' is no known ", key));
}

json to_json(const EncodingOptions& encoding) {
  json out{{"kind", kEncodings[encoding.index()]}};
  if (const auto* frequency = std::get_if<FrequencyOptions>(&encoding)) {
    out["octaves"] = frequency->octaves;
  } else if (const auto* fourier = std::get_if<FourierOptions>(&encoding)) {
    out["frequencies"] = fourier->frequencies;
    out["sigma"] = fourier->sigma;
  } else if (const auto* grid = std::get_if<GridOptions>(&encoding)) {
    out["levels"] = grid->levels;
    out["features"] = grid->features;
    out["log2_entries"] = grid->log2_entries;
    out["coarsest"] = grid->coarsest;
    out["finest"] = grid->finest;
    out["smooth"] = grid->smooth;
  }
  return out;
}

EncodingOptions encoding_from(const json& from, int dimensions) {
  if (!from.is_object()) throw bad_options("an encoding is not a JSON object");
  const auto kind = need<std::string>(from, "kind");
  if (kind == kEncodings[0]) return IdentityOptions{};
  if (kind == kEncodings[1]) return FrequencyOptions{need<int>(from, "octaves")};
  if (kind == kEncodings[2])
    return FourierOptions{need<std::int64_t>(from, "frequencies"), need<double>(from, "sigma")};
  if (kind == kEncodings[3])
    return GridOptions{.dims = dimensions,
                       .levels = need<int>(from, "levels"),
                       .features = need<int>(from, "features"),
                       .log2_entries = need<int>(from, "log2_entries"),
                       .coarsest = need<std::int64_t>(from, "coarsest"),
                       .finest = need<std::int64_t>(from, "finest"),
                       .smooth = need<bool>(from, "smooth")};
  throw bad_options(str("'", kind, "' is not a known encoding"));
}

// Files of pictures do not have these keys.
void read_dimensions(const json& from, FieldOptions& o) {
  if (!from.contains("dimensions")) return;
  o.dimensions = need<int>(from, "dimensions");
  if (o.is_clip()) {
    o.frames = need<std::int64_t>(from, "frames");
    o.seconds = need<double>(from, "seconds");
    o.time_scale = need<double>(from, "time_scale");
    return;
  }
  o.rate = need<std::int64_t>(from, "rate");
  o.peak = need<double>(from, "peak");
}

// The keys that are missing in files of earlier versions.
void read_newer_keys(const json& from, FieldOptions& o) {
  if (o.activation == Activation::wire) o.scale = need<double>(from, "scale");
  if (from.contains("closing")) o.closing = need<int>(from, "closing");
  if (from.contains("bits")) o.bits = need<int>(from, "bits");
  if (from.contains("squares")) o.squares = need<bool>(from, "squares");
  if (from.contains("period")) o.period = need<std::int64_t>(from, "period");
  if (from.contains("tones")) o.tones = need<std::vector<std::vector<double>>>(from, "tones");
  const auto encodings = from.find("encodings");
  if (encodings == from.end()) return;
  if (!encodings->is_array() || encodings->size() > kMaxEncodings)
    throw bad_options(str("the key 'encodings' must be a list of at most ", kMaxEncodings));
  for (const json& encoding : *encodings) o.encodings.push_back(encoding_from(encoding, o.dimensions));
}

}  // namespace

std::string_view name_of(Activation a) { return kActivations[a]; }
std::string_view name_of(Head h) { return kHeads[h]; }
std::string_view name_of(Coordinates c) { return kCoordinates[c]; }

std::string_view name_of(Model m) { return kModels[m]; }

Model model_from(std::string_view name) { return kModels.at(name, "model"); }
std::vector<std::string> model_names() { return kModels.in_a_list(); }

std::optional<Activation> activation_of(Model model) { return kActivations.find(name_of(model)); }

Model model_of(const FieldOptions& o) {
  for (const EncodingOptions& encoding : o.encodings) {
    if (std::holds_alternative<GridOptions>(encoding)) return Model::hashgrid;
    if (std::holds_alternative<FourierOptions>(encoding)) return Model::fourier;
  }
  return model_from(name_of(o.activation));
}

bool takes_omega(const FieldOptions& o) {
  if (o.activation == Activation::tanh) return o.coordinates != Coordinates::corners;
  return o.activation != Activation::relu;
}

std::string to_json(const FieldOptions& o) {
  json out = {{"activation", name_of(o.activation)},
              {"widths", o.widths},
              {"channels", o.channels},
              {"first_omega", o.first_omega},
              {"omega", o.omega},
              {"bias", o.bias},
              {"constant_input", o.constant_input},
              {"head", name_of(o.head)},
              {"coordinates", name_of(o.coordinates)},
              {"width", o.width},
              {"height", o.height},
              {"footprint", o.footprint},
              {"two_tone", o.two_tone}};
  if (o.is_sound()) out.update({{"dimensions", o.dimensions}, {"rate", o.rate}, {"peak", o.peak}});
  if (o.is_clip())
    out.update({{"dimensions", o.dimensions},
                {"frames", o.frames},
                {"seconds", o.seconds},
                {"time_scale", o.time_scale}});
  // Left out if they have their defaults, as in files from before these keys existed.
  if (o.activation == Activation::wire) out["scale"] = o.scale;
  if (o.closing > 0) out["closing"] = o.closing;
  if (o.bits != 8) out["bits"] = o.bits;
  if (o.squares) out["squares"] = true;
  if (o.period != 1) out["period"] = o.period;
  if (!o.tones.empty()) out["tones"] = o.tones;
  if (!o.encodings.empty()) out["encodings"] = json::array();
  for (const EncodingOptions& encoding : o.encodings) out["encodings"].push_back(to_json(encoding));
  return io::dump_json(out);
}

FieldOptions field_options_from_json(std::string_view text) {
  const json from = io::parse_json<json>(text);
  if (!from.is_object()) throw bad_options("they are not a JSON object");
  FieldOptions o;
  o.activation = need_enum(from, "activation", kActivations);
  o.widths = need<std::vector<std::int64_t>>(from, "widths");
  o.channels = need<std::int64_t>(from, "channels");
  o.first_omega = need<double>(from, "first_omega");
  o.omega = need<double>(from, "omega");
  o.bias = need<bool>(from, "bias");
  o.constant_input = need<bool>(from, "constant_input");
  o.head = need_enum(from, "head", kHeads);
  o.coordinates = need_enum(from, "coordinates", kCoordinates);
  o.width = need<std::int64_t>(from, "width");
  o.height = need<std::int64_t>(from, "height");
  o.footprint = need<int>(from, "footprint");
  o.two_tone = need<bool>(from, "two_tone");
  read_dimensions(from, o);
  read_newer_keys(from, o);
  try {
    check(o);
  } catch (const ConfigError& e) {
    throw bad_options(e.summary() + ": " + e.why());
  }
  return o;
}

namespace {

void check_picture(const FieldOptions& o) {
  if (o.dimensions != 2 && !o.is_clip())
    throw ConfigError(str("a position cannot have ", o.dimensions, " dimensions"),
                      "there are 1 in a sound, 2 in a picture and 3 in a clip", "use one of these");
  if (o.channels < 1 || o.channels > 4)
    throw ConfigError(str("a picture cannot have ", o.channels, " channels"), "there are 1 to 4",
                      "use a grey or RGB picture, with or without alpha");
  if (o.width < 1 || o.height < 1 || o.width > (1 << 30) || o.height > (1 << 30))
    throw ConfigError(str("a picture cannot be ", o.width, "x", o.height), "both sides must be 1 or more",
                      "give the size of the fitted picture");
  if (o.head == Head::plain)
    throw ConfigError("a picture cannot have the head plain", "its levels have bounds", "use the head clamp");
  if (o.closing > 0 && (o.head != Head::clamp || o.two_tone))
    throw ConfigError("this field cannot have a closing", "it needs the head clamp, and no two tones",
                      "leave it out");
  if (o.closing > 0 && static_cast<double>(o.width) * static_cast<double>(o.height) > 0x1p36)
    throw ConfigError(str("a picture of ", o.width, "x", o.height, " cannot have a closing"),
                      "no file holds that many numbers", "leave it out");
  if (o.bits != 8 && o.bits != 16)
    throw ConfigError(str("a level cannot have ", o.bits, " bits"), "it has 8 or 16", "leave it out");
  if (o.squares &&
      (o.coordinates != Coordinates::centres || o.footprint != 1 || o.two_tone || !o.tones.empty()))
    throw ConfigError("this field cannot be of squares",
                      "a square is drawn from its centre, and has neither a footprint nor tones",
                      "leave it out");
  if (o.period != 1 && (!o.squares || o.period < 1 || o.width % o.period != 0 || o.height % o.period != 0))
    throw ConfigError(
        str("a picture of ", o.width, "x", o.height, " cannot be of squares of ", o.period, " pixels"),
        "only pixel art consists of squares, and their size must divide both sides", "leave the period out");
  const auto is_tone = [&](const std::vector<double>& tone) {
    return std::ssize(tone) == o.channels &&
           std::all_of(tone.begin(), tone.end(), [](double level) { return level >= 0 && level <= 1; });
  };
  if (!o.tones.empty() && (o.tones.size() != 2 || !std::all_of(o.tones.begin(), o.tones.end(), is_tone)))
    throw ConfigError("this field cannot have these tones",
                      str("there are two, of ", o.channels, " levels from 0 to 1 each"), "leave them out");
}

void check_clip(const FieldOptions& o) {
  if (o.frames < 1 || o.frames > kMaxFrames)
    throw ConfigError(str("a clip cannot have ", o.frames, " frames"), str("there are 1 to ", kMaxFrames),
                      "fit a part of it");
  if (!(o.seconds > 0 && o.seconds <= 1e9))
    throw ConfigError(str("a clip cannot last ", o.seconds, " seconds"),
                      "its time is above 0 and at most 1000000000",
                      "give the time that its frames are shown");
  if (!(o.time_scale > 0 && o.time_scale <= 1))
    throw ConfigError(str("the time scale cannot be ", o.time_scale), "it is above 0 and at most 1",
                      "leave it out");
  if (o.head == Head::ink || o.coordinates != Coordinates::centres || o.footprint != 1 || o.two_tone ||
      o.closing != 0 || o.squares || o.bits != 8 || !o.tones.empty())
    throw ConfigError("a clip has no footprint, closing, squares, bits or tones of a picture",
                      "these are of one picture", "leave these options out");
}

void check_sound(const FieldOptions& o) {
  if (o.channels < 1 || o.channels > kMaxSoundChannels)
    throw ConfigError(str("a sound cannot have ", o.channels, " channels"),
                      str("there are 1 to ", kMaxSoundChannels), "fit its channels one by one");
  if (o.width != 1 || o.height < 1 || o.height > kMaxFrames)
    throw ConfigError(str("cannot fit a sound of ", o.height, " frames"),
                      str("positions are 32-bit numbers, which distinguish at most ", kMaxFrames, " frames"),
                      "cut the sound into parts, or convert it to a lower rate");
  if (o.rate < 1 || o.rate > (1 << 30))
    throw ConfigError(str("a sound cannot have ", o.rate, " frames a second"), "there is 1 or more",
                      "give the rate that it was recorded with");
  if (!std::isfinite(o.peak) || o.peak < 0)
    throw ConfigError(str("a sound cannot have a peak of ", o.peak), "it is 0 or more",
                      "give the largest sample");
  if (o.head != Head::plain || o.coordinates != Coordinates::centres || o.footprint != 1 || o.two_tone ||
      o.squares || o.period != 1 || o.bits != 8 || !o.tones.empty())
    throw ConfigError("a sound has no head, coordinates, footprint, squares, bits or tones of a picture",
                      str("its head is ", name_of(o.head)), "leave these options out");
}

void check_encodings(const FieldOptions& o) {
  if (o.encodings.size() > kMaxEncodings)
    throw ConfigError(str("a field cannot have ", o.encodings.size(), " encodings"),
                      str("at most ", kMaxEncodings, " make sense"), "use one or two");
  if (!o.encodings.empty() && o.constant_input)
    throw ConfigError("a constant input cannot be encoded", "encodings only apply to coordinates",
                      "use a model without encodings, or biases in place of the constant input");
  for (const EncodingOptions& encoding : o.encodings) check(encoding, o.inputs());
}

}  // namespace

void check(const FieldOptions& o) {
  if (o.closing < 0 || o.closing > 2)
    throw ConfigError(str("a closing cannot have ", o.closing, " numbers a sample"), "it has one or two",
                      "leave it out");
  if (o.widths.size() > kMaxLayers)
    throw ConfigError(str("a field cannot have ", o.widths.size(), " hidden layers"),
                      str("at most ", kMaxLayers, " make sense"), "use a smaller --depth");
  if (o.widths.empty() && o.encodings.empty())
    throw ConfigError("a field needs a hidden layer", "none was given, and no encoding either",
                      "use a --depth of 1 or more");
  for (std::int64_t w : o.widths)
    if (w < 1 || w > kMaxUnits)
      throw ConfigError(str("a hidden layer cannot have ", w, " units"),
                        str("sizes go from 1 to ", kMaxUnits), "use a --width such as 128");
  if (o.is_sound())
    check_sound(o);
  else
    check_picture(o);
  if (o.is_clip()) check_clip(o);
  check_encodings(o);
  if (!(o.scale > 0 && o.scale <= 1e6))
    throw ConfigError(str("the scale cannot be ", o.scale), "it must be above 0 and at most 1000000",
                      "use 1 to 30");
  for (double w : {o.first_omega, o.omega})
    if (!std::isfinite(w) || w <= 0 || w > 1e6)
      throw ConfigError(str("omega cannot be ", w), "it must be above 0 and at most 1000000",
                        "use 30 to 120");
  if (o.footprint < 1 || o.footprint > 16)
    throw ConfigError(str("a pixel cannot be sampled ", o.footprint, " times a side"), "1 to 16 make sense",
                      "use 1, 2 or 3");
  if (parameter_count(o) > kMaxParameters)
    throw ConfigError(str("a field cannot have ", parameter_count(o), " parameters"),
                      str("at most ", kMaxParameters, " fit"), "use a smaller --width or --depth");
}

std::vector<std::int64_t> layer_sizes(const FieldOptions& o) {
  std::int64_t in = o.encodings.empty() ? o.inputs() : 0;
  for (const EncodingOptions& encoding : o.encodings) in += features_of(encoding, o.inputs());
  std::vector<std::int64_t> sizes = {in};
  sizes.insert(sizes.end(), o.widths.begin(), o.widths.end());
  sizes.push_back(o.channels);
  return sizes;
}

std::int64_t parameter_count(const FieldOptions& o) {
  std::int64_t total = 0;
  for (const EncodingOptions& encoding : o.encodings) total += trained_by(encoding, o.inputs());
  const std::vector<std::int64_t> sizes = layer_sizes(o);
  for (std::size_t i = 1; i < sizes.size(); ++i) total += sizes[i] * (sizes[i - 1] + (o.bias ? 1 : 0));
  return total;
}

std::int64_t stored_count(const FieldOptions& o) {
  std::int64_t total = parameter_count(o);
  for (const EncodingOptions& encoding : o.encodings)
    total += stored_by(encoding, o.inputs()) - trained_by(encoding, o.inputs());
  total += o.closing * o.columns() * o.rows() * o.channels;
  return total;
}

}  // namespace veldt::field
