// Chooses formats, watches inputs, and puts integers into weights.
#include "veldt/compress/quantize.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::compress {
namespace {

using Use = nn::Quantizable::Use;
using nn::QuantizedInput;
using nn::WeightFormat;

WeightFormat format_for(const PlacedWeight& w, const QuantizeOptions& o) {
  if (w.part.use == Use::table) return {8, QuantizedInput::floats};  // its rows are looked up
  if (o.bits == 4)
    return {w.part.use == Use::product && w.part.weight->has_groups() ? 4 : 8, QuantizedInput::floats};
  if (o.method == Method::weights) return {8, QuantizedInput::floats};
  if (w.part.use == Use::recurrence) return {8, QuantizedInput::fixed};
  return {
      8, o.method == Method::calibrated && w.part.of_input ? QuantizedInput::fixed : QuantizedInput::dynamic};
}

bool is_kept(const PlacedWeight& w, const std::vector<std::string>& keep) {
  return std::any_of(keep.begin(), keep.end(), [&](const std::string& name) {
    return w.name == name || w.layer == name || w.layer.starts_with(name + ".");
  });
}

// fn(place, format) for each weight of the scheme.
template <class Fn> void for_scheme(nn::Module& network, const Scheme& scheme, const Fn& fn) {
  std::size_t found = 0;
  for (const PlacedWeight& w : weights_of(network))
    if (const auto at = scheme.weights.find(w.name); at != scheme.weights.end()) fn(w, at->second), ++found;
  if (found == scheme.weights.size()) return;
  for (const auto& [name, format] : scheme.weights) {
    const auto all = weights_of(network);
    if (std::none_of(all.begin(), all.end(), [&, n = name](const PlacedWeight& w) { return w.name == n; }))
      throw ConfigError(str("'", name, "' cannot become integers"), "the network has no such weight",
                        "name weights of its layers, as veldt info lists them");
  }
}

double decibels_of(const Tensor& exact, const Tensor& found) {
  const Tensor x = to(exact, DType::f64), y = to(found, DType::f64);
  const double error = sum(square(x - y)).item<double>(), size = sum(square(x)).item<double>();
  if (error == 0) return std::numeric_limits<double>::infinity();
  return 10 * std::log10(size / error);
}

}  // namespace

std::vector<PlacedWeight> weights_of(nn::Module& network) {
  std::vector<PlacedWeight> all;
  std::set<const nn::Weight*> seen;
  for (const nn::NamedModule& m : network.named_modules()) {
    auto* layer = dynamic_cast<nn::Quantizable*>(m.module);
    if (!layer) continue;
    for (const nn::Quantizable::Named& part : layer->weights()) {
      if (!part.weight->defined() || !seen.insert(part.weight).second) continue;
      all.push_back({m.name.empty() ? part.name : m.name + "." + part.name, m.name, m.module, part});
    }
  }
  return all;
}

const char* input_name(nn::QuantizedInput input) {
  return input == nn::QuantizedInput::fixed     ? "static"
         : input == nn::QuantizedInput::dynamic ? "dynamic"
                                                : "floats";
}

Scheme planned(nn::Module& network, const QuantizeOptions& o) {
  if (o.bits != 8 && o.bits != 4)
    throw ConfigError(str("weights cannot have ", o.bits, " bits"), "there are 8 and 4",
                      "choose one of these");
  Scheme scheme;
  const std::vector<PlacedWeight> all = weights_of(network);
  for (const std::string& name : o.keep)
    if (std::none_of(all.begin(), all.end(), [&](const PlacedWeight& w) { return is_kept(w, {name}); }))
      throw ConfigError(str("'", name, "' cannot be kept"), "no weight and no module is called that",
                        "name those of the network, as veldt info lists them");
  for (const PlacedWeight& w : all)
    if (!is_kept(w, o.keep)) scheme.weights.emplace(w.name, format_for(w, o));
  if (scheme.weights.empty())
    throw ConfigError("the network cannot be quantised", "it has no layer whose weight could become integers",
                      "give one with linear layers, convolutions, embeddings or recurrent layers");
  return scheme;
}

