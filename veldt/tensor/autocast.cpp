// The thread's autocast dtype, while an Autocast object exists.
#include "veldt/tensor/autocast.h"

#include "veldt/core/error.h"

namespace veldt {
namespace {

thread_local constinit std::optional<DType> t_autocast;

}  // namespace

Autocast::Autocast(std::optional<DType> dtype) : before_(t_autocast) {
  if (dtype && !is_half(*dtype))
    throw ConfigError(str("Autocast cannot round to ", *dtype), "it is for half floats",
                      "give DType::bf16 or DType::f16");
  t_autocast = dtype;
}

Autocast::~Autocast() { t_autocast = before_; }

std::optional<DType> autocast_dtype() { return t_autocast; }

}  // namespace veldt
