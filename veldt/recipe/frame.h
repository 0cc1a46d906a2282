// A graph while it is built from a recipe: the values that pass in it, those with names, and how a layer is
// put into it.
// Tests: tests/recipe/network_test.cpp
#pragma once

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/nn/graph.h"
#include "veldt/recipe/call.h"
#include "veldt/recipe/layers.h"

namespace veldt::recipe {

// A value on its way through the network.
struct Passing {
  nn::Graph::Value value = 0;
  Shape shape;
  DType dtype = DType::f32;
};

// A graph that is being built. What is saved there may be read there and in the graphs within, which then
// have one more input for it.
struct Frame {
  struct Saved {
    Passing passing;
    bool is_read = false;
    io::Source source = {};
  };
  Frame* outer = nullptr;
  nn::Graph graph = nn::Graph();
  std::map<std::string, Saved> saved = {};
  std::vector<nn::Graph::Value> imports = {};  // of `outer`: what the inputs after the first are
};

// The value of that name in the frame, or in those around it. Throws UsageError that lists those there are.
Passing read_value(Frame& frame, const Call& call, const std::string& name);
// Throws UsageError for a value that was saved and never read.
void check_reads(const Frame& frame);
// The frame's graph as a layer of the one around it: called with x, it gives y.
Passing put_inner(const std::string& name, Frame inner, const Passing& x, Passing y);

// "LINE cannot be 'Linear(0)'"
UsageError refused_text(const io::Source& source, const std::string& text, const std::string& why,
                        const std::string& fix);

// Puts layers into graphs.
class Placing {
 public:
  // Without a stream of random numbers it builds none, and a value keeps its shape.
  explicit Placing(Rng* rng, double most_parameters = std::numeric_limits<double>::infinity())
      : rng_(rng), most_parameters_(most_parameters) {}
  bool builds() const { return rng_ != nullptr; }

  // Called for each layer, block and saved value. Throws UsageError when there are more than a network has.
  void count(const Call& call);
  // A layer that reads these values. Sizes are planned first, and checked before anything takes memory or
  // time. Throws UsageError naming `source`, where the call stands, for what does not fit or is too large.
  Passing put(Frame& frame, const io::Source& source, const std::string& name, const Call& call,
              const Build& build, const std::vector<Passing>& from);

 private:
  Rng* const rng_;
  const double most_parameters_;
  double parameters_ = 0;
  std::int64_t layers_ = 0;
};

}  // namespace veldt::recipe
