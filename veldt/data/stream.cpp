// Makes batches from a stream through a shuffle buffer, and skips to the position of a resumed run.
#include "veldt/data/stream.h"

#include <utility>

#include "veldt/core/error.h"
#include "veldt/data/draw.h"
#include "veldt/tensor/graph.h"

namespace veldt::data {

StreamLoader::StreamLoader(std::function<Stream(std::int64_t)> open, StreamOptions options)
    : open_(std::move(open)), options_(std::move(options)) {
  if (options_.batch < 1 || options_.shuffle_buffer < 1)
    throw ConfigError(str("a stream cannot have batches of ", options_.batch, " and a shuffle buffer of ",
                          options_.shuffle_buffer),
                      "both hold at least one example", "give numbers of 1 or more");
}

void StreamLoader::open(std::int64_t epoch) {
  epoch_ = -1;  // until it is open
  buffer_.clear();
  drawn_ = 0;
  stream_ = open_(epoch);
  epoch_ = epoch;
}

// A stream that has ended is not read again.
std::optional<Example> StreamLoader::read() {
  if (!stream_) return std::nullopt;
  std::optional<Example> example = stream_();
  if (!example) stream_ = nullptr;
  return example;
}

// Examples in the order of the batches. The random numbers depend on how many were drawn before.
std::optional<Example> StreamLoader::next() {
  while (std::ssize(buffer_) < options_.shuffle_buffer) {
    std::optional<Example> example = read();
    if (!example) break;
    buffer_.push_back(std::move(*example));
  }
  if (buffer_.empty()) return std::nullopt;
  Rng rng = stream_of(Draw::choice, options_.seed, epoch_, drawn_++);
  const std::size_t at = rng.next_u32() % buffer_.size();
  std::swap(buffer_[at], buffer_.back());
  Example example = std::move(buffer_.back());
  buffer_.pop_back();
  return example;
}

std::optional<Batch> StreamLoader::batch(std::int64_t epoch, std::int64_t number) {
  if (epoch < 0 || number < 0)
    throw ConfigError(str("there is no batch ", number, " of epoch ", epoch), "both are counted from 0",
                      "give 0 or more");
  const NoGrad off;
  const std::int64_t begin = number * options_.batch;
  try {
    if (epoch != epoch_ || begin < drawn_) open(epoch);
    while (drawn_ < begin)
      if (!next()) return std::nullopt;
    std::vector<Example> examples;
    while (std::ssize(examples) < options_.batch) {
      const std::int64_t position = drawn_;
      std::optional<Example> example = next();
      if (!example) break;
      if (options_.transform) {
        Rng rng = stream_of(Draw::example, options_.seed, epoch, position);
        example = options_.transform(std::move(*example), rng);
      }
      examples.push_back(std::move(*example));
    }
    if (examples.empty() || (options_.drop_last && std::ssize(examples) < options_.batch))
      return std::nullopt;
    Rng rng = stream_of(Draw::batch, options_.seed, epoch, number);
    return options_.collate ? options_.collate(std::move(examples), rng) : stacked(std::move(examples), rng);
  } catch (...) {
    epoch_ = -1;  // the next call reads from the beginning
    throw;
  }
}

}  // namespace veldt::data
