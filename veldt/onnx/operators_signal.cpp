// Spectra: Fourier transforms, windows, mel bands.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "veldt/onnx/operators.h"
#include "veldt/onnx/support.h"
#include "veldt/ops/matmul.h"

namespace veldt::onnx {

namespace {

// Complex numbers as two tensors; `im` undefined: all real.
struct Complex {
  Tensor re, im;
};

// e^(sign 2 pi i j k / n) for j < rows, k < columns, of the dtype of x and beside it.
Complex roots(std::int64_t n, std::int64_t rows, std::int64_t columns, double sign, const Tensor& x) {
  const auto count = [&](std::int64_t size) { return arange(size, DType::i64, x.device()); };
  const Tensor product = remainder(mul(unsqueeze(count(rows), 1), count(columns)), n);
  const Tensor angle = mul(to(product, DType::f64), sign * 2 * std::numbers::pi / static_cast<double>(n));
  return {to(cos(angle), x.dtype()), to(sin(angle), x.dtype())};
}

Complex product(const Complex& a, const Complex& b, Tensor (*fn)(const Tensor&, const Tensor&)) {
  if (!a.im.defined()) return {fn(a.re, b.re), fn(a.re, b.im)};
  return {sub(fn(a.re, b.re), fn(a.im, b.im)), add(fn(a.re, b.im), fn(a.im, b.re))};
}

// The transform of the last dimension (Cooley & Tukey 1965): n = a b is a transform of a, turned, and one of
// b; those of few elements, or of a prime number, are products with a matrix.
constexpr std::int64_t kDirect = 64, kLargestPrime = 4096;
Complex transformed(const Call& c, const Complex& x, double sign) {
  const std::int64_t n = x.re.size(-1);
  std::int64_t a = kDirect;
  while (a > 1 && n % a != 0) --a;
  if (n <= kDirect || a == 1) {
    if (n > kLargestPrime)
      c.fail(str("its length ", n, " has a prime factor above ", kLargestPrime, "; pad it"));
    return product(x, roots(n, n, n, sign, x.re), matmul);
  }
  const std::int64_t b = n / a;
  Shape split = x.re.shape();
  split[split.rank() - 1] = a;
  split.push_back(b);
  const auto turned = [](const Complex& z) {
    return Complex{transpose(z.re), z.im.defined() ? transpose(z.im) : Tensor()};
  };
  const auto shaped = [](const Complex& z, const Shape& shape) {
    return Complex{reshape(z.re, shape), z.im.defined() ? reshape(z.im, shape) : Tensor()};
  };
  const Complex inner = turned(product(turned(shaped(x, split)), roots(a, a, a, sign, x.re), matmul));
  const Complex outer = transformed(c, product(inner, roots(n, a, b, sign, x.re), mul), sign);
  return shaped(turned(outer), x.re.shape());
}

// The last dimension made n long, with zeros or by leaving out the rest.
Tensor made(const Tensor& x, std::int64_t n) {
  if (!x.defined() || x.size(-1) == n) return x;
  return pad(x, {0, n - x.size(-1)}, 0.0);
}

// Also what computes in f32 for halves.
Complex parts_of(const Call& c, const Tensor& x, int axis) {
  if (x.rank() < 2 || (x.size(-1) != 1 && x.size(-1) != 2) || axis == x.rank() - 1)
    c.fail(str("its signal is ", x.shape(), "; the last dimension holds real and imaginary parts"));
  const Tensor wide = is_half(x.dtype()) ? to(x, DType::f32) : x;
  const auto part = [&](std::int64_t i) { return movedim(select(wide, -1, i), axis, wide.rank() - 2); };
  return {part(0), x.size(-1) == 2 ? part(1) : Tensor()};
}

constexpr std::int64_t kLongest = std::int64_t{1} << 22;

Values dft(const Call& c) {
  const Tensor x = c.real(0);
  const int axis = c.axis(c.opset() < 20 ? c.integer("axis", 1) : c.has(2) ? c.integer(2) : -2, x.rank());
  const bool inverse = c.integer("inverse", 0) != 0, onesided = c.integer("onesided", 0) != 0;
  Complex z = parts_of(c, x, axis);
  const std::int64_t have = z.re.size(-1);
  const std::int64_t n = c.has(1) ? c.integer(1) : inverse && onesided ? 2 * (have - 1) : have;
  if (n < 1 || n > kLongest) c.fail(str("its length is ", n));
  const std::int64_t half = n / 2 + 1;
  if (inverse && onesided) {  // the other half mirrors the first
    z = {made(z.re, half), made(z.im, half)};
    const auto mirrored_half = [&](const Tensor& t) {
      return narrow(flip(t, {t.rank() - 1}), -1, n % 2 == 0 ? 1 : 0, n - half);
    };
    const Tensor re = cat({z.re, mirrored_half(z.re)}, -1);
    z = {re, z.im.defined() ? cat({z.im, neg(mirrored_half(z.im))}, -1) : Tensor()};
  } else {
    z = {made(z.re, n), made(z.im, n)};
  }
  Shape result = z.re.shape();
  result.push_back(2);
  check_size(c, result);
  z = transformed(c, z, inverse ? 1 : -1);
  if (inverse) z = {div(z.re, static_cast<double>(n)), div(z.im, static_cast<double>(n))};
  if (!inverse && onesided) z = {narrow(z.re, -1, 0, half), narrow(z.im, -1, 0, half)};
  const auto back = [&](const Tensor& t) { return movedim(t, t.rank() - 1, axis); };
  const Tensor y =
      inverse && onesided ? unsqueeze(back(z.re), z.re.rank()) : stack({back(z.re), back(z.im)}, z.re.rank());
  return {to(y, x.dtype())};
}

Values stft(const Call& c) {
  Tensor x = c.real(0);
  if (x.rank() == 2) x = unsqueeze(x, 2);
  if (x.rank() != 3) c.fail(str("its signal is ", x.shape()));
  const std::int64_t step = c.integer(1), length = x.size(1);
  const std::int64_t frame = c.has(3) ? c.integer(3) : c.has(2) ? c.tensor(2).numel() : length;
  if (step < 1 || frame < 1 || frame > length || frame > kLongest)
    c.fail(str("a frame of ", frame, " and a step of ", step, " do not fit a signal of ", length));
  const std::int64_t frames = (length - frame) / step + 1;
  check_size(c, {x.size(0), frames, frame, 2});
  Complex z = parts_of(c, x, 1);
  Tensor window;
  if (c.has(2)) {
    window = to(c.tensor(2), z.re.dtype());
    if (window.rank() != 1 || window.size(0) != frame)
      c.fail(str("its window is ", window.shape(), " for frames of ", frame));
  }
  const Tensor places =
      reshape(add(unsqueeze(mul(ramp(c, frames), step), 1), ramp(c, frame)), {frames * frame});
  const auto cut = [&](const Tensor& t) {
    if (!t.defined()) return t;
    const Tensor parts = reshape(index_select(t, 1, places), {t.size(0), frames, frame});
    return window.defined() ? mul(parts, window) : parts;
  };
  z = transformed(c, {cut(z.re), cut(z.im)}, -1);
  if (c.integer("onesided", 1) != 0) {
    z.re = narrow(z.re, -1, 0, frame / 2 + 1);
    z.im = narrow(z.im, -1, 0, frame / 2 + 1);
  }
  return {to(stack({z.re, z.im}, 3), x.dtype())};
}

// first - second cos(t) + third cos(2 t) over one period.
Values window_of_cosines(const Call& c, double first, double second, double third) {
  const std::int64_t n = c.integer(0);
  if (n < 0) c.fail(str("its size is ", n));
  check_size(c, {n});
  const auto period = static_cast<double>(c.integer("periodic", 1) != 0 ? n : n - 1);
  const Tensor t = mul(arange(n, DType::f64), 2 * std::numbers::pi / std::max(period, 1.0));
  const Tensor y = add(affine(cos(t), -second, first), mul(cos(mul(t, 2.0)), third));
  return {cast(Value(y), element_of(c, c.integer("output_datatype", 1)), true)};
}
Values hann(const Call& c) { return window_of_cosines(c, 0.5, 0.5, 0); }
Values hamming(const Call& c) { return window_of_cosines(c, 25.0 / 46, 21.0 / 46, 0); }
Values blackman(const Call& c) { return window_of_cosines(c, 0.42, 0.5, 0.08); }

// Triangles that are equally wide on the mel scale, over the bins of a spectrum.
Values mel_weights(const Call& c) {
  const std::int64_t bands = c.integer(0), length = c.integer(1), rate = c.integer(2);
  if (bands < 1 || bands > std::int64_t{1} << 20 || length < 1 || rate < 1)
    c.fail("its sizes are below 1, or wild");
  const std::int64_t bins = length / 2 + 1;
  check_size(c, {bins, bands});
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(c.number(3)), high = mel(c.number(4));
  std::vector<std::int64_t> edges;
  for (std::int64_t i = 0; i < bands + 2; ++i) {
    const double at = low + static_cast<double>(i) * (high - low) / static_cast<double>(bands + 2);
    const double hertz = 700 * (std::pow(10.0, at / 2595) - 1);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(bin >= 0 && bin < static_cast<double>(bins)))
      c.fail(str("a band's edge of ", hertz, " Hz is beyond the spectrum"));
    edges.push_back(static_cast<std::int64_t>(bin));
  }
  std::vector<float> out(static_cast<std::size_t>(bins * bands));
  for (std::int64_t i = 0; i < bands; ++i) {
    const std::int64_t left = edges[static_cast<std::size_t>(i)],
                       centre = edges[static_cast<std::size_t>(i) + 1],
                       right = edges[static_cast<std::size_t>(i) + 2];
    const auto at = [&](std::int64_t bin) -> float& {
      return out[static_cast<std::size_t>(bin * bands + i)];
    };
    for (std::int64_t j = left; j < centre; ++j)
      at(j) = static_cast<float>(j - left) / static_cast<float>(centre - left);
    at(centre) = 1;
    for (std::int64_t j = centre; j < right; ++j)
      at(j) = static_cast<float>(right - j) / static_cast<float>(right - centre);
  }
  return {cast(Value(Tensor::from<float>({bins, bands}, out)), element_of(c, c.integer("output_datatype", 1)),
               true)};
}

// By elimination, the largest element of a column first.
Values determinant(const Call& c) {
  const Tensor& input = c.tensor(0);
  if (input.rank() < 2 || input.size(-1) != input.size(-2)) c.fail(str("its input is ", input.shape()));
  const std::int64_t n = input.size(-1);
  Shape shape;
  for (int d = 0; d < input.rank() - 2; ++d) shape.push_back(input.size(d));
  const std::int64_t count = numel(shape);
  Tensor x = reshape(is_half(input.dtype()) ? to(input, DType::f32) : input, {count, n, n});
  Tensor det = ones({count}, x.dtype(), x.device());
  for (std::int64_t k = 0; k < n && count > 0; ++k) {
    const std::int64_t left = x.size(1);
    const Tensor pivot = argmax(abs(select(x, 2, 0)), 1);  // [count]
    const Tensor row = gather(x, 1, contiguous(expand(reshape(pivot, {count, 1, 1}), {count, 1, left})));
    const Tensor value = select(select(row, 2, 0), 1, 0);
    // The row that moves to the pivot's place changes the sign.
    det = mul(det, mul(value, to(where(equal(pivot, 0), ones({}, DType::f32, x.device()),
                                       full({}, -1, DType::f32, x.device())),
                                 x.dtype())));
    if (left == 1) break;
    Tensor order = expand(unsqueeze(ramp(c, left), 0), {count, left});
    order = where(equal(order, unsqueeze(pivot, 1)), zeros_like(order), order);  // the first row is there now
    order = narrow(order, 1, 1, left - 1);
    const Tensor rest = gather(x, 1, contiguous(expand(unsqueeze(order, 2), {count, left - 1, left})));
    const Tensor divisor = where(equal(value, 0), ones_like(value), value);
    const Tensor factor = div(narrow(rest, 2, 0, 1), reshape(divisor, {count, 1, 1}));
    x = sub(narrow(rest, 2, 1, left - 1), mul(factor, narrow(row, 2, 1, left - 1)));
  }
  return {to(reshape(det, shape), input.dtype())};
}

}  // namespace

void add_signals(OperatorTable& t) {
  t.add("DFT", dft, 1);
  t.add("STFT", stft, 1);
  t.add("HannWindow", hann);
  t.add("HammingWindow", hamming);
  t.add("BlackmanWindow", blackman);
  t.add("MelWeightMatrix", mel_weights);
  t.add("Det", determinant, 1);
}

}  // namespace veldt::onnx
