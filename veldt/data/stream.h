// Batches of examples that come one after the other and whose number is unknown: lines of a file that does
// not fit into memory, records of a pipe. Where examples have numbers, data/loader.h is faster, shuffles
// better and is what a Trainer takes.
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
  // Examples in the buffer from which one is drawn at random, and replaced by the next; 1: as they come. An
  // example is never as many places early, so a stream in the order of its classes needs a large one.
  std::int64_t shuffle_buffer = 1;
  std::uint64_t seed = 0;
  bool drop_last = false;  // a last batch that is not full
  Transform transform = {};
  Collate collate = {};  // stacked(), if there is none
};

class StreamLoader {
 public:
  // `open` begins the stream of an epoch; the same examples each time it is asked for the same one, if
  // batches are to be the same. Throws ConfigError for numbers below 1.
  explicit StreamLoader(std::function<Stream(std::int64_t epoch)> open, StreamOptions options = {});

  // Batch 0, 1, .. of an epoch, nothing after the last one: a pure function of the stream, the seed and the
  // two numbers. Asked for one after the other, each example is read once. A later number reads up to it
  // without transforms, as a run does that is resumed there; an earlier one opens the epoch again. Throws
  // what the stream and the transform throw, and ShapeError for examples that cannot be stacked.
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
