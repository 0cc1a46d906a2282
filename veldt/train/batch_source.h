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
  // Which parts of its batches are wanted, of how many; all, unless it is told.
  virtual void take_parts(const data::Parts& parts) = 0;
  const data::Parts& parts() const { return parts_; }
  // Part first + n % count of batch n / count, counted over all epochs: see Loader::take_parts().
  virtual data::Batch batch(std::int64_t number) = 0;
  // Of what batch(number) just gave: whether the batch has as many examples as any; its share of the whole
  // batch's examples.
  virtual bool is_whole(std::int64_t number) const = 0;
  virtual double share(std::int64_t number) const = 0;
  // Examples of a batch, but for the last of an epoch.
  virtual std::int64_t batch_size() const = 0;
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

 protected:
  double share_of(std::int64_t number, std::int64_t examples) const {
    const std::int64_t part = parts_.first + number % parts_.count();
    return static_cast<double>(parts_.begin_of(part + 1, examples) - parts_.begin_of(part, examples)) /
           static_cast<double>(examples);
  }
  data::Parts parts_;
};

class LoaderSource final : public BatchSource {
 public:
  explicit LoaderSource(data::Loader& loader) : loader_(loader), before_(loader.parts()) { parts_ = before_; }
  ~LoaderSource() override { loader_.take_parts(before_); }
  void take_parts(const data::Parts& parts) override;
  data::Batch batch(std::int64_t number) override { return loader_.batch(number); }
  bool is_whole(std::int64_t number) const override;
  double share(std::int64_t number) const override {
    return share_of(number, loader_.examples(number / parts_.count()));
  }
  std::int64_t batch_size() const override { return loader_.options().batch; }
  std::int64_t batches() const override { return loader_.batches(); }
  double epochs(std::int64_t batches) const override {
    return static_cast<double>(batches) / static_cast<double>(loader_.batches());
  }
  double waited() const override { return loader_.waited(); }
  std::string config() const override;

 private:
  data::Loader& loader_;
  data::Parts before_;
};

class StreamSource final : public BatchSource {
 public:
  explicit StreamSource(data::StreamLoader& stream) : stream_(stream) {}
  void take_parts(const data::Parts& parts) override { parts_ = parts; }
  // The next one, whatever its number. Throws ConfigError for an epoch without batches, ShapeError for parts
  // of what has no first dimension.
  data::Batch batch(std::int64_t number) override;
  bool is_whole(std::int64_t) const override { return examples_ == stream_.options().batch; }
  double share(std::int64_t number) const override { return share_of(number, examples_); }
  std::int64_t batch_size() const override { return stream_.options().batch; }
  std::int64_t batches() const override { return 0; }
  double epochs(std::int64_t) const override { return static_cast<double>(next_.epoch); }
  double waited() const override { return waited_; }
  std::string config() const override;
  std::optional<FitState::Place> place() const override { return next_; }
  void go_to(const std::optional<FitState::Place>& place) override;

 private:
  data::Batch part(std::int64_t number) const;

  data::StreamLoader& stream_;
  FitState::Place next_;
  data::Batch whole_;  // whose parts are being given
  std::int64_t examples_ = 0;
  double waited_ = 0;
};

}  // namespace veldt::train
