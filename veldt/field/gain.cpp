// Shrinks a picture to half, redraws it, and compares the result with the picture and with Lanczos3.
#include "veldt/field/gain.h"

#include <algorithm>
#include <cmath>

#include "veldt/field/areas.h"
#include "veldt/field/kind.h"
#include "veldt/field/transparency.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

constexpr std::int64_t kLeastSide = 12;
constexpr int kTurns = 4;
// In dB: the gain at half the size from which hard steps are surely edges, and the least gain that is
// reported.
constexpr double kSure = 0.7, kLeastTold = 0.1;
// Redraws closer than this are equal.
constexpr double kNoError = 1e-7;

// Transparent pictures are compared as they look.
Tensor seen(const Tensor& picture) { return has_alpha(picture) ? on_two_grounds(picture) : picture; }

Tensor as_it_is(const Tensor& picture) { return picture; }

// The mean squared difference of how these look, some rows at a time.
using Look = Tensor (*)(const Tensor& rows);
double error_of(const Tensor& a, Look look_at_a, const Tensor& b, Look look_at_b) {
  constexpr std::int64_t kRows = 64;
  double squares = 0, levels = 0;
  for (std::int64_t first = 0; first < a.size(0); first += kRows) {
    const std::int64_t end = std::min(first + kRows, a.size(0));
    const Tensor off = look_at_a(slice(a, 0, first, end)) - look_at_b(slice(b, 0, first, end));
    squares += sum(square(off)).item();
    levels += static_cast<double>(off.numel());
  }
  return std::max(kNoError, squares / levels);
}

Tensor by_lanczos(const Tensor& picture, std::int64_t factor) {
  return clamp(enlarged(picture, factor, data::Filter::lanczos3), 0, 1);
}

// The prior's gain over Lanczos3 if the picture itself, at twice the size, is the truth.
double gain_from_half(const Tensor& picture, const Prior& prior) {
  const std::int64_t height = picture.size(0) / 2, width = picture.size(1) / 2;
  const Tensor truth = contiguous(slice(slice(picture, 0, 0, 2 * height), 1, 0, 2 * width));
  const Tensor half = means_of_squares(truth, 2);
  const Tensor drawn =
      contiguous(permute(redraw(prior, contiguous(permute(half, {2, 0, 1})), kTurns), {1, 2, 0}));
  const Tensor by_prior = means_of_squares(clamp(drawn, 0, 1), Prior::kScale / 2);
  return 10 * std::log10(error_of(by_lanczos(half, 2), as_it_is, truth, as_it_is) /
                         error_of(by_prior, as_it_is, truth, as_it_is));
}

}  // namespace

std::optional<double> expected_gain(const Signal& picture, const Prior& prior, const Tensor& redraw,
                                    const Tensor& drawn) {
  const PictureFacts facts = facts_of(picture);
  if (std::min(picture.rows(), picture.columns()) < kLeastSide || facts.clear == 1) return std::nullopt;
  NoGrad off;
  const Tensor pixels = seen(picture.read(0, picture.rows()));
  const double from_half = gain_from_half(picture.read(0, picture.rows()), prior);
  pool(Device{}).trim();
  // Least squares over the 95 pictures. If the prior gains almost nothing at half the size, hard steps are
  // noise and not edges.
  const double are_edges = std::clamp(from_half / kSure, 0.0, 1.0);
  const double of_prior = std::max(kLeastTold, 0.57 * from_half + are_edges * (8.9 * facts.hard - 0.98));
  // If the prior's error and its distance from Lanczos3 are independent, their sum is Lanczos3's error.
  const double own = 1 / (std::pow(10, of_prior / 10) - 1);  // as a multiple of that distance
  const double from_lanczos = error_of(by_lanczos(pixels, Prior::kScale), as_it_is, redraw, seen);
  return 10 * std::log10((1 + own) / (error_of(drawn, seen, redraw, seen) / from_lanczos + own));
}

}  // namespace veldt::field
