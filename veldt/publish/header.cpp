// Writes a field's numbers and the loops that use them as C++.
#include "veldt/publish/header.h"

#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <functional>
#include <string_view>

#include "veldt/publish/literals.h"
#include "veldt/publish/parts.h"

namespace veldt::publish {
namespace {

// Up to here numbers are readable ones in arrays.
constexpr std::int64_t kMostReadable = 20000;
// Characters of a literal, of which compilers promise to take 65,536, and zeros in a row that end one.
constexpr std::size_t kLiteral = 6 * 2000, kZeros = 64;

std::string readable(const std::string& name, const std::vector<float>& numbers) {
  std::string text = fmt::format("inline constexpr float {}[] = {{", name);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += (i % 8 == 0 ? "\n    " : " ") + float_literal(numbers[i]) + ",";
  return text + "};\n";
}

// Six letters a number, the lowest bits first; without most of the zeros.
std::string encoded(const std::string& name, const std::vector<float>& numbers) {
  std::string parts;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t zeros = 0;
    while (i + zeros < numbers.size() && std::bit_cast<std::uint32_t>(numbers[i + zeros]) == 0) ++zeros;
    if (zeros >= kZeros || (zeros > 0 && i + zeros == numbers.size())) {
      i += zeros;
      continue;
    }
    std::string letters;
    const std::size_t first = i;
    for (std::size_t still = 0; i < numbers.size() && letters.size() < kLiteral && still < kZeros; ++i) {
      std::uint32_t word = std::bit_cast<std::uint32_t>(numbers[i]);
      still = word == 0 ? still + 1 : 0;
      for (int k = 0; k < 6; ++k, word >>= 6) letters += static_cast<char>('0' + (word & 63));
    }
    // A backslash would begin an escape, ?? a trigraph: 'p' and 'q' come after 'o', the last of the 64
    // letters from '0' on.
    for (char& c : letters) c = c == '\\' ? 'p' : c == '?' ? 'q' : c;
    parts += fmt::format("    {{{}, {},\n     \"{}\"}},\n", first, i - first, letters);
  }
  if (parts.empty()) parts = "    {0, 0, \"\"},\n";
  return fmt::format(
      "inline constexpr Part {0}_parts[] = {{\n{1}}};\n"
      "inline const float* {0}_numbers() {{\n"
      "  static const Numbers<{2}> numbers({0}_parts, sizeof {0}_parts / sizeof {0}_parts[0]);\n"
      "  return numbers.at;\n"
      "}}\n",
      name, parts, numbers.size());
}

constexpr const char* kDecoder =
    R"(// Numbers as text: f32, six letters each, the lowest bits first. What no part has is 0.
struct Part {
  std::uint32_t first, count;
  const char* letters;
};
template <std::uint32_t size> struct Numbers {
  float at[size] = {};
  Numbers(const Part* parts, std::size_t count) {
    static_assert(sizeof(float) == 4, "a float of 32 bits");
    for (std::size_t i = 0; i < count; ++i) {
      const char* letter = parts[i].letters;
      for (std::uint32_t k = 0; k < parts[i].count; ++k) {
        std::uint32_t word = 0;
        for (int bits = 0; bits < 36; bits += 6, ++letter) {
          const int code = *letter == 'p' ? '\\' : *letter == 'q' ? '?' : *letter;
          const auto value = static_cast<std::uint32_t>(code - '0');
          if (bits < 32) word |= value << bits;
        }
        std::memcpy(&at[parts[i].first + k], &word, 4);
      }
    }
  }
};
)";

constexpr const char* kDense = R"(template <int in, int out, class Activation>
void dense(const float* from, const float* weight, const float* bias, float* to, Activation activation) {
  for (int o = 0; o < out; ++o) {
    float sum = bias ? bias[o] : 0.0f;
    for (int i = 0; i < in; ++i) sum += weight[o * in + i] * from[i];
    to[o] = activation(sum);
  }
}
)";

constexpr const char* kGrid =
    R"(// One level of a grid: the numbers of the four vertices around u, v (0..1), interpolated.
