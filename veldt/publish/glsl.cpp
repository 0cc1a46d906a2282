// Writes a field's network and its closing as functions in GLSL.
#include "veldt/publish/glsl.h"

#include <fmt/format.h>

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/core/escape.h"
#include "veldt/publish/literals.h"

namespace veldt::publish {
namespace {

std::int64_t fours(std::int64_t n) { return (n + 3) / 4; }

int offset_of_layer(const Parts& parts, std::size_t layer) {
  std::int64_t at = 0;
  for (const EncodingPart& e : parts.encodings)
    if (const auto* fourier = std::get_if<field::FourierOptions>(&e.options)) at += fourier->frequencies;
  for (std::size_t i = 0; i < layer; ++i) {
    const Dense& l = parts.layers[i];
    at += fours(l.out) * (1 + 4 * fours(l.in));
  }
  return static_cast<int>(at);
}

// What follows for f32: sin(x + shift pi) by Cody and Waite's reduction (1980) and an odd polynomial of
// degree 11. The sine of a GPU may be off by 2^-11 beyond 2 pi already.
constexpr const char* kWave = R"(vec4 wave(vec4 x, float shift) {
  vec4 k = floor(x * 0.318309886 + shift + 0.5), h = k - shift;
  vec4 r = ((x - h * kTurn.x) - h * kTurn.y) - h * kTurn.z, s = r * r;
  vec4 y = r + r * s * (-0.16666667 + s * (0.0083333310 + s * (-0.00019840874 +
    s * (2.7525562e-6 - s * 2.3889859e-8))));
  return y * (1.0 - 4.0 * fract(k * 0.5));
}
)";

std::string activation(const Parts& parts, const char* name, double omega) {
  const std::string w = decimal(omega);
  std::string body;
  switch (parts.options.activation) {
    case field::Activation::siren: body = fmt::format("return wave({} * z, 0.0);", w); break;
    case field::Activation::finer: body = fmt::format("return wave({} * (abs(z) + 1.0) * z, 0.0);", w); break;
    case field::Activation::relu: body = "return max(z, 0.0);"; break;
    case field::Activation::tanh:
      body = "vec4 e = exp(-2.0 * abs(z)); return sign(z) * (1.0 - e) / (1.0 + e);";
      break;
    case field::Activation::gauss: body = fmt::format("vec4 s = {} * z; return exp(-s * s);", w); break;
    case field::Activation::wire:
      body = fmt::format("vec4 s = {} * z; return wave({} * z, 0.5) * exp(-s * s);",
                         decimal(parts.options.scale), w);
      break;
  }
  return fmt::format("vec4 {}(vec4 z) {{ {} }}\n", name, body);
}

// A level's features at u of 0..1, four from 4 `group` on; see docs/formats.md.
std::string grid_function(bool smooth, int index, int vectors) {
  return fmt::format(
      R"(vec4 grid{0}(vec2 u, int cells, int first, uint step, bool hashed, uint mask, int group) {{
  vec2 at = clamp(u, 0.0, 1.0) * float(cells), cell = min(floor(at), float(cells - 1)), t = at - cell;
  {1}
  uint a = uint(cell.x), b = uint(cell.y) * step;
  uvec4 e = hashed ? uvec4(a ^ b, (a + 1u) ^ b, a ^ (b + step), (a + 1u) ^ (b + step)) & mask
                   : uvec4(a + b, a + 1u + b, a + b + step, a + 1u + b + step);
  ivec4 i = (first + ivec4(e)) * {2} + group;
  return mix(mix(T(i.x), T(i.y), t.x), mix(T(i.z), T(i.w), t.x), t.y);
}}
)",
      index, smooth ? "t = t * t * (3.0 - 2.0 * t);" : "", vectors);
}

// Puts the features of the coordinates into a[0].x, a[0].y ..
class Features {
 public:
  explicit Features(const Parts& parts) : parts_(parts) {}

