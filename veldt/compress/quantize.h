// Networks with integers in the place of weights, and of the numbers between layers: what becomes of each
// weight, how it is found, and how a file says it.
//   compress::quantize(network, {.method = compress::Method::calibrated}, [&] { network(some_inputs); });
// Tests: tests/compress/quantize_test.cpp
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "veldt/compress/fold.h"
#include "veldt/compress/observer.h"
#include "veldt/nn/weight.h"

namespace veldt::compress {

// What products multiply integers by: floats; bytes, of a range that each call finds; bytes of a range that
// examples have shown.
enum class Method : std::uint8_t { weights, dynamic, calibrated };
// "static", "dynamic" or "floats", as people are told.
const char* input_name(nn::QuantizedInput input);

struct QuantizeOptions {
  int bits = 8;  // or 4: of matrices whose rows are groups of 32, which floats multiply; other weights have 8
  Method method = Method::calibrated;
  Calibration calibration = Calibration::mse;
  std::vector<std::string> keep = {};  // weights, or modules, that stay floats
};

// A product whose result is bytes of the range that another one's input has, and takes.
struct Link {
  std::string to;
  bool relu = false;  // which lies between them, and is a part of the product then

  friend bool operator==(const Link&, const Link&) = default;
};

// What a network that was quantised has instead of floats: enough to build it again from the one of floats.
struct Scheme {
  std::vector<FoldedNorm> folded = {};
  std::map<std::string, nn::WeightFormat> weights = {};  // by the whole name, "2.weight"
  std::map<std::string, Link> links = {};                // by the weight that gives the bytes

  bool empty() const { return folded.empty() && weights.empty(); }
};

// A weight of a network, and where it is.
struct PlacedWeight {
  std::string name, layer;  // "2.weight", "2"
  nn::Module* module;
  nn::Quantizable::Named part;
};
// All that could become integers, each once.
std::vector<PlacedWeight> weights_of(nn::Module& network);

// What each weight would become.
Scheme planned(nn::Module& network, const QuantizeOptions& options);

// The ranges of inputs, by the whole names of weights, while `run` calls the network on examples, in
// evaluation. Of weights in `scheme` with a fixed input; one whose layer is not called is made dynamic there.
std::map<std::string, NumberRange> calibrated(nn::Module& network, Scheme& scheme, Calibration how,
                                              const std::function<void()>& run);

// Integers in the place of the weights of a scheme. Throws ConfigError and Error as quantize().
void apply(nn::Module& network, const Scheme& scheme, const std::map<std::string, NumberRange>& ranges);

// All of it: the weights of `network` become integers, after planned() and calibrated(). Batch norms are
// folded by fold_batch_norms() before it; `folded` is what that gave. `run` is called for Method::calibrated
// alone. Throws ConfigError for options that cannot be, and Error for weights that are not finite.
Scheme quantize(nn::Module& network, const QuantizeOptions& options, const std::function<void()>& run = {},
                std::vector<FoldedNorm> folded = {});

// A network of floats in that form, without the numbers: for load_state_dict(). Throws ConfigError for names
// and formats that it cannot have.
void expect(nn::Module& network, const Scheme& scheme);
// Throws IoError corrupt for loaded scales and zero points that cannot be.
void check(nn::Module& network);
// Training that knows of it: products see integers, and learn to do with them (Jacob et al. 2018). expect()
// or quantize() of a copy with these weights then loses nothing more.
void simulate(nn::Module& network, const Scheme& scheme);
// The scheme that simulate() was given, and the ranges that training has found; it ends. What apply() then
// makes of the network computes what it did in training. Empty for a network that was not taught so.
struct Taught {
  Scheme scheme = {};
  std::map<std::string, NumberRange> ranges = {};
};
Taught end_simulation(nn::Module& network);

// Products of integers that follow each other, with nothing but ReLU, max pooling, Flatten and what does
// nothing in evaluation between them, pass on bytes, not floats; the network gives the same bits. The network
// is in evaluation.
std::map<std::string, Link> link_layers(nn::Module& network, const Tensor& example);
// They take floats again, as other programs want to see it.
void unlink_layers(nn::Module& network);
// Throws ConfigError for links that cannot be.
void set_links(nn::Module& network, const std::map<std::string, Link>& links);

// For a file's metadata, "quantization". Throws IoError malformed, or corrupt for another version.
std::string in_json(const Scheme& scheme);
Scheme scheme_of_json(std::string_view text);

// How much one weight's integers disturb the network's result: each by itself, in decibels of the result over
// the error, by `run`, which gives results for some examples. In the order of weights_of().
struct Sensitivity {
  std::string name;
  double decibels = 0;  // infinite if nothing changes
};
std::vector<Sensitivity> sensitivities(
    nn::Module& network, const Scheme& scheme, const std::map<std::string, NumberRange>& ranges,
    const std::function<Tensor()>& run,
    const std::function<void(std::size_t done, std::size_t all)>& heard = {});

}  // namespace veldt::compress