std::map<std::string, NumberRange> calibrated(nn::Module& network, Scheme& scheme, Calibration how,
                                              const std::function<void()>& run) {
  std::map<std::string, Observer> observers;
  {
    ScopedHooks hooks;
    for_scheme(network, scheme, [&](const PlacedWeight& w, const WeightFormat& format) {
      if (format.input != QuantizedInput::fixed || w.part.use == Use::recurrence) return;
      Observer& observer = observers[w.name];
      hooks.add(w.module->register_forward_pre_hook([&observer](const nn::Module&, TensorList& inputs) {
        std::set<const TensorImpl*> seen;
        for (const Tensor& x : inputs)
          if (x.defined() && is_float(x.dtype()) && seen.insert(x.impl()).second) observer.see(x);
      }));
    });
    const NoGrad off;
    if (!observers.empty()) run();
  }
  std::map<std::string, NumberRange> ranges;
  for (const PlacedWeight& w : weights_of(network))
    if (w.part.use == Use::recurrence && scheme.weights.contains(w.name)) ranges[w.name] = {-1, 1};
  for (auto& [name, format] : scheme.weights) {
    if (format.input != QuantizedInput::fixed || ranges.contains(name)) continue;
    const Observer& observer = observers.at(name);
    if (observer.has_seen())
      ranges.emplace(name, observer.range(how));
    else
      format.input = QuantizedInput::dynamic;
  }
  return ranges;
}

void apply(nn::Module& network, const Scheme& scheme, const std::map<std::string, NumberRange>& ranges) {
  for_scheme(network, scheme, [&](const PlacedWeight& w, const WeightFormat& format) {
    const NumberRange range = ranges.contains(w.name) ? ranges.at(w.name) : NumberRange{};
    w.part.weight->quantize(format, range.low, range.high);
  });
}

Scheme quantize(nn::Module& network, const QuantizeOptions& options, const std::function<void()>& run,
                std::vector<FoldedNorm> folded) {
  Scheme scheme = planned(network, options);
  scheme.folded = std::move(folded);
  const std::map<std::string, NumberRange> ranges = calibrated(network, scheme, options.calibration, run);
  apply(network, scheme, ranges);
  return scheme;
}

void expect(nn::Module& network, const Scheme& scheme) {
  expect_folded(network, scheme.folded);
  for_scheme(network, scheme, [](const PlacedWeight& w, const WeightFormat& format) {
    if (w.part.use == Use::table && format != WeightFormat{8, QuantizedInput::floats})
      throw ConfigError(str("the rows of '", w.name, "' cannot be looked up as the file has them"),
                        "a table has integers of 8 bits, and nothing is multiplied by it",
                        "quantize the network again");
    w.part.weight->expect(format);
  });
  set_links(network, scheme.links);
}

void check(nn::Module& network) {
  for (const PlacedWeight& w : weights_of(network))
    if (w.part.weight->is_quantized()) w.part.weight->check(w.name);
}

void simulate(nn::Module& network, const Scheme& scheme) {
  for_scheme(network, scheme,
             [](const PlacedWeight& w, const WeightFormat& format) { w.part.weight->simulate(format); });
}

Taught end_simulation(nn::Module& network) {
  Taught taught;
  for (const PlacedWeight& w : weights_of(network)) {
    nn::Weight& weight = *w.part.weight;
    if (!weight.is_simulated()) continue;
    taught.scheme.weights[w.name] = *weight.format();
    if (const Tensor& found = weight.simulated_range(); found.defined()) {
      const std::vector<float> ends = to(found, Device{}).values<float>();
      if (ends[0] < ends[1])
        taught.ranges[w.name] = {ends[0], ends[1]};
      else  // no call of training came by
        taught.scheme.weights[w.name].input = nn::QuantizedInput::dynamic;
    }
    weight.simulate({});
  }
  return taught;
}

std::vector<Sensitivity> sensitivities(nn::Module& network, const Scheme& scheme,
                                       const std::map<std::string, NumberRange>& ranges,
                                       const std::function<Tensor()>& run,
                                       const std::function<void(std::size_t, std::size_t)>& heard) {
  const NoGrad off;
  const Tensor exact = run();
  std::vector<Sensitivity> all;
  for_scheme(network, scheme, [&](const PlacedWeight& w, const WeightFormat& format) {
    if (heard) heard(all.size(), scheme.weights.size());
    w.part.weight->simulate(format);
    if (const auto range = ranges.find(w.name); range != ranges.end())
      w.part.weight->set_simulated_range(range->second.low, range->second.high);
    const Tensor found = run();
    w.part.weight->simulate({});
    all.push_back({w.name, decibels_of(exact, found)});
  });
  return all;
}

}  // namespace veldt::compress