  std::string text() {
    if (parts_.encodings.empty()) {
      add("c.x");
      add("c.y");
      if (parts_.options.constant_input) add("1.0");
    }
    std::int64_t entries = 0, frequencies = 0;
    for (std::size_t i = 0; i < parts_.encodings.size(); ++i) {
      const EncodingPart& e = parts_.encodings[i];
      if (e.grid.levels > 0) {
        add_grid(e, static_cast<int>(i), entries);
        entries += e.grid.entries();
      } else if (const auto* waves = std::get_if<field::FrequencyOptions>(&e.options)) {
        add_octaves(waves->octaves, i);
      } else if (const auto* fourier = std::get_if<field::FourierOptions>(&e.options)) {
        add_fourier(fourier->frequencies, frequencies);
        frequencies += fourier->frequencies;
      } else {
        add("c.x");
        add("c.y");
      }
    }
    while (next_ % 4 != 0) add("0.0");
    return text_;
  }

 private:
  void add(const std::string& expression) {
    text_ += fmt::format("  a[{}][{}] = {};\n", next_ / 4, next_ % 4, expression);
    ++next_;
  }
  void add_grid(const EncodingPart& e, int index, std::int64_t entries) {
    const int vectors = table_vectors(parts_);
    for (int l = 0; l < e.grid.levels; ++l) {
      const GridLayout::Level& level = e.grid.level[static_cast<std::size_t>(l)];
      for (int group = 0; group < (e.grid.features + 3) / 4; ++group) {
        const std::string name = fmt::format("g{}_{}_{}", index, l, group);
        text_ += fmt::format("  vec4 {} = grid{}(c * 0.5 + 0.5, {}, {}, {}u, {}, {}u, {});\n", name, index,
                             level.cells, entries + level.first, level.step_along(1), level.hashed,
                             static_cast<std::uint32_t>(e.grid.entries_of(l)) - 1, vectors > 1 ? group : 0);
        for (int f = 4 * group; f < std::min(e.grid.features, 4 * group + 4); ++f)
          add(fmt::format("{}[{}]", name, f % 4));
      }
    }
  }
  void add_octaves(int octaves, std::size_t index) {
    for (const char* shift : {"0.0", "0.5"})
      for (int k = 0; k < octaves; ++k) {
        const std::string name = fmt::format("o{}_{}_{}", index, shift[2], k);
        text_ += fmt::format("  vec4 {} = wave(vec4(c, c) * {}, {});\n", name,
                             decimal(3.14159265358979324 * static_cast<double>(1 << k)), shift);
        add(name + ".x");
        add(name + ".y");
      }
  }
  void add_fourier(std::int64_t count, std::int64_t first) {
    for (const char* shift : {"0.0", "0.5"}) {
      text_ += fmt::format(
          "  for (int i = 0; i < {}; ++i) {{\n"
          "    int k = {} + i;\n"
          "    a[k >> 2][k & 3] = wave(vec4(6.28318531 * dot(W({} + i).xy, c)), {}).x;\n"
          "  }}\n",
          count, next_, first, shift);
      next_ += count;
    }
  }

  const Parts& parts_;
  std::int64_t next_ = 0;
  std::string text_;
};

// Layer l from a[] into b[], the next one back.
std::string layer_loop(const Parts& parts, std::size_t l) {
  const Dense& layer = parts.layers[l];
  const std::int64_t in = fours(layer.in), out = fours(layer.out), bias = offset_of_layer(parts, l);
  const char from = l % 2 == 0 ? 'a' : 'b', to = l % 2 == 0 ? 'b' : 'a';
  return fmt::format(
      "  for (int o = 0; o < {0}; ++o) {{\n"
      "    vec4 s = W({1} + o);\n"
      "    int w = {2} + o * {3};\n"
      "    for (int j = 0; j < {4}; ++j, w += 4) s += M(w) * {5}[j];\n"
      "    {6}[o] = {7}(s);\n"
      "  }}\n",
      out, bias, bias + out, 4 * in, in, from, to,
      l + 1 == parts.layers.size() ? ""
      : l == 0                     ? "first"
                                   : "other");
}

// Loops, and not a line for each product: SwiftShader runs them five times faster, and drivers unroll what
// they like to.
std::string network(const Parts& parts) {
  std::int64_t widest = 1;
  for (const Dense& l : parts.layers) widest = std::max({widest, fours(l.in), fours(l.out)});
  std::string text = "#define M(i) mat4(W(i), W(i + 1), W(i + 2), W(i + 3))\n";
  text += fmt::format("vec4 network(vec2 c) {{\n  vec4 a[{0}], b[{0}];\n", widest);
  text += Features(parts).text();
  for (std::size_t l = 0; l < parts.layers.size(); ++l) text += layer_loop(parts, l);
  return text + fmt::format("  return {}[0];\n}}\n", parts.layers.size() % 2 == 1 ? 'b' : 'a');
}