template <int features, bool smooth>
void grid(float u, float v, std::int32_t cells, std::uint32_t step, bool hashed, std::uint32_t mask,
          const float* table, float* to) {
  const auto axis = [cells](float at, std::uint32_t& cell, float& t) {
    const float scaled = (at > 0.0f ? (at < 1.0f ? at : 1.0f) : 0.0f) * static_cast<float>(cells);
    const float below = std::fmin(std::floor(scaled), static_cast<float>(cells - 1));
    cell = static_cast<std::uint32_t>(below);
    t = scaled - below;
    if (smooth) t = t * t * (3.0f - 2.0f * t);
  };
  std::uint32_t a = 0, b = 0;
  float s = 0, t = 0;
  axis(u, a, s);
  axis(v, b, t);
  const float shares[4] = {(1 - s) * (1 - t), s * (1 - t), (1 - s) * t, s * t};
  for (int f = 0; f < features; ++f) to[f] = 0;
  for (std::uint32_t k = 0; k < 4; ++k) {
    const std::uint32_t i = a + (k & 1u), j = (b + (k >> 1)) * step;
    const float* from = table + features * (hashed ? (i ^ j) & mask : i + j);
    for (int f = 0; f < features; ++f) to[f] += shares[k] * from[f];
  }
}
)";

constexpr const char* kClosing =
    R"(// Corrects levels at a place in pixels: cubic convolution (Keys 1981) between numbers of the pixels, a
// number for the whole pixel, or the level of flat ground.
inline void close(float* level, double px, double py) {
  struct Taps {
    Taps(double at, int n) {
      const double first = std::floor(at - 0.5), t = at - 0.5 - first, u = 1 - t;
      weight[0] = static_cast<float>(-0.5 * t * u * u);
      weight[1] = static_cast<float>(1 - t * t * (2.5 - 1.5 * t));
      weight[2] = static_cast<float>(1 - u * u * (2.5 - 1.5 * u));
      weight[3] = static_cast<float>(-0.5 * u * t * t);
      for (int i = 0; i < 4; ++i) index[i] = within(static_cast<int>(first) - 1 + i, n);
      own = within(static_cast<int>(std::floor(at)), n);
    }
    static int within(int i, int n) { return i < 0 ? 0 : i < n ? i : n - 1; }
    float weight[4];
    int index[4], own;
  };
  const Taps across(px, kColumns), down(py, kRows);
  const float* numbers = CLOSING;
  for (int c = 0; c < kChannels; ++c) {
    float own = 0;
    if (kClosing > 1) own = numbers[((kRows + down.own) * kColumns + across.own) * kChannels + c];
    if (own < -12) {
      level[c] = clamped(own / -16.0f - 1.0f);
      continue;
    }
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 4; ++x)
        own += down.weight[y] * across.weight[x] *
               numbers[(down.index[y] * kColumns + across.index[x]) * kChannels + c];
    level[c] = clamped(level[c] + own);
  }
}
)";

// The lines that make `features` of the coordinates cx and cy. use(i): how code names encoding i's numbers.
std::string feature_lines(const Parts& parts, const std::function<std::string(std::size_t)>& use) {
  std::string text;
  std::int64_t next = 0;
  const auto put = [&](const std::string& value) {
    text += fmt::format("  features[{}] = {};\n", next++, value);
  };
  if (parts.encodings.empty()) {
    put("cx");
    put("cy");
    if (parts.options.constant_input) put("1.0f");
  }
  for (std::size_t i = 0; i < parts.encodings.size(); ++i) {
    const EncodingPart& e = parts.encodings[i];
    if (e.grid.levels > 0) {
      for (int l = 0; l < e.grid.levels; ++l) {
        const GridLayout::Level& level = e.grid.level[static_cast<std::size_t>(l)];
        text += fmt::format(
            "  grid<{}, {}>(cx * 0.5f + 0.5f, cy * 0.5f + 0.5f, {}, {}u, {}, {}u, {} + {}, features + "
            "{});\n",
            e.grid.features, e.grid.smooth, level.cells, level.step_along(1), level.hashed,
            static_cast<std::uint32_t>(e.grid.entries_of(l)) - 1, use(i), level.first * e.grid.features,
            next);
        next += e.grid.features;
      }
    } else if (const auto* waves = std::get_if<field::FrequencyOptions>(&e.options)) {
      for (const char* wave : {"sin", "cos"})
        for (int k = 0; k < waves->octaves; ++k)
          for (const char* c : {"cx", "cy"})
            put(fmt::format(
                "std::{}({} * {})", wave,
                float_literal(static_cast<float>(3.14159265358979324 * static_cast<double>(1 << k))), c));
    } else if (const auto* fourier = std::get_if<field::FourierOptions>(&e.options)) {
      text += fmt::format(
          "  for (int i = 0; i < {0}; ++i) {{\n"
          "    const float z = 6.28318531f * ({1}[2 * i] * cx + {1}[2 * i + 1] * cy);\n"
          "    features[{2} + i] = std::sin(z);\n    features[{3} + i] = std::cos(z);\n  }}\n",
          fourier->frequencies, use(i), next, next + fourier->frequencies);
      next += 2 * fourier->frequencies;
    } else {
      put("cx");
      put("cy");
    }
  }
  return text;
}

