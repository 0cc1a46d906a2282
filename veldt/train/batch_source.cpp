// Batches by number from a loader, or one after the other from a stream.
#include "veldt/train/batch_source.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/io/json.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"

namespace veldt::train {

void LoaderSource::take_parts(const data::Parts& parts) {
  loader_.take_parts(parts);
  parts_ = parts;
}

bool LoaderSource::is_whole(std::int64_t number) const {
  return loader_.examples(number / parts_.count()) == loader_.options().batch;
}

std::string LoaderSource::config() const {
  const data::LoaderOptions& o = loader_.options();
  return io::dump_json(nlohmann::json{{"examples", o.sampler.size},
                                      {"batch", o.batch},
                                      {"seed", o.seed},
                                      {"shuffle", o.shuffle},
                                      {"drop_last", o.drop_last}});
}

data::Batch StreamSource::batch(std::int64_t number) {
  if (number % parts_.count() > 0) return part(number);
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
  whole_ = std::move(*batch);
  examples_ = whole_.empty() || whole_[0].rank() == 0 ? 0 : whole_[0].size(0);
  return part(number);
}

data::Batch StreamSource::part(std::int64_t number) const {
  if (parts_.of == 1) return whole_;
  const std::int64_t part = parts_.first + number % parts_.count();
  std::int64_t begin = parts_.begin_of(part, examples_), end = parts_.begin_of(part + 1, examples_);
  data::Batch some;
  if (begin == end && !parts_.never_empty) return some;
  if (begin == end) begin = 0, end = 1;
  for (const Tensor& t : whole_) {
    if (t.rank() == 0 || t.size(0) != examples_)
      throw ShapeError(str("a batch with a tensor ", t.shape(), " cannot be shared out"),
                       str("it has ", examples_, " examples, one in each row of a tensor"),
                       "collate examples along the first dimension");
    some.push_back(narrow(t, 0, begin, end - begin));
  }
  return some;
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
