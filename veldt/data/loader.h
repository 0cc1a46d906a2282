// Batches of a data set, made ahead by threads. Which examples a batch holds, and the random changes to them,
// are a pure function of (seed, epoch, position). So neither the number of threads nor a restart changes it,
// and only a loader's position needs to be saved.
// Tests: tests/data/loader_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/data/dataset.h"

namespace veldt::data {

// Examples stacked along a new first dimension, tensor by tensor: {inputs, targets}.
using Batch = std::vector<Tensor>;
// The same on another device.
Batch moved(Batch batch, Device device);

// An order of examples. Position 0..size-1 of an epoch holds example at(epoch, position).
struct Sampler {
  std::int64_t size = 0;
  std::function<std::int64_t(std::int64_t epoch, std::int64_t position)> at;
};
Sampler in_order(std::int64_t size);
// Another permutation in each epoch (Shuffle).
Sampler shuffled(std::int64_t size, std::uint64_t seed);
// `size` draws with replacement, example i with a probability in proportion to weights[i]. Throws ConfigError
// for weights that are negative, not finite, or all 0.
Sampler weighted(const std::vector<double>& weights, std::int64_t size, std::uint64_t seed);
// Every count-th position from `index` on: the share of process `index` of `count`. All get the same number:
// the last few positions are left out. Throws ConfigError unless 0 <= index < count.
Sampler share_of(Sampler sampler, int index, int count);

// Changes an example of a batch; `rng` is the example's own stream. Several threads call it at once.
using Transform = std::function<Example(Example, Rng&)>;
// Makes a batch from examples; the stream is the batch's.
using Collate = std::function<Batch(std::vector<Example>, Rng&)>;

// Each tensor stacked. Throws ShapeError naming both examples' shapes.
Batch stacked(std::vector<Example> examples, Rng& rng);

struct LoaderOptions {
  std::int64_t batch = 32;
  bool shuffle = false;
  Sampler sampler = {};  // instead of `shuffle`
  std::uint64_t seed = 0;
  bool drop_last = false;  // a last batch that is not full
  Transform transform = {};
  Collate collate = {};  // stacked(), if there is none
  int workers = 1;       // threads that make batches; 0: the calling thread makes them
  int ahead = 4;         // batches that are made in advance
  // An example that has a NaN or an infinity after the transform is an IoError malformed that names it. The
  // check takes 8 % of the time to load MNIST, and 1.5 % with random_affine().
  bool check_finite = false;
};

// Which parts of each batch a loader makes: first .. end - 1 of `of`, neighbours of about the same size. With
// fewer examples than parts some are empty.
struct Parts {
  std::int64_t first = 0, end = 1, of = 1;
  bool never_empty = false;  // a part without examples has the first of its batch, for who must go on

  std::int64_t count() const { return end - first; }
  bool operator==(const Parts&) const = default;
  // The first example of a part, of a batch of that many.
  std::int64_t begin_of(std::int64_t part, std::int64_t examples) const { return examples * part / of; }
};

class Loader {
 public:
  // Throws ConfigError for an empty set, and for numbers that are out of range.
  Loader(DatasetPtr set, LoaderOptions options = {});
  ~Loader();
  Loader(Loader&&) noexcept;
  Loader& operator=(Loader&&) noexcept;

  const Dataset& set() const;
  const LoaderOptions& options() const;
  std::int64_t batches() const;  // of an epoch

  // Batch number 0, 1, 2 .. counted over all epochs. Consecutive batches, from any number on, are made ahead.
  // An Error names its example; other exceptions of the data set or transform become an Error. For one thread
  // at a time.
  Batch batch(std::int64_t number);
  // From now on batch() counts parts: number n is part first + n % count of batch n / count, a batch by
  // itself for collate functions, and without tensors if it is empty. Which examples a part has, and what
  // chance does to each, are the whole batch's; batches() stays that of whole ones. Throws ConfigError unless
  // 0 <= first < end <= of.
  void take_parts(const Parts& parts);
  const Parts& parts() const;
  // Of a batch, counted over all epochs.
  std::int64_t examples(std::int64_t number) const;

  // The batches of one epoch: for (const Batch& b : loader.epoch(0)).
  class Epoch;
  Epoch epoch(std::int64_t epoch);
  // The same of batches first .. end - 1, counted over all epochs.
  Epoch range(std::int64_t first, std::int64_t end);

  // Seconds that callers of batch() have waited.
  double waited() const;

 private:
  // Batches from `end` on are not made ahead.
  Batch batch(std::int64_t number, std::int64_t end);

  struct State;
  std::unique_ptr<State> state_;
};

class Loader::Epoch {
 public:
  struct End {};
  class Iterator {
   public:
    Iterator(Loader& loader, std::int64_t next, std::int64_t end) : loader_(loader), next_(next), end_(end) {
      load();
    }
    const Batch& operator*() const { return batch_; }
    Iterator& operator++() {
      ++next_;
      load();
      return *this;
    }
    bool operator!=(End) const { return next_ < end_; }

   private:
    void load() {
      if (next_ < end_) batch_ = loader_.batch(next_, end_);
    }
    Loader& loader_;
    std::int64_t next_, end_;
    Batch batch_;
  };
  Epoch(Loader& loader, std::int64_t first, std::int64_t end) : loader_(loader), first_(first), end_(end) {}
  Iterator begin() const { return {loader_, first_, end_}; }
  End end() const { return {}; }

 private:
  Loader& loader_;
  std::int64_t first_, end_;
};

}  // namespace veldt::data
