// The small backend as a device that a test program registers.
#include "tests/support/small_backend.h"
#include "veldt/tensor/backends.h"

namespace veldt::test {

Device small_device() {
  static const DeviceKind kind = register_backend("small", open_small);
  return {kind, 0};
}

}  // namespace veldt::test