class HeaderWriter {
 public:
  HeaderWriter(const field::Field& field, const std::string& name)
      : parts_(parts_of(field)),
        o_(parts_.options),
        name_(name),
        is_readable_(parts_.numbers() <= kMostReadable) {}

  std::string text() {
    begin();
    for (std::size_t i = 0; i < parts_.encodings.size(); ++i)
      if (!parts_.encodings[i].numbers.empty()) numbers(str_of("encoding", i), parts_.encodings[i].numbers);
    for (std::size_t i = 0; i < parts_.layers.size(); ++i) {
      numbers(str_of("weight", i), parts_.layers[i].weight);
      if (!parts_.layers[i].bias.empty()) numbers(str_of("bias", i), parts_.layers[i].bias);
    }
    if (!parts_.closing.empty()) numbers("closing", parts_.closing);
    text_ += kDense;
    bool has_grid = false;
    for (const EncodingPart& e : parts_.encodings) has_grid |= e.grid.levels > 0;
    if (has_grid) text_ += kGrid;
    text_ += "inline float clamped(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }\n";
    if (!parts_.closing.empty()) {
      std::string closing = kClosing;
      closing.replace(closing.find("CLOSING"), 7, use("closing"));
      text_ += closing;
    }
    network();
    text_ += "}  // namespace detail\n\n";
    functions();
    return text_;
  }

 private:
  static std::string str_of(const char* what, std::size_t i) { return what + std::to_string(i); }
  // How code names an array.
  std::string use(const std::string& array) const { return is_readable_ ? array : array + "_numbers()"; }
  void numbers(const std::string& array, const std::vector<float>& values) {
    text_ += is_readable_ ? readable(array, values) : encoded(array, values);
  }

  void begin() {
    text_ = fmt::format(
        "// A neural field of {0} x {1} pixels, {2} numbers, by veldt export. C++17, no dependencies.\n"
        "//   {3}::float3 colour = {3}::field(x, y);   // x, y: 0, 0 top left to 1, 1; levels 0 to 1, greys "
        "repeated\n"
        "#ifndef VELDT_FIELD_{3}\n#define VELDT_FIELD_{3}\n\n"
        "#include <cmath>\n#include <cstdint>\n{4}\n"
        "namespace {3} {{\n\n"
        "struct float3 {{\n  float x, y, z;\n}};\n\n"
        "constexpr int kWidth = {0}, kHeight = {1}, kChannels = {5};\n\n"
        "namespace detail {{\n"
        "constexpr int kColumns = {6}, kRows = {7};\n",
        o_.width, o_.height, parts_.numbers(), name_,
        is_readable_ ? "" : "#include <cstddef>\n#include <cstring>\n", o_.channels, o_.columns(), o_.rows());
    if (!parts_.closing.empty()) text_ += fmt::format("constexpr int kClosing = {};\n", o_.closing);
    if (!is_readable_) text_ += kDecoder;
  }

  std::string activation(double omega) const {
    const std::string w = float_literal(static_cast<float>(omega)),
                      s = float_literal(static_cast<float>(o_.scale));
    switch (o_.activation) {
      case field::Activation::siren: return fmt::format("std::sin({} * z)", w);
      case field::Activation::finer: return fmt::format("std::sin({} * (std::fabs(z) + 1.0f) * z)", w);
      case field::Activation::relu: return "z > 0.0f ? z : 0.0f";
      case field::Activation::tanh: return "std::tanh(z)";
      case field::Activation::gauss: return fmt::format("std::exp(-({0} * z) * ({0} * z))", w);
      case field::Activation::wire:
        return fmt::format("std::cos({0} * z) * std::exp(-({1} * z) * ({1} * z))", w, s);
    }
    return "z";
  }

