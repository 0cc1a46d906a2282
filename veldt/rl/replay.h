// What an agent remembers: the last transitions, drawn evenly or by how much is left to learn from them.
// Tests: tests/rl/replay_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/tensor/named.h"

namespace veldt::rl {

// Numbers 0 .. size-1 with weights, of which one is drawn in proportion to its weight: a binary tree of sums,
// so that both a change and a draw take log2(size) steps.
class SumTree {
 public:
  explicit SumTree(std::int64_t size);
  void set(std::int64_t at, double weight);
  double weight(std::int64_t at) const { return nodes_[static_cast<std::size_t>(leaves_ + at)]; }
  double total() const { return nodes_[1]; }
  // The number in whose part of 0 .. total() this lies.
  std::int64_t find(double sum) const;

 private:
  std::int64_t leaves_;
  std::vector<double> nodes_;  // node i is the sum of 2i and 2i + 1; the root is 1
};

struct ReplayOptions {
  std::int64_t capacity = 50'000;
  // Prioritised (Schaul et al. 2016): drawn in proportion to (|error| + 1e-6)^alpha, and weighted by
  // (size P)^-beta over the largest weight of the batch.
  bool prioritized = false;
  double alpha = 0.6;
};

// Transitions (observation, choice, reward, next observation, whether the episode ended there by its rules);
// the oldest makes place for the newest.
class Replay {
 public:
  // Throws ConfigError for a capacity below 1 or above 2^26, and an alpha outside of 0 .. 1.
  Replay(std::int64_t observation_size, ReplayOptions options);

  std::int64_t size() const { return size_; }
  void add(std::span<const float> observation, std::int64_t choice, float reward, std::span<const float> next,
           bool terminated);

  // Draws rows, with replacement, and the weight of each: 1 unless prioritised, then by `beta`.
  void draw(Rng& rng, double beta, std::span<std::int64_t> rows, std::span<float> weights) const;
  // How wrong each of these was; without effect unless prioritised.
  void learned(std::span<const std::int64_t> rows, std::span<const float> errors);

  std::span<const float> observation(std::int64_t row) const { return line(observations_, row); }
  std::span<const float> next(std::int64_t row) const { return line(nexts_, row); }
  std::int64_t choice(std::int64_t row) const { return choices_.data<std::int64_t>()[row]; }
  float reward(std::int64_t row) const { return rewards_.data<float>()[row]; }
  bool terminated(std::int64_t row) const { return ends_.data<std::uint8_t>()[row] != 0; }

  // All of it, for a checkpoint; shares memory.
  NamedTensors saved() const;
  // Throws IoError corrupt for numbers that no run has.
  void load(const std::map<std::string, Tensor>& saved);

 private:
  std::span<const float> line(const Tensor& of, std::int64_t row) const {
    return {of.data<float>() + row * width_, static_cast<std::size_t>(width_)};
  }

  std::int64_t width_;
  ReplayOptions options_;
  std::int64_t size_ = 0, place_ = 0;
  Tensor observations_, nexts_, choices_, rewards_, ends_;
  std::optional<SumTree> tree_;
  double most_ = 1;  // the largest weight so far, which new ones get
};

}  // namespace veldt::rl
