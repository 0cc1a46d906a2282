// Batches of examples that can only be read in sequence and whose number is unknown: lines of a file that
// does not fit into memory, records of a pipe. If examples have indices, use data/loader.h: it is faster and
// shuffles better.
// Tests: tests/data/stream_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "veldt/data/loader.h"

namespace veldt::data {

// The next example, or nothing after the last one.
using Stream = std::function<std::optional<Example>()>;

struct StreamOptions {
  std::int64_t batch = 32;
  // Examples in the buffer, from which one is drawn at random and replaced by the next; 1: in order. An
  // example moves forward by less than this many places, so a stream sorted by class needs a large buffer.
  std::int64_t shuffle_buffer = 1;
  std::uint64_t seed = 0;
  bool drop_last = false;  // a last batch that is not full
  Transform transform = {};
  Collate collate = {};  // stacked(), if there is none
};

class StreamLoader {
 public:
  // `open` begins the stream of an epoch. For reproducible batches it must give the same examples for the
  // same epoch. Throws ConfigError for numbers below 1.
  explicit StreamLoader(std::function<Stream(std::int64_t epoch)> open, StreamOptions options = {});

  const StreamOptions& options() const { return options_; }

  // Batch 0, 1, .. of an epoch, nothing after the last one: a pure function of the stream, the seed and the
  // two numbers. If batches are requested in order, each example is read once. A later number reads up to it
  // without transforms, as when a run is resumed there; an earlier one opens the epoch again. Throws what the
  // stream and the transform throw, and ShapeError for examples that cannot be stacked.
  std::optional<Batch> batch(std::int64_t epoch, std::int64_t number);

 private:
  void open(std::int64_t epoch);
  std::optional<Example> read();
  std::optional<Example> next();

  std::function<Stream(std::int64_t)> open_;
  StreamOptions options_;
  Stream stream_;
  std::vector<Example> buffer_;
  std::int64_t epoch_ = -1, drawn_ = 0;  // examples, of the epoch
};

}  // namespace veldt::data