// Cubic convolution between the pixels' numbers, the number of the whole pixel, flat ground: docs/formats.md.
std::string closing(const Parts& parts) {
  const field::FieldOptions& o = parts.options;
  const bool has_second = o.closing > 1;
  return fmt::format(R"(vec4 taps(float t) {{
  float u = 1.0 - t;
  return vec4(-0.5 * t * u * u, 1.0 - t * t * (2.5 - 1.5 * t),
              1.0 - u * u * (2.5 - 1.5 * u), -0.5 * u * t * t);
}}
vec4 closed(vec4 level, vec2 place) {{
  ivec2 size = ivec2({0}, {1});
  vec2 first = floor(place - 0.5), t = place - 0.5 - first;
  vec4 across = taps(t.x), down = taps(t.y), sum = vec4(0.0);
  for (int y = 0; y < 4; ++y) {{
    int row = clamp(int(first.y) - 1 + y, 0, size.y - 1) * size.x;
    for (int x = 0; x < 4; ++x)
      sum += across[x] * down[y] * C(row + clamp(int(first.x) - 1 + x, 0, size.x - 1));
  }}
{2}  return clamp(level + sum, 0.0, 1.0);
}}
)",
                     o.columns(), o.rows(),
                     !has_second ? "" : R"(  ivec2 pixel = clamp(ivec2(floor(place)), ivec2(0), size - 1);
  vec4 own = C(size.x * size.y + pixel.y * size.x + pixel.x);
  bvec4 flat_ground = lessThan(own, vec4(-12.0));
  sum += mix(own, vec4(0.0), flat_ground);
  level = mix(level, -own / 16.0 - 1.0, flat_ground);
  sum = mix(sum, vec4(0.0), flat_ground);
)");
}

const char* head_in_glsl(field::Head head) {
  switch (head) {
    case field::Head::clamp: return "clamp(y * 0.5 + 0.5, 0.0, 1.0)";
    case field::Head::sigmoid: return "1.0 / (1.0 + exp(-y))";
    case field::Head::ink: return "1.0 - 1.0 / (1.0 + exp(-y))";
    case field::Head::plain: break;
  }
  return "y";
}

// const vec4 NAME[] = ..
std::string array(const std::string& name, const std::vector<float>& numbers) {
  const std::size_t count = std::max<std::size_t>(1, numbers.size() / 4);
  std::string text = fmt::format("const vec4 {0}[{1}] = vec4[{1}](", name, count);
  for (std::size_t i = 0; i < count; ++i) {
    text += i == 0 ? "\n" : i % 2 == 0 ? ",\n" : ", ";
    text += "vec4(";
    for (std::size_t k = 0; k < 4; ++k)
      text += fmt::format("{}{}", k > 0 ? "," : "",
                          decimal(4 * i + k < numbers.size() ? numbers[4 * i + k] : 0.0));
    text += ")";
  }
  return text + ");\n";
}

// Rows of `from` numbers as rows of `to`, 0 behind.
std::vector<float> widened(const std::vector<float>& numbers, std::size_t from, std::size_t to) {
  std::vector<float> out;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    out.push_back(numbers[i]);
    if ((i + 1) % from == 0) out.insert(out.end(), to - from, 0.0f);
  }
  return out;
}

}  // namespace

int table_vectors(const Parts& parts) {
  int most = 1;
  for (const EncodingPart& e : parts.encodings) most = std::max(most, (e.grid.features + 3) / 4);
  return most;
}

std::vector<float> glsl_weights(const Parts& parts) {
  std::vector<float> out;
  for (const EncodingPart& e : parts.encodings)
    if (std::holds_alternative<field::FourierOptions>(e.options)) {
      const std::vector<float> rows = widened(e.numbers, static_cast<std::size_t>(parts.options.inputs()), 4);
      out.insert(out.end(), rows.begin(), rows.end());
    }
  for (const Dense& l : parts.layers) {
    for (std::int64_t o = 0; o < 4 * fours(l.out); ++o)
      out.push_back(o < std::ssize(l.bias) ? l.bias[static_cast<std::size_t>(o)] : 0.0f);
    for (std::int64_t o = 0; o < fours(l.out); ++o)
      for (std::int64_t column = 0; column < 4 * fours(l.in); ++column)
        for (std::int64_t row = 4 * o; row < 4 * o + 4; ++row)
          out.push_back(row < l.out && column < l.in ? l.weight[static_cast<std::size_t>(row * l.in + column)]
                                                     : 0.0f);
  }
  return out;
}

