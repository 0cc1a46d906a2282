// Where a fit's batches come from: a Loader, whose epochs have a known length, or a stream, which has none.
// Tests: tests/train/stream_test.cpp, tests/train/trainer_test.cpp
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "veldt/data/loader.h"
#include "veldt/data/stream.h"
#include "veldt/train/fit_state.h"

namespace veldt::train {

class BatchSource {
 public:
  virtual ~BatchSource() = default;
  // Batch number 0, 1, .. counted over all epochs.
  virtual data::Batch batch(std::int64_t number) = 0;
  // Whether that batch, which was just given, has as many examples as any.
  virtual bool is_whole(std::int64_t number, const data::Batch& batch) const = 0;
  // Of an epoch; 0: unknown.
  virtual std::int64_t batches() const = 0;
  // How many have been seen after so many batches.
  virtual double epochs(std::int64_t batches) const = 0;
  // Seconds that callers of batch() have waited.
  virtual double waited() const = 0;
  // What a resumed run must have too, as a JSON object.
  virtual std::string config() const = 0;
  // The place of the next batch, if it does not follow from its number; a resumed run returns there.
  virtual std::optional<FitState::Place> place() const { return std::nullopt; }
  virtual void go_to(const std::optional<FitState::Place>& /*place*/) {}
};

class LoaderSource final : public BatchSource {
 public:
  explicit LoaderSource(data::Loader& loader) : loader_(loader) {}
  data::Batch batch(std::int64_t number) override { return loader_.batch(number); }
  bool is_whole(std::int64_t number, const data::Batch& batch) const override;
  std::int64_t batches() const override { return loader_.batches(); }
  double epochs(std::int64_t batches) const override {
    return static_cast<double>(batches) / static_cast<double>(loader_.batches());
  }
  double waited() const override { return loader_.waited(); }
  std::string config() const override;

 private:
  data::Loader& loader_;
};

class StreamSource final : public BatchSource {
 public:
  explicit StreamSource(data::StreamLoader& stream) : stream_(stream) {}
  // The next one, whatever its number. Throws ConfigError for an epoch without batches.
  data::Batch batch(std::int64_t number) override;
  bool is_whole(std::int64_t number, const data::Batch& batch) const override;
  std::int64_t batches() const override { return 0; }
  double epochs(std::int64_t) const override { return static_cast<double>(next_.epoch); }
  double waited() const override { return waited_; }
  std::string config() const override;
  std::optional<FitState::Place> place() const override { return next_; }
  void go_to(const std::optional<FitState::Place>& place) override;

 private:
  data::StreamLoader& stream_;
  FitState::Place next_;
  double waited_ = 0;
};

}  // namespace veldt::train
