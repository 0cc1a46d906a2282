// Writes the steps of a network of integers as C++: their numbers, the loops that they need, and one call
// each.
#include "veldt/publish/network_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "veldt/core/error.h"
#include "veldt/io/digest.h"
#include "veldt/publish/header.h"
#include "veldt/publish/integer_network.h"
#include "veldt/publish/literals.h"

namespace veldt::publish {
namespace {

using Kind = IntegerStep::Kind;

constexpr const char* kCommon = R"(struct Window {
  int32_t channels, height, width, out_channels, out_height, out_width, kernel_height, kernel_width, stride_y,
      stride_x, pad_top, pad_left, dilation_y, dilation_x, groups;
};
struct Product {
  const int8_t* weight;
  const int32_t *bias, *multiplier;
  const uint8_t* shift;
  int32_t zero, out_zero;
  int64_t low, high;
};
inline int64_t bounded(int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; }
// v multiplier / 2^shift, rounded. Numbers below 0 keep their sign when shifted: C++20, and all compilers.
inline int64_t scaled(int64_t v, int64_t multiplier, uint8_t shift) {
  return shift == 0 ? v * multiplier : (v * multiplier + (static_cast<int64_t>(1) << (shift - 1))) >> shift;
}
template <class T> T result(int32_t sum, int32_t channel, const Product& p) {
  const int64_t v = scaled(sum, p.multiplier[channel], p.shift[channel]) + p.out_zero;
  return static_cast<T>(bounded(v, p.low, p.high));
}
)";

constexpr const char* kConvolution =
    R"(template <class T> void convolve(const Window& w, const Product& p, const uint8_t* in, T* out) {
  const int8_t* weight = p.weight;
  const int32_t plane = w.height * w.width, taps = w.kernel_height * w.kernel_width;
  for (int32_t o = 0; o < w.out_channels; ++o, weight += w.channels * taps) {
    const uint8_t* const from = in + o / (w.out_channels / w.groups) * w.channels * plane;
    for (int32_t y = 0; y < w.out_height; ++y)
      for (int32_t x = 0; x < w.out_width; ++x) {
        int32_t sum = p.bias[o];
        for (int32_t i = 0; i < w.kernel_height; ++i) {
          const int32_t row = y * w.stride_y - w.pad_top + i * w.dilation_y;
          if (row < 0 || row >= w.height) continue;
          for (int32_t j = 0; j < w.kernel_width; ++j) {
            const int32_t column = x * w.stride_x - w.pad_left + j * w.dilation_x;
            if (column < 0 || column >= w.width) continue;
            const uint8_t* byte = from + row * w.width + column;
            const int8_t* by = weight + i * w.kernel_width + j;
            for (int32_t c = 0; c < w.channels; ++c, byte += plane, by += taps)
              sum += (static_cast<int32_t>(*byte) - p.zero) * *by;
          }
        }
        *out++ = result<T>(sum, o, p);
      }
  }
}
)";

constexpr const char* kLinear = R"(// The zero point of the input is a part of the bias.
template <class T> void multiply(const Window& w, const Product& p, const uint8_t* in, T* out) {
  const int8_t* weight = p.weight;
  for (int32_t o = 0; o < w.out_channels; ++o, weight += w.channels) {
    int32_t sum = p.bias[o];
    for (int32_t i = 0; i < w.channels; ++i) sum += static_cast<int32_t>(in[i]) * weight[i];
    out[o] = result<T>(sum, o, p);
  }
}
)";

constexpr const char* kMaxPool = R"(template <class T> void max_pool(const Window& w, const T* in, T* out) {
  for (int32_t c = 0; c < w.channels; ++c, in += w.height * w.width)
    for (int32_t y = 0; y < w.out_height; ++y)
      for (int32_t x = 0; x < w.out_width; ++x) {
        bool is_first = true;
        T most = 0;
        for (int32_t i = 0; i < w.kernel_height; ++i)
          for (int32_t j = 0; j < w.kernel_width; ++j) {
            const int32_t row = y * w.stride_y - w.pad_top + i * w.dilation_y,
                          column = x * w.stride_x - w.pad_left + j * w.dilation_x;
            if (row < 0 || row >= w.height || column < 0 || column >= w.width) continue;
            const T v = in[row * w.width + column];
            if (is_first || v > most) most = v;
            is_first = false;
          }
        *out++ = most;
      }
}
)";