std::string glsl_levels(const Parts& parts) {
  std::string text = kWave;
  text += activation(parts, "first", parts.options.first_omega);
  text += activation(parts, "other", parts.options.omega);
  for (std::size_t i = 0; i < parts.encodings.size(); ++i)
    if (const GridLayout& grid = parts.encodings[i].grid; grid.levels > 0)
      text += grid_function(grid.smooth, static_cast<int>(i), table_vectors(parts));
  text += network(parts);
  if (!parts.closing.empty()) text += closing(parts);
  text += "vec4 levels(vec2 c, vec2 place, float gain) {\n  vec4 y = gain * network(c);\n";
  text += fmt::format("  vec4 level = {};\n", head_in_glsl(parts.options.head));
  text += parts.closing.empty() ? "  return level;\n}\n" : "  return closed(level, place);\n}\n";
  return text;
}

std::string glsl(const field::Field& field, const std::string& title) {
  must_be_picture(field, "GLSL");
  const Parts parts = parts_of(field);
  const field::FieldOptions& o = parts.options;
  if (parts.numbers() > kMostGlslNumbers)
    throw ConfigError(
        str("a field of ", parts.numbers(), " numbers does not fit into a shader's text"),
        str("compilers of GLSL take at most about ", kMostGlslNumbers),
        "write a page (.html), which has them in textures, or fit a smaller network: --model siren "
        "--width 32 --depth 3");
  const auto channels = static_cast<std::size_t>(o.channels);
  std::vector<float> table;
  for (const EncodingPart& e : parts.encodings)
    if (e.grid.levels > 0) {
      const std::vector<float> rows = widened(e.numbers, static_cast<std::size_t>(e.grid.features),
                                              static_cast<std::size_t>(4 * table_vectors(parts)));
      table.insert(table.end(), rows.begin(), rows.end());
    }
  std::string text = fmt::format(
      "// {}: a neural field, {} x {} pixels, {} numbers, by veldt export. GLSL ES 3.00: WebGL2, Shadertoy.\n"
      "// vec3 field(vec2 p): the colour at p, from 0, 0 at the top left to 1, 1 at the bottom right. In "
      "Shadertoy:\n"
      "//   void mainImage(out vec4 colour, in vec2 at) {{\n"
      "//     vec2 p = at / iResolution.xy;\n"
      "//     colour = vec4(field(vec2(p.x, 1.0 - p.y)), 1.0);\n"
      "//   }}\n",
      escape_controls(title), o.width, o.height, parts.numbers());
  text += "const vec3 kTurn = vec3(3.140625, 9.67502594e-4, 1.50995799e-7);  // their sum is pi\n";
  text += array("kWeights", glsl_weights(parts)) + "#define W(i) kWeights[i]\n";
  if (!table.empty()) text += array("kTable", table) + "#define T(i) kTable[i]\n";
  if (!parts.closing.empty())
    text += array("kClosing", widened(parts.closing, channels, 4)) + "#define C(i) kClosing[i]\n";
  text += glsl_levels(parts);
  text += fmt::format("vec3 field(vec2 p) {{\n  vec2 place = p * vec2({}, {});\n",
                      decimal(static_cast<double>(o.columns())), decimal(static_cast<double>(o.rows())));
  if (o.squares) {
    text += fmt::format("  place = clamp(floor(place), vec2(0.0), vec2({}, {})) + 0.5;\n",
                        decimal(static_cast<double>(o.columns() - 1)),
                        decimal(static_cast<double>(o.rows() - 1)));
    text += fmt::format("  p = place / vec2({}, {});\n", decimal(static_cast<double>(o.columns())),
                        decimal(static_cast<double>(o.rows())));
  }
  text += fmt::format("  vec4 level = levels(p * vec2({}, {}) + vec2({}, {}), place, 1.0);\n",
                      decimal(parts.x_scale), decimal(parts.y_scale), decimal(parts.x_shift),
                      decimal(parts.y_shift));
  return text + (o.channels < 3 ? "  return level.xxx;\n}\n" : "  return level.xyz;\n}\n");
}

}  // namespace veldt::publish
