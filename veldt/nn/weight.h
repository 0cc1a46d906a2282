// The weight of a layer: floats, or after quantize() the integers that stand for them, and how both are
// multiplied by.
// Tests: tests/compress/quantize_test.cpp
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "veldt/core/quantized.h"
#include "veldt/nn/module.h"
#include "veldt/ops/convolution.h"

namespace veldt::nn {

// What a product takes its input as: floats; bytes whose range each call finds, in each row, or in each
// example of a convolution; or bytes of a range that was calibrated.
enum class QuantizedInput : std::uint8_t { floats, dynamic, fixed };

struct WeightFormat {
  int bits = 8;  // 8, one scale for each output channel; 4, one for each 32 numbers of a row of a matrix
  QuantizedInput input = QuantizedInput::dynamic;  // of 4 bits floats

  friend bool operator==(const WeightFormat&, const WeightFormat&) = default;
};

// A member of a layer, as a Tensor is. Outputs come first: [out, in], [out, in / groups, kernel ..], of an
// embedding [count, dim]. Integers are not trained; gradients go through to the input, by the floats that
// they stand for.
class Weight {
 public:
  Weight() = default;
  // `in_first`: its floats are [in, out]; as integers they are [out, in].
  explicit Weight(bool in_first) : in_first_(in_first) {}
  // Floats in the place of whatever it held.
  Weight& operator=(const Tensor& floats);

  bool defined() const { return floats_.defined() || values_.defined(); }
  bool is_quantized() const { return values_.defined(); }
  // Undefined unless it holds floats.
  const Tensor& floats() const { return floats_; }
  bool in_first() const { return in_first_; }
  // The floats, or what the integers stand for, f32.
  Tensor numbers() const;
  // [out, ..] for a product: the floats, or what the integers stand for, or as simulate() says.
  Tensor seen() const;
  Shape shape() const;  // as floats
  std::int64_t size(int dim) const { return shape()[dim]; }
  DType dtype() const { return floats_.defined() ? floats_.dtype() : scale_.dtype(); }
  Device device() const { return floats_.defined() ? floats_.device() : values_.device(); }
  const std::optional<WeightFormat>& format() const { return format_; }
  std::size_t bytes() const;

  // As a member "weight"; integers as "weight" (i8 of the same shape, or u8 [out, in / 2]), "weight_scale"
  // (f32 [out], or [out, in / 32]) and, with a fixed input, "weight_input" (f32 [2]: its scale and zero
  // point).
  void fields(Fields& f, std::string_view name);

  // y = x W^T + bias: x [.., in] -> [.., out]; bias may be undefined.
  Tensor linear(const Tensor& x, const Tensor& bias) const;
  // As conv1d() and its like.
  Tensor convolve(int dims, const Tensor& x, const Tensor& bias, const ConvOptions& options) const;
  // Whether states become bytes in the steps of an LSTM that is called with these inputs, [time, n, 4
  // hidden], and states, without gradients.
  bool steps_integers(const Tensor& inputs, const Tensor& h, const Tensor& c) const;
  // Those steps: h of each, [time, n, hidden], and c of the last, [n, hidden]. bias: added to the gates, may
  // be undefined.
  std::pair<Tensor, Tensor> lstm_steps(const Tensor& inputs, const Tensor& bias, const Tensor& h,
                                       const Tensor& c, bool backward) const;
  // The rows of a table at `index`, a list.
  Tensor rows(const Tensor& index) const;

  // Whether 4 bits are possible: for matrices whose rows come in groups of 32.
  bool has_groups() const;
  // Integers for the floats that it holds, the nearest ones. `low` and `high`: of the input, if that is
  // fixed. Throws ConfigError for a format that it cannot have, and Error if numbers are not finite.
  void quantize(const WeightFormat& format, float low = 0, float high = 0);
  // The same without numbers, which load_state_dict() gives it; check() then.
  void expect(const WeightFormat& format);
  // Throws IoError corrupt, which names the weight, for scales and zero points that cannot be.
  void check(const std::string& name) const;
  // Floats that products see as the integers they will be, and their inputs too; nothing: an end to that.
  // Gradients go straight through. With a fixed input, "weight_range" (f32 [2]: low and high) follows the
  // inputs of calls that record gradients, by a mean that forgets.
  void simulate(const std::optional<WeightFormat>& format);
  bool is_simulated() const { return format_ && floats_.defined(); }
  const Tensor& simulated_range() const { return range_; }
  void set_simulated_range(float low, float high);
  // Its result is bytes for `next` to take, after a ReLU if there is one between them; the range is `next`'s.
  void set_output(const Weight& next, bool relu);
  void clear_output();
  bool gives_bytes_to(const Weight& next) const;

 private:
  bool multiplies_integers(const Tensor& x) const;
  std::uint64_t state_with(const Tensor& bias) const;
  Tensor outputs_first() const;  // the floats
  Tensor seen_input(const Tensor& x, bool by_row) const;
  void check_format(const WeightFormat& format) const;

  bool in_first_ = false;
  Tensor result_in(const Shape& shape, const Tensor& x, bool channels_last) const;
  Tensor numbers_of(const Tensor& bytes) const;
  Tensor bounded(const Tensor& y) const;

  Tensor floats_, values_, scale_, input_, range_;
  Tensor output_;  // the input_ of the weight that takes the result
  std::optional<WeightFormat> format_;
  QuantizedConv call_ = {};
};

// A layer with such weights, for those who quantise networks.
class Quantizable {
 public:
  // A recurrence multiplies states within -1 .. 1.
  enum class Use : std::uint8_t { product, convolution, table, recurrence };
  struct Named {
    std::string name;  // as its member
    Weight* weight;
    Use use;
    bool of_input;  // whether it multiplies what the module is called with
  };
  virtual ~Quantizable() = default;
  virtual std::vector<Named> weights() = 0;
  // What is added to the product of its one weight, an undefined tensor if nothing is; null: the layer is no
  // such product.
  virtual Tensor* bias_of_product() { return nullptr; }
};

}  // namespace veldt::nn