constexpr const char* kMeanPool = R"(// over_all: padding counts as zeros.
inline void mean_pool(const Window& w, bool over_all, const int32_t* in, int32_t* out) {
  for (int32_t c = 0; c < w.channels; ++c, in += w.height * w.width)
    for (int32_t y = 0; y < w.out_height; ++y)
      for (int32_t x = 0; x < w.out_width; ++x) {
        int64_t sum = 0;
        int32_t count = 0;
        for (int32_t i = 0; i < w.kernel_height; ++i)
          for (int32_t j = 0; j < w.kernel_width; ++j) {
            const int32_t row = y * w.stride_y - w.pad_top + i, column = x * w.stride_x - w.pad_left + j;
            if (row < 0 || row >= w.height || column < 0 || column >= w.width) continue;
            sum += in[row * w.width + column];
            ++count;
          }
        if (over_all) count = w.kernel_height * w.kernel_width;
        *out++ = static_cast<int32_t>((sum < 0 ? sum - count / 2 : sum + count / 2) / count);
      }
}
)";

constexpr const char* kSum =
    R"(inline void add(const int32_t* const* in, const uint8_t* shift, int32_t inputs, int32_t count,
                int64_t low, int64_t high, int32_t* out) {
  for (int32_t i = 0; i < count; ++i) {
    int64_t sum = 0;
    for (int32_t k = 0; k < inputs; ++k) sum += scaled(in[k][i], 1, shift[k]);
    out[i] = static_cast<int32_t>(bounded(sum, low, high));
  }
}
)";

constexpr const char* kBound =
    R"(template <class T> void bound(const T* in, int32_t count, int64_t low, int64_t high, T* out) {
  for (int32_t i = 0; i < count; ++i) out[i] = static_cast<T>(bounded(in[i], low, high));
}
)";

constexpr const char* kBytes =
    R"(inline void to_bytes(const int32_t* in, int32_t count, int32_t multiplier, uint8_t shift, int32_t zero,
                     uint8_t* out) {
  for (int32_t i = 0; i < count; ++i)
    out[i] = static_cast<uint8_t>(bounded(scaled(in[i], multiplier, shift) + zero, 0, 255));
}
)";

// Of a text from a file, for a comment of one line: what could end it, or begin something else, is left out.
std::string plain(const std::string& text, std::size_t most = 60) {
  std::string out;
  for (const char c : text.substr(0, most)) out += c >= ' ' && c <= '~' && c != '\\' && c != '?' ? c : '_';
  return out;
}

