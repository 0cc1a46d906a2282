// Ops that layers are made of: convolutions, pooling, resizing, norms, attention, recurrent steps.
#include "tests/peers/call.h"

namespace veldt::peers {
namespace {

// Windows are the same in one, two and three dimensions.
template <class Options> using Windowed = Tensor(const Tensor&, const PerDim&, const Options&);
template <class Options>
using Convolving = Tensor(const Tensor&, const Tensor&, const Tensor&, const Options&);

ConvOptions conv_options(const Call& call) {
  ConvOptions o;
  call.option("stride", o.stride);
  if (const json& given = call.arguments.back(); given.contains("padding")) {
    const json& padding = given.at("padding");
    o.padding = padding.is_string() ? ConvPadding(padding.get<std::string>())
                                    : ConvPadding(read<PerDim>(padding, call.tensors));
  }
  call.option("dilation", o.dilation);
  call.option("groups", o.groups);
  call.option("padding_mode", o.padding_mode);
  return o;
}

ConvTransposeOptions transpose_options(const Call& call) {
  ConvTransposeOptions o;
  call.option("stride", o.stride);
  call.option("padding", o.padding);
  call.option("output_padding", o.output_padding);
  call.option("dilation", o.dilation);
  call.option("groups", o.groups);
  return o;
}

Op conv(Convolving<ConvOptions>* function) {
  return with_call([=](const Call& call) {
    return function(call.tensor(0), call.tensor(1), call.tensor(2), conv_options(call));
  });
}

Op conv(Convolving<ConvTransposeOptions>* function) {
  return with_call([=](const Call& call) {
    return function(call.tensor(0), call.tensor(1), call.tensor(2), transpose_options(call));
  });
}

Op pool(Windowed<MaxPoolOptions>* function) {
  return with_call([=](const Call& call) {
    MaxPoolOptions o;
    call.option("stride", o.stride);
    call.option("padding", o.padding);
    call.option("dilation", o.dilation);
    call.option("ceil_mode", o.ceil_mode);
    return function(call.tensor(0), call.at<PerDim>(1), o);
  });
}

Op pool(Windowed<AvgPoolOptions>* function) {
  return with_call([=](const Call& call) {
    AvgPoolOptions o;
    call.option("stride", o.stride);
    call.option("padding", o.padding);
    call.option("ceil_mode", o.ceil_mode);
    call.option("count_include_pad", o.count_include_pad);
    return function(call.tensor(0), call.at<PerDim>(1), o);
  });
}

AttentionOptions attention_options(const Call& call) {
  AttentionOptions o;
  call.option("mask", o.mask);
  call.option("causal", o.causal);
  call.option("scale", o.scale);
  return o;
}

Tensor resized(const Call& call) {
  InterpolateOptions o;
  call.option("size", o.size);
  call.option("scale_factor", o.scale_factor);
  call.option("mode", o.mode);
  call.option("align_corners", o.align_corners);
  return interpolate(call.tensor(0), o);
}

}  // namespace

void add_layer_ops(Ops& ops) {
  ops["conv1d"] = conv(conv1d);
  ops["conv2d"] = conv(conv2d);
  ops["conv3d"] = conv(conv3d);
  ops["conv_transpose1d"] = conv(conv_transpose1d);
  ops["conv_transpose2d"] = conv(conv_transpose2d);
  ops["conv_transpose3d"] = conv(conv_transpose3d);
  ops["max_pool1d"] = pool(max_pool1d);
  ops["max_pool2d"] = pool(max_pool2d);
  ops["max_pool3d"] = pool(max_pool3d);
  ops["avg_pool1d"] = pool(avg_pool1d);
  ops["avg_pool2d"] = pool(avg_pool2d);
  ops["avg_pool3d"] = pool(avg_pool3d);
  ops["adaptive_max_pool1d"] = op(adaptive_max_pool1d);
  ops["adaptive_max_pool2d"] = op(adaptive_max_pool2d);
  ops["adaptive_max_pool3d"] = op(adaptive_max_pool3d);
  ops["adaptive_avg_pool1d"] = op(adaptive_avg_pool1d);
  ops["adaptive_avg_pool2d"] = op(adaptive_avg_pool2d);
  ops["adaptive_avg_pool3d"] = op(adaptive_avg_pool3d);
  ops["interpolate"] = with_call(resized);
  ops["layer_norm"] = op(layer_norm);
  ops["group_norm"] = op(group_norm);
  ops["rms_norm"] = op(rms_norm);
  ops["scaled_dot_product_attention"] = with_call([](const Call& call) {
    return scaled_dot_product_attention(call.tensor(0), call.tensor(1), call.tensor(2),
                                        attention_options(call));
  });
  ops["attention_weights"] = with_call([](const Call& call) {
    return attention_weights(call.tensor(0), call.tensor(1), attention_options(call));
  });
  ops["self_attention"] = with_call([](const Call& call) {
    return self_attention(call.tensor(0), call.at<std::int64_t>(1), attention_options(call));
  });
  ops["lstm_steps"] = op(lstm_steps);
  ops["rotary_embedding"] = op(rotary_embedding);
  ops["sinusoidal_positions"] = op(sinusoidal_positions);
}

}  // namespace veldt::peers
