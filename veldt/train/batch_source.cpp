// Batches by number from a loader, or one after the other from a stream.
#include "veldt/train/batch_source.h"

#include <nlohmann/json.hpp>

#include "veldt/core/error.h"
#include "veldt/io/json.h"

namespace veldt::train {

bool LoaderSource::is_whole(std::int64_t number, const data::Batch&) const {
  const data::LoaderOptions& o = loader_.options();
  return o.drop_last || o.sampler.size % o.batch == 0 || number % loader_.batches() + 1 < loader_.batches();
}

std::string LoaderSource::config() const {
  const data::LoaderOptions& o = loader_.options();
  return io::dump_json(nlohmann::json{{"examples", o.sampler.size},
                                      {"batch", o.batch},
                                      {"seed", o.seed},
                                      {"shuffle", o.shuffle},
                                      {"drop_last", o.drop_last}});
}

data::Batch StreamSource::batch(std::int64_t) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<data::Batch> batch = stream_.batch(next_.epoch, next_.batch);
  if (!batch && next_.batch > 0) {
    next_ = {.epoch = next_.epoch + 1};
    batch = stream_.batch(next_.epoch, 0);
  }
  if (!batch)
    throw ConfigError(str("the stream of epoch ", next_.epoch, " has no batch"),
                      "training would look for one for ever",
                      "open a stream of at least one example, or of a whole batch with drop_last");
  ++next_.batch;
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return *batch;
}

bool StreamSource::is_whole(std::int64_t, const data::Batch& batch) const {
  return !batch.empty() && batch[0].rank() > 0 && batch[0].size(0) == stream_.options().batch;
}

std::string StreamSource::config() const {
  const data::StreamOptions& o = stream_.options();
  return io::dump_json(nlohmann::json{{"batch", o.batch},
                                      {"seed", o.seed},
                                      {"shuffle_buffer", o.shuffle_buffer},
                                      {"drop_last", o.drop_last}});
}

void StreamSource::go_to(const std::optional<FitState::Place>& place) {
  if (!place)
    throw IoError(IoError::Kind::corrupt, "the fit's own state has no task.stream",
                  "every fit of a stream writes one", "start a new run");
  next_ = *place;
}

}  // namespace veldt::train