  void network() {
    text_ += fmt::format("inline void network(float cx, float cy, float* out) {{\n  float features[{}];\n",
                         parts_.layers[0].in);
    text_ += feature_lines(parts_, [this](std::size_t i) { return use(str_of("encoding", i)); });
    std::string from = "features";
    for (std::size_t i = 0; i < parts_.layers.size(); ++i) {
      const Dense& l = parts_.layers[i];
      const bool is_last = i + 1 == parts_.layers.size();
      const std::string to = is_last ? "out" : str_of("layer", i);
      if (!is_last) text_ += fmt::format("  float {}[{}];\n", to, l.out);
      text_ +=
          fmt::format("  dense<{}, {}>({}, {}, {}, {}, [](float z) {{ return {}; }});\n", l.in, l.out, from,
                      use(str_of("weight", i)), l.bias.empty() ? "nullptr" : use(str_of("bias", i)), to,
                      is_last ? "z" : activation(i == 0 ? o_.first_omega : o_.omega));
      from = to;
    }
    text_ += "}\n";
  }

  std::string head() const {
    switch (o_.head) {
      case field::Head::clamp: return "detail::clamped(out[c] * 0.5f + 0.5f)";
      case field::Head::sigmoid: return "1.0f / (1.0f + std::exp(-out[c]))";
      case field::Head::ink: return "1.0f - 1.0f / (1.0f + std::exp(-out[c]))";
      case field::Head::plain: break;
    }
    return "out[c]";
  }

  void functions() {
    text_ +=
        "// The levels at a point, of all kChannels: grey, grey and alpha, RGB, or RGB and alpha.\n"
        "inline void levels(float x, float y, float* out) {\n"
        "  double px = static_cast<double>(x) * detail::kColumns, py = static_cast<double>(y) * "
        "detail::kRows;\n";
    if (o_.squares)
      text_ +=
          "  // All over a square the level is that of its middle.\n"
          "  px = std::fmin(std::fmax(std::floor(px), 0), detail::kColumns - 1) + 0.5;\n"
          "  py = std::fmin(std::fmax(std::floor(py), 0), detail::kRows - 1) + 0.5;\n";
    text_ += fmt::format(
        "  detail::network(static_cast<float>({:.17g} * px + {:.17g}), static_cast<float>({:.17g} * py + "
        "{:.17g}), out);\n"
        "  for (int c = 0; c < kChannels; ++c) out[c] = {};\n{}}}\n\n",
        parts_.x_scale / static_cast<double>(o_.columns()), parts_.x_shift,
        parts_.y_scale / static_cast<double>(o_.rows()), parts_.y_shift, head(),
        parts_.closing.empty() ? "" : "  detail::close(out, px, py);\n");
    const bool is_grey = o_.channels < 3;
    text_ += fmt::format(
        "// The colour at a point, without alpha.\n"
        "inline float3 field(float x, float y) {{\n"
        "  float out[kChannels];\n"
        "  levels(x, y, out);\n"
        "  return {{out[0], out[{}], out[{}]}};\n"
        "}}\n\n}}  // namespace {}\n\n#endif\n",
        is_grey ? 0 : 1, is_grey ? 0 : 2, name_);
  }

  Parts parts_;
  const field::FieldOptions& o_;
  std::string name_, text_;
  bool is_readable_;
};

}  // namespace

std::string cpp_name(const std::string& text, const std::string& ending) {
  std::string out;
  for (const char c : text) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  // Keywords, and names that <cmath> declares (exp, y0), stop to be such by the ending.
  if (!out.ends_with(ending)) out += "_" + ending;
  if (std::isdigit(static_cast<unsigned char>(out[0]))) out = ending + "_" + out;
  // Names that begin with an underscore, or have two, belong to the compiler.
  for (std::size_t at; (at = out.find("__")) != std::string::npos;) out.erase(at, 1);
  return out[0] == '_' ? ending + out : out;
}

std::string header(const field::Field& field, const std::string& name) {
  must_be_picture(field, "a header");
  return HeaderWriter(field, cpp_name(name)).text();
}

}  // namespace veldt::publish
