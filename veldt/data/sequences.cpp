// Cuts sequences into windows; the target of each is its continuation.
#include "veldt/data/sequences.h"

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"

namespace veldt::data {
namespace {

void check_window(const char* what, std::int64_t rows, std::int64_t window) {
  if (window < 1 || window > rows)
    throw ConfigError(str("there is no window of ", window, " in ", rows, ' ', what),
                      "a window needs at least one element, and a sequence at least as long",
                      "use a shorter one");
}

}  // namespace

DatasetPtr token_windows(const Tensor& tokens, std::int64_t length) {
  if (tokens.rank() != 1 || tokens.dtype() != DType::i64)
    throw ShapeError(str("cannot cut windows from ", tokens.dtype(), ' ', tokens.shape()),
                     "tokens are i64 [n]", "give what encode() gave");
  check_window("tokens that have a next one", tokens.size(0) - 1, length);
  const Tensor kept = contiguous(to(tokens, Device{}));
  return from_function(kept.size(0) - length, [kept, length](std::int64_t i) -> Example {
    return {narrow(kept, 0, i, length), narrow(kept, 0, i + 1, length)};
  });
}

DatasetPtr series_windows(const Tensor& series, std::int64_t past, std::int64_t future) {
  if (series.rank() != 2)
    throw ShapeError(str("cannot cut windows from a series of ", series.shape()), "it is [n, features]",
                     "unsqueeze() a list");
  check_window("rows", series.size(0), past);
  check_window("rows", series.size(0) - past, future);
  const Tensor kept = contiguous(to(series, Device{}));
  return from_function(kept.size(0) - past - future + 1, [kept, past, future](std::int64_t i) -> Example {
    return {narrow(kept, 0, i, past), narrow(kept, 0, i + past, future)};
  });
}

}  // namespace veldt::data
