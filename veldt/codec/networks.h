// The networks of a packed photograph: for each level a model of its latents' probabilities, and the
// synthesis that makes pixels of the latents. As floats while they learn, as integers in a file and in
// the decoder.
// Tests: tests/codec/networks_test.cpp
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "veldt/codec/pyramid.h"

namespace veldt::codec {

inline constexpr int kHidden = 24;  // of the synthesis
inline constexpr int kDetail = 4;   // channels of its convolutions
inline constexpr int kColours = 3;
inline constexpr int kTaps = 3 * 3;
inline constexpr int kUpsampling = 4;  // numbers of a filter that makes a level twice as large

// x the contexts: h = relu(x + first x + first_bias), g = relu(h + second h + second_bias), and
// out = last g + skip x + last_bias. out[0] is the mean of the latent; out[1] - 4 is the logarithm of b of
// laplace.h, and of integers it is the scale there. All matrices [out][in].
template <class T> struct ContextModel {
  T first[kContexts][kContexts], first_bias[kContexts];
  T second[kContexts][kContexts], second_bias[kContexts];
  T last[2][kContexts], last_bias[2];
  T skip[2][kContexts];
};

// Level l + 1 and all coarser ones are brought to the size of level l by the filter w = upsampling[l],
// down the columns first and then along the rows, with the edges repeated: the value 2i of v is w[0] v[i - 2]
// + w[1] v[i - 1] + w[2] v[i] + w[3] v[i + 1], and 2i + 1 the mirrored. f the latents of a pixel, one a
// level, at the size of level 0: h = relu(hidden f + hidden_bias) and c = colour h + skip f + colour_bias. On
// the picture of the c, two convolutions of 3 x 3, rows first, with its edges repeated: out = c + close
// relu(detail c + detail_bias) + close_bias, along the axes of colour_axes.h.
template <class T> struct Synthesis {
  T hidden[kHidden][kLevels], hidden_bias[kHidden];
  T colour[kColours][kHidden], colour_bias[kColours];
  T skip[kColours][kLevels];
  T detail[kDetail][kColours][kTaps], detail_bias[kDetail];
  T close[kColours][kDetail][kTaps], close_bias[kColours];
  T upsampling[kLevels - 1][kUpsampling];
};

template <class T> struct Networks {
  std::array<ContextModel<T>, kModels> models;
  Synthesis<T> synthesis;

  // All numbers, in the order of their declaration.
  std::span<T> numbers() { return {reinterpret_cast<T*>(this), sizeof *this / sizeof(T)}; }
  std::span<const T> numbers() const { return {reinterpret_cast<const T*>(this), sizeof *this / sizeof(T)}; }
};

inline constexpr std::size_t kNumbers = sizeof(Networks<float>) / sizeof(float);

// Where numbers of one kind stand in numbers(), and what an integer of them counts: steps of 2^-bits.
struct Group {
  std::size_t first, count;
  int bits;
};
// Of the models, then of the synthesis. Products of the models have 16 fractional bits, of the synthesis 24,
// of its filters 18.
std::span<const Group> groups();
inline constexpr std::size_t kGroups = kModels * 7 + 10;

Networks<std::int32_t> to_integers(const Networks<float>& networks);
Networks<float> to_floats(const Networks<std::int32_t>& networks);

}  // namespace veldt::codec
