// Checks random numbers, products, formulas, a small fit and files against known results.
#include "veldt/app/known_answers.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "veldt/app/machine.h"
#include "veldt/core/error.h"
#include "veldt/core/rng.h"
#include "veldt/field/fit.h"
#include "veldt/io/image.h"
#include "veldt/io/safetensors.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"
#include "veldt/train/picture_scores.h"

namespace veldt::app {
namespace {

// The third known answer of the Random123 distribution (kat_vectors), its key and counter the digits of pi.
Finding philox() {
  const Philox::Block got =
      Philox::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0xa4093822, 0x299f31d0);
  const Philox::Block wanted = {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1};
  return {got == wanted, fmt::format("{:08x} {:08x} {:08x} {:08x}", got[0], got[1], got[2], got[3])};
}

// [m, k] x [k, n] of f32 against sums in double, relative to the size of the terms. Odd sizes test the
// remainders of loops.
Finding matrix_product() {
  constexpr std::int64_t m = 67, k = 259, n = 35;
  Rng rng(1);
  const Tensor a = randn({m, k}, rng), b = randn({k, n}, rng), c = matmul(a, b);
  const float *x = a.data<float>(), *y = b.data<float>(), *z = c.data<float>();
  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        const double term = static_cast<double>(x[i * k + p]) * y[p * n + j];
        sum += term;
        size += std::abs(term);
      }
      const double error = std::abs(sum - z[i * n + j]) / size;
      worst = error <= worst ? worst : error;  // a NaN stays
    }
  return {worst < 1e-6, fmt::format("largest error {:.1e} of the terms, 1e-6 allowed", worst)};
}

// Formulas on the registers of this machine against the C library's in double.
Finding formulas() {
  const Tensor x = linspace(-8, 8, 1003);
  const float* at = x.data<float>();
  double worst = 0;
  const auto compare = [&](const Tensor& y, double (*exact)(double)) {
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const double wanted = exact(at[i]),
                   error = std::abs(y.data<float>()[i] - wanted) / std::max(1.0, std::abs(wanted));
      worst = error <= worst ? worst : error;
    }
  };
  compare(sin(x), std::sin);
  compare(exp(x), std::exp);
  compare(tanh(x), std::tanh);
  return {worst < 1e-6, fmt::format("sin, exp, tanh: largest error {:.1e}, 1e-6 allowed", worst)};
}

// A grey disc of 24 x 24 pixels through all layers of the library: gradients, Adam, drawing.
Finding small_fit() {
  constexpr std::int64_t side = 24;
  constexpr double kKnown = 46.2, kWithin = 3;  // dB; rounding differs between instruction sets
  const Tensor picture = empty({side, side, 1}, DType::f32);
  for (std::int64_t i = 0; i < side * side; ++i) {
    const double dx = static_cast<double>(i % side) - 11.5, dy = static_cast<double>(i / side) - 11.5;
    picture.data<float>()[i] = static_cast<float>(0.2 + 0.6 / (1 + std::exp(std::hypot(dx, dy) - 7)));
  }
  field::FitOptions options;
  options.seed = 7;
  options.steps = 150;
  options.width = 24;
  options.depth = 2;
  options.model = field::Model::siren;
  options.batch = 0;
  const field::ImageField field = field::fit(picture, options);
  const double psnr = train::psnr(field.render({side, side}), picture);
  return {std::abs(psnr - kKnown) < kWithin,
          fmt::format("150 steps reach {:.2f} dB, {} +- {} expected", psnr, kKnown, kWithin)};
}

// A temporary directory, removed with its files.
class Scratch {
 public:
  Scratch() : path_((std::filesystem::temp_directory_path() / "veldt-doctor-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr)
      throw IoError(IoError::Kind::unwritable, "cannot make " + path_,
                    "the temporary directory takes no files", "set TMPDIR to a directory that does");
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

Finding png_there_and_back() {
  const Scratch scratch;
  Rng rng(2);
  const Tensor picture = rand({37, 53, 3}, rng);
  io::write_image(scratch / "p.png", picture, {.bits = 16});
  const double worst = max(abs(io::read_image(scratch / "p.png") - picture)).item();
  return {worst <= 0.5 / 65535 + 1e-7, fmt::format("37 x 53 x 3 of 16 bits come back within {:.1e}", worst)};
}

Finding safetensors_there_and_back() {
  const Scratch scratch;
  Rng rng(3);
  const Tensor numbers = randn({41, 17}, rng);
  io::write_safetensors(scratch / "t.safetensors", {{"numbers", numbers}});
  const io::SafeTensors file = io::read_safetensors(scratch / "t.safetensors");
  const bool same =
      file.tensors.size() == 1 && file.tensors[0].tensor.values<float>() == numbers.values<float>();
  return {same, fmt::format("{} numbers come back {}", numbers.numel(), same ? "bit for bit" : "changed")};
}

using Clock = std::chrono::steady_clock;

// The shortest of many runs of `work` within `seconds`: so that other jobs count as little as possible.
template <class Work> double shortest(double seconds, const Work& work) {
  work();  // the first run allocates its memory
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  double best = 1e30;
  do {
    const auto start = Clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  } while (Clock::now() < end);
  return best;
}

}  // namespace

const std::vector<KnownAnswer>& known_answers() {
  static const std::vector<KnownAnswer> all = {
      {"random numbers", philox},  {"matrix product", matrix_product},
      {"formulas", formulas},      {"small fit", small_fit},
      {"PNG", png_there_and_back}, {"safetensors", safetensors_there_and_back}};
  return all;
}

Speed measured_speed(double seconds) {
  const NoGrad off;
  constexpr std::int64_t side = 1024;
  Rng rng(4);
  const Tensor a = randn({side, side}, rng), b = randn({side, side}, rng);
  const double product = shortest(seconds / 2, [&] { matmul(a, b); });
  // Three arrays of 64 MB; less on a small machine.
  const Machine machine = this_machine();
  const std::int64_t room = machine.memory_free > 0 ? machine.memory_free / 16 : std::int64_t{1} << 26;
  const std::int64_t count = std::clamp<std::int64_t>(room, 1 << 20, 1 << 26) / 4;
  const Tensor x = ones({count}), y = ones({count});
  const double sum_seconds = shortest(seconds / 2, [&] { x + y; });
  return {2.0 * side * side * side / product * 1e-9, 12.0 * static_cast<double>(count) / sum_seconds * 1e-9};
}

}  // namespace veldt::app