// Any bytes as a literal; ? would begin a trigraph.
std::string literal(const std::string& text) {
  std::string out = "\"";
  for (const char c : text.substr(0, 200)) {
    if (c >= ' ' && c <= '~' && c != '\\' && c != '?' && c != '"')
      out += c;
    else
      out += fmt::format("\\{:03o}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return out + '"';
}

std::string finite_literal(double x) {
  if (!std::isfinite(static_cast<float>(x)))
    throw ConfigError("a header cannot be written", str("one of its scales would be ", x),
                      "give data whose columns vary, and quantize the network again");
  return float_literal(static_cast<float>(x));
}

template <class T> std::string listed(const std::vector<T>& numbers) {
  std::string text, line;
  for (const T number : numbers) {
    const std::string next = fmt::format("{},", static_cast<std::int64_t>(number));
    if (line.size() + next.size() > 100) text += "\n    " + line, line.clear();
    line += next;
  }
  return text + "\n    " + line;
}

std::string in_words(const Shape& shape) {
  std::string text;
  for (const std::int64_t size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

// -2^31 is no literal of its type.
std::string number(std::int64_t x) { return fmt::format("INT64_C({})", x); }

// How code names a value's place.
std::string place_of(const IntegerValue& v) {
  return v.is_bytes ? fmt::format("detail::bytes(arena, {})", v.offset)
                    : fmt::format("arena.words + {}", v.offset / 4);
}

std::string beginning(const IntegerNetwork& n, const NetworkHeaderOptions& o, const std::string& name) {
  const IntegerValue &input = n.values[0], &output = n.values[n.output];
  std::string scores;
  for (const auto& [score, value] : o.scores) scores += fmt::format("//   {} {:.6g}\n", plain(score), value);
  return fmt::format(
      "// {0}: a network of integers, by veldt export. C++11, freestanding: no heap, no library but "
      "<stdint.h>.\n"
      "//   static {1}::Arena arena;             // {2} bytes of memory\n"
      "//   float levels[{1}::kInputs], results[{1}::kOutputs];\n"
      "//   {1}::run(levels, results, arena);   // or bytes alone: fill input(arena), run(arena), read "
      "output(arena)\n"
      "// Input: {3}, row after row{4}: {5}.\n"
      "// Output: {6}. {7} bytes of constants, {8} multiplications a call.\n{9}"
      "#ifndef VELDT_NETWORK_{1}\n#define VELDT_NETWORK_{1}\n\n#include <stdint.h>\n\n"
      "namespace {1} {{\n\n"
      "constexpr int32_t kInputs = {10}, kChannels = {11}, kOutputs = {12};\n"
      "// A number of the output stands for so much of what the network was trained to give.\n"
      "constexpr float kOutputScale = {13}, kOutputShift = {14};\n\n"
      "// All that is between input and output. Input and output lie in it too: a call overwrites its "
      "input.\n"
      "struct Arena {{\n  int32_t words[{15}];\n}};\n\n",
      plain(o.title), name, n.arena, in_words(input.shape),
      input.shape.rank() > 1 ? ", one plane for each channel" : "", plain(o.level_words, 1000),
      in_words(output.shape), n.constants, n.multiplies,
      scores.empty() ? "" : "// Scores of the network that this was made of:\n" + scores, input.numel(),
      input.shape[0], output.numel(), finite_literal(output.scale * o.output_gain),
      finite_literal(o.output_offset), n.arena / 4);
}

std::string ending(const IntegerNetwork& n, const NetworkHeaderOptions& o, const std::string& name) {
  const IntegerValue& input = n.values[0];
  std::string text;
  const std::int64_t plane = input.numel() / input.shape[0];
  text += fmt::format(
      "// Where the input's {0} bytes go, and where the output is after a call.\n"
      "inline uint8_t* input(Arena& arena) {{ return {1}; }}\n"
      "inline const int32_t* output(Arena& arena) {{ return {2}; }}\n\n"
      "// The byte of a level.\n"
      "inline uint8_t input_byte(float level, int32_t channel) {{\n"
      "  const float byte = detail::All::gain[channel] * level + detail::All::offset[channel];\n"
      "  return byte > 0.0f ? byte < 255.0f ? static_cast<uint8_t>(byte + 0.5f) : 255 : 0;\n"
      "}}\n\n"
      "// From the levels input[kInputs] to the results output[kOutputs].\n"
      "inline void run(const float* levels, float* results, Arena& arena) {{\n"
      "  uint8_t* const bytes = input(arena);\n"
      "  for (int32_t i = 0; i < kInputs; ++i) bytes[i] = input_byte(levels[i], i / {3});\n"
      "  run(arena);\n"
      "  const int32_t* const numbers = output(arena);\n"
      "  for (int32_t i = 0; i < kOutputs; ++i)\n"
      "    results[i] = kOutputScale * static_cast<float>(numbers[i]) + kOutputShift;\n"
      "}}\n\n",
      input.numel(), place_of(input), place_of(n.values[n.output]), plane);
  if (!o.classes.empty()) {
    std::string names;
    for (const std::string& one : o.classes) names += (names.empty() ? "" : ",\n      ") + literal(one);
    text += fmt::format(
        "// The class that a call found: the place of the largest number, and its name, in UTF-8.\n"
        "inline int32_t found_class(Arena& arena) {{\n"
        "  const int32_t* const numbers = output(arena);\n"
        "  int32_t best = 0;\n"
        "  for (int32_t i = 1; i < kOutputs; ++i)\n"
        "    if (numbers[i] > numbers[best]) best = i;\n"
        "  return best;\n"
        "}}\n"
        "inline const char* name_of(int32_t found) {{\n"
        "  static const char* const names[] = {{\n      {}}};\n"
        "  return names[found];\n"
        "}}\n\n",
        names);
  }
  text += fmt::format("}}  // namespace {}\n\n#endif\n", name);
  return text;
}

class NetworkHeaderWriter {
 public:
  NetworkHeaderWriter(const IntegerNetwork& network, const NetworkHeaderOptions& options)
      : n_(network), o_(options), name_(cpp_name(options.title, "net")) {}

  std::string text() {
    text_ = beginning(n_, o_, name_);
    loops();
    tables();
    run();
    text_ += ending(n_, o_, name_);
    // Two networks of one name in one program are an error of the compiler, and not one network.
    const std::string guard = "VELDT_NETWORK_" + name_, digest = io::digest_of(text_.data(), text_.size());
    for (std::size_t at = 0, i = 0; i < 2; ++i) {
      at = text_.find(guard, at) + guard.size();
      text_.insert(at, "_" + digest);
    }
    return text_;
  }

 private:
  const IntegerValue& input() const { return n_.values[0]; }
  std::int64_t channels() const { return input().shape[0]; }

  void loops() {
    std::set<Kind> used;
    for (const IntegerStep& s : n_.steps) used.insert(s.kind);
    text_ += "namespace detail {\n";
    text_ += kCommon;
    for (const auto& [kind, code] : {std::pair(Kind::convolution, kConvolution),
                                     {Kind::linear, kLinear},
                                     {Kind::max_pool, kMaxPool},
                                     {Kind::mean_pool, kMeanPool},
                                     {Kind::sum, kSum},
                                     {Kind::bound, kBound},
                                     {Kind::bytes, kBytes}})
      if (used.contains(kind)) text_ += code;
  }

  // Members of a template are one object in a program, however many files include them; C++17 has inline for
  // it.
  void table(const std::string& type, const std::string& name, const std::string& value, bool is_list) {
    declared_ += fmt::format("  static const {} {}{};\n", type, name, is_list ? "[]" : "");
    defined_ += fmt::format("template <class T> const {0} Tables<T>::{1}{2} = {{{3}}};\n", type, name,
                            is_list ? "[]" : "", value);
  }

  void tables() {
    for (std::size_t i = 0; i < n_.steps.size(); ++i) {
      const IntegerStep& s = n_.steps[i];
      const IntegerValue& to = n_.values[s.to];
      const IntegerWindow& w = s.window;
      if (s.kind != Kind::bound && s.kind != Kind::sum && s.kind != Kind::bytes)
        table(
            "Window", fmt::format("window{}", i),
            fmt::format("{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}", w.channels, w.height,
                        w.width, w.out_channels, w.out_height, w.out_width, w.kernel_height, w.kernel_width,
                        w.stride_y, w.stride_x, w.pad_top, w.pad_left, w.dilation_y, w.dilation_x, w.groups),
            false);
      if (s.kind == Kind::sum) table("uint8_t", fmt::format("shift{}", i), listed(s.shift), true);
      if (s.kind != Kind::convolution && s.kind != Kind::linear) continue;
      table("int8_t", fmt::format("weight{}", i), listed(s.weight), true);
      table("int32_t", fmt::format("bias{}", i), listed(s.bias), true);
      table("int32_t", fmt::format("multiplier{}", i), listed(s.multiplier), true);
      table("uint8_t", fmt::format("shift{}", i), listed(s.shift), true);
      table("Product", fmt::format("product{}", i),
            fmt::format("weight{0}, bias{0}, multiplier{0}, shift{0}, {1}, {2}, {3}, {4}", i,
                        n_.values[s.from[0]].zero, to.zero, number(s.low), number(s.high)),
            false);
    }
    table("float", "gain", floats(o_.gain, true), true);
    table("float", "offset", floats(o_.offset, false), true);
    text_ += "template <class T> struct Tables {\n" + declared_ + "};\n" + defined_ +
             "typedef Tables<void> All;\n";
    text_ +=
        "inline uint8_t* bytes(Arena& arena, int32_t at) { return reinterpret_cast<uint8_t*>(arena.words) + "
        "at; }\n"
        "}  // namespace detail\n\n";
  }

  // From levels to bytes: (gain level + offset) / scale + zero.
  std::string floats(const std::vector<double>& given, bool is_gain) const {
    std::string text;
    for (std::int64_t c = 0; c < channels(); ++c) {
      const double x = given[given.size() == 1 ? 0 : static_cast<std::size_t>(c)] / input().scale;
      text += (c == 0 ? "" : c % 8 == 0 ? ",\n    " : ", ") + finite_literal(is_gain ? x : x + input().zero);
    }
    return text;
  }

  std::string place(std::size_t value) const { return place_of(n_.values[value]); }

  void run() {
    text_ +=
        "// Calls the network: the bytes of input(arena) become the numbers of output(arena).\n"
        "inline void run(Arena& arena) {\n";
    for (std::size_t i = 0; i < n_.steps.size(); ++i) {
      const IntegerStep& s = n_.steps[i];
      const std::string from = place(s.from[0]), to = place(s.to);
      const std::int64_t count = n_.values[s.to].numel();
      text_ += fmt::format("  // {}: {}\n", plain(s.layer), in_words(n_.values[s.to].shape));
      switch (s.kind) {
        case Kind::convolution:
        case Kind::linear:
          text_ += fmt::format("  detail::{1}(detail::All::window{0}, detail::All::product{0}, {2}, {3});\n",
                               i, s.kind == Kind::linear ? "multiply" : "convolve", from, to);
          break;
        case Kind::max_pool:
          text_ += fmt::format("  detail::max_pool(detail::All::window{}, {}, {});\n", i, from, to);
          break;
        case Kind::mean_pool:
          text_ +=
              fmt::format("  detail::mean_pool(detail::All::window{}, {}, {}, {});\n", i, s.whole, from, to);
          break;
        case Kind::sum: {
          std::string all;
          for (const std::size_t f : s.from) all += (all.empty() ? "" : ", ") + place(f);
          text_ += fmt::format(
              "  const int32_t* const inputs{0}[] = {{{1}}};\n"
              "  detail::add(inputs{0}, detail::All::shift{0}, {2}, {3}, {4}, {5}, {6});\n",
              i, all, s.from.size(), count, number(s.low), number(s.high), to);
          break;
        }
        case Kind::bound:
          text_ += fmt::format("  detail::bound({}, {}, {}, {}, {});\n", from, count, number(s.low),
                               number(s.high), to);
          break;
        case Kind::bytes:
          text_ += fmt::format("  detail::to_bytes({}, {}, {}, {}, {}, {});\n", from, count, s.multiplier[0],
                               s.shift[0], n_.values[s.to].zero, to);
          break;
      }
    }
    text_ += "}\n\n";
  }

  const IntegerNetwork& n_;
  const NetworkHeaderOptions& o_;
  std::string name_, text_, declared_, defined_;
};

}  // namespace

NetworkHeader network_header(const nn::Module& network, const Shape& input,
                             const NetworkHeaderOptions& options) {
  if (input.rank() < 1 || input.rank() > 3 || numel(input) < 1)
    throw ConfigError("a header cannot be written",
                      str("an input of ", input, " is neither a list nor planes"),
                      "give the shape of one example, [channels, height, width] or [numbers]");
  const IntegerNetwork made = integer_network(network, input);
  const auto one_or = [](std::size_t count, std::int64_t all) {
    return count == 1 || static_cast<std::int64_t>(count) == all;
  };
  const std::int64_t outputs = made.values[made.output].numel();
  if (!one_or(options.gain.size(), input[0]) || !one_or(options.offset.size(), input[0]) ||
      (!options.classes.empty() && std::ssize(options.classes) != outputs))
    throw ConfigError("a header cannot be written",
                      str("the network has ", input[0], " channels and ", outputs, " outputs"),
                      "give a gain and an offset for each channel, and a name for each output");
  return {NetworkHeaderWriter(made, options).text(), made.arena, made.constants, made.multiplies};
}

}  // namespace veldt::publish
