// Prints tensors as torch/_tensor_str.py does: the same choice of format, widths, line breaks and edges.
#include "veldt/tensor/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "veldt/core/error.h"
#include "veldt/tensor/impl.h"
#include "veldt/tensor/intercept.h"

namespace veldt {
namespace {

// x with only `edge` positions at each end of each longer dimension.
Tensor edges_of(const Tensor& x, int edge) {
  Shape shape = x.shape();
  for (int d = 0; d < x.rank(); ++d) shape[d] = std::min<std::int64_t>(shape[d], 2 * std::int64_t{edge});
  if (shape == x.shape()) return x;
  const Tensor out = empty(shape, x);
  for (unsigned block = 0; block < 1u << x.rank(); ++block) {  // a bit for each dimension: its last part
    Shape part = shape;
    std::int64_t from = 0, to = 0;
    bool is_there = true;
    for (int d = 0; d < x.rank(); ++d) {
      const bool last = (block >> d & 1) != 0, cut = x.size(d) > shape[d];
      is_there = is_there && (cut || !last);
      if (!cut) continue;
      part[d] = edge;
      if (last) from += (x.size(d) - edge) * x.strides()[d], to += edge * out.strides()[d];
    }
    if (!is_there) continue;
    kernels(x).copy(x.alias(part, x.strides(), from).view(), out.alias(part, out.strides(), to).view());
  }
  return out;
}

template <class T> std::vector<T> values_as(const Tensor& x) {
  const Tensor converted = empty(x.shape(), dtype_of<T>, x.device());
  kernels(x).copy(x.view(), converted.view());
  return converted.values<T>();
}

// How floats are written: one format for all of a tensor.
class FloatFormat {
 public:
  FloatFormat(const std::vector<double>& values, int precision) : precision_(precision) {
    double least = INFINITY, most = 0;
    for (const double v : values) {
      if (v == 0 || !std::isfinite(v)) continue;
      least = std::min(least, std::abs(v));
      most = std::max(most, std::abs(v));
      is_whole_ = is_whole_ && v == std::ceil(v);
    }
    is_scientific_ = most > 0 && (most / least > 1000 || most > 1e8 || least < 1e-4);
  }
  std::string operator()(double v) const {
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    char digits[80];  // at most 9 before the point, 40 after it
    const bool dot = is_whole_ && !is_scientific_;
    const auto end = std::to_chars(std::begin(digits), std::end(digits), v,
                                   is_scientific_ ? std::chars_format::scientific : std::chars_format::fixed,
                                   dot ? 0 : precision_);
    return std::string(digits, end.ptr) + (dot ? "." : "");
  }

 private:
  int precision_;
  bool is_whole_ = true, is_scientific_ = false;
};

class TensorText {
 public:
  TensorText(const Tensor& x, const PrintOptions& options)
      : x_(x), options_(options), elides_(x.numel() > options.threshold) {
    if (x.numel() == 0) return;
    if (t_interceptor) t_interceptor->on_transfer("printing a tensor");
    const Tensor shown = elides_ ? edges_of(x, options.edge) : x;
    if (is_float(x.dtype())) {
      const std::vector<double> values = values_as<double>(shown);
      const FloatFormat format(values, options.precision);
      // As in PyTorch, zeros, infinities and NaN take part in no width.
      for (const double v : values) add(format(v), v != 0 && std::isfinite(v));
    } else {
      for (const std::int64_t v : values_as<std::int64_t>(shown))
        add(x.dtype() == DType::boolean ? (v ? "True" : "False") : std::to_string(v), true);
    }
    for (std::string& cell : cells_)
      if (cell.size() < width_) cell.insert(0, width_ - cell.size(), ' ');
  }

  std::string whole() {
    std::string out = "tensor(";
    const std::size_t indent = out.size();
    std::size_t next = 0;
    if (cells_.empty()) {
      out += "[]";
    } else {
      write(out, 0, indent, next);
    }
    const std::size_t line = out.rfind('\n');
    std::size_t column = line == std::string::npos ? out.size() + 2 : out.size() - line + 1;
    for (const std::string& suffix : suffixes()) {
      const bool breaks = column + suffix.size() + 2 > static_cast<std::size_t>(options_.width);
      out += breaks ? ",\n" + std::string(indent, ' ') : ", ";
      out += suffix;
      column = (breaks ? indent : column + 2) + suffix.size();
    }
    return out + ')';
  }

 private:
  void add(std::string cell, bool counts) {
    if (counts) width_ = std::max(width_, cell.size());
    cells_.push_back(std::move(cell));
  }

  // Dimension `dim` of the part that begins with cell `next`.
  void write(std::string& out, int dim, std::size_t indent, std::size_t& next) {
    if (x_.rank() == 0) {
      out += cells_[next++];
      return;
    }
    const std::int64_t edge = options_.edge;
    const bool cut = elides_ && x_.size(dim) > 2 * edge, line = dim == x_.rank() - 1;
    const std::int64_t count = cut ? 2 * edge + 1 : x_.size(dim);
    const std::int64_t room =
        (options_.width - static_cast<std::int64_t>(indent)) / static_cast<std::int64_t>(width_ + 2);
    const std::string apart = line ? ", "
                                   : ',' + std::string(static_cast<std::size_t>(x_.rank() - 1 - dim), '\n') +
                                         std::string(indent + 1, ' ');
    out += '[';
    for (std::int64_t i = 0; i < count; ++i) {
      if (line && i > 0 && i % std::max<std::int64_t>(1, room) == 0) {
        out += ",\n" + std::string(indent + 1, ' ');
      } else if (i > 0) {
        out += apart;
      }
      if (cut && i == edge) {
        out += line ? " ..." : "...";
      } else if (line) {
        out += cells_[next++];
      } else {
        write(out, dim + 1, indent + 1, next);
      }
    }
    out += ']';
  }

  std::vector<std::string> suffixes() const {
    const DType t = x_.dtype();
    const bool nothing = x_.numel() == 0;
    const bool usual = t == DType::f32 || (!nothing && (t == DType::i64 || t == DType::boolean));
    std::vector<std::string> list;
    if (x_.device().kind != DeviceKind::cpu) list.push_back(str("device='", x_.device(), '\''));
    if (nothing && x_.rank() != 1) list.push_back(str("shape=", x_.shape()));
    if (!usual) list.push_back(str("dtype=", t));
    if (const auto& node = x_.impl()->node) {
      list.push_back(str("grad_fn=<", node->name, '>'));
    } else if (x_.requires_grad()) {
      list.push_back("requires_grad=True");
    }
    return list;
  }

  const Tensor& x_;
  const PrintOptions& options_;
  bool elides_;
  std::vector<std::string> cells_;  // of the elements that are shown, in row-major order
  std::size_t width_ = 1;
};

}  // namespace

std::string text(const Tensor& x, const PrintOptions& options) {
  if (options.precision < 0 || options.precision > 40)
    throw ConfigError(str("cannot print ", options.precision, " digits after the point"),
                      "the precision is 0 to 40", "17 digits tell any two doubles apart");
  if (options.edge < 1)
    throw ConfigError(str("cannot print edges of ", options.edge, " elements"), "an edge has 1 or more",
                      "give a positive edge");
  return x.defined() ? TensorText(x, options).whole() : "tensor(undefined)";
}

std::ostream& operator<<(std::ostream& out, const Tensor& x) { return out << text(x); }

}  // namespace veldt
