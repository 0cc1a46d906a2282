// Fields of every kind for tests of what is made of them, without a fit: their numbers are random.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/field/image_field.h"
#include "veldt/publish/parts.h"

namespace veldt::test {

inline field::FieldOptions published_options(field::Activation activation, std::int64_t channels) {
  field::FieldOptions o;
  o.activation = activation;
  o.widths = {12, 10};
  o.channels = channels;
  o.width = 20;
  o.height = 14;
  o.first_omega = 20;
  o.omega = 10;
  return o;
}

// With tables of a grid that are far from 0, and a closing if the options have one: some of it flat ground.
inline field::Field published_field(const field::FieldOptions& options, std::uint64_t seed = 3) {
  field::FieldOptions open = options;
  open.closing = 0;
  publish::Parts parts = publish::parts_of(field::Field(open, seed));
  Rng rng(seed);
  for (publish::EncodingPart& e : parts.encodings)
    if (e.grid.levels > 0)
      for (float& x : e.numbers) x = static_cast<float>(rng.next_uniform() - 0.5);
  parts.options.closing = options.closing;
  const std::int64_t pixels = options.rows() * options.columns() * options.channels;
  for (std::int64_t i = 0; i < options.closing * pixels; ++i) {
    const bool is_flat = i >= pixels && i / options.channels % 5 == 0;
    parts.closing.push_back(is_flat ? -24.0f : static_cast<float>((i * 37 % 100) / 500.0 - 0.1));
  }
  return publish::field_of(parts);
}

// One for each way that a network can be: name, field.
inline std::vector<std::pair<std::string, field::Field>> published_fields() {
  using field::Activation;
  std::vector<std::pair<std::string, field::Field>> out;
  const auto add = [&](const std::string& name, const field::FieldOptions& o) {
    out.emplace_back(name, published_field(o));
  };
  add("siren", published_options(Activation::siren, 1));
  add("finer", published_options(Activation::finer, 3));
  add("gauss", published_options(Activation::gauss, 2));
  add("wire", published_options(Activation::wire, 4));
  field::FieldOptions simba = published_options(Activation::tanh, 1);
  simba.bias = false;
  simba.constant_input = true;
  simba.head = field::Head::ink;
  simba.coordinates = field::Coordinates::corners;
  add("simba", simba);
  field::FieldOptions grid = published_options(Activation::relu, 3);
  grid.encodings = {GridOptions{.levels = 4, .features = 2, .log2_entries = 6, .coarsest = 3, .finest = 20}};
  grid.closing = 2;
  add("grid", grid);
  field::FieldOptions smooth = published_options(Activation::relu, 1);
  smooth.encodings = {
      GridOptions{.levels = 2, .features = 5, .log2_entries = 9, .coarsest = 3, .finest = 9, .smooth = true},
      field::IdentityOptions{}};
  smooth.closing = 1;
  add("smooth", smooth);
  field::FieldOptions waves = published_options(Activation::relu, 1);
  waves.encodings = {field::FourierOptions{.frequencies = 7, .sigma = 2},
                     field::FrequencyOptions{.octaves = 3}};
  waves.head = field::Head::sigmoid;
  add("waves", waves);
  field::FieldOptions single = published_options(Activation::relu, 1);
  single.encodings = {GridOptions{.levels = 2, .features = 2, .log2_entries = 0, .coarsest = 2, .finest = 5},
                      field::IdentityOptions{}};
  add("single", single);  // all vertices of a level share one entry
  field::FieldOptions twice = published_options(Activation::relu, 1);
  twice.encodings = {field::FrequencyOptions{.octaves = 2}, field::FrequencyOptions{.octaves = 3}};
  add("twice", twice);
  field::FieldOptions squares = published_options(Activation::siren, 3);
  squares.squares = true;
  squares.period = 2;
  add("squares", squares);
  return out;
}

}  // namespace veldt::test
