#include "veldt/app/wait_policy.h"

#include <unistd.h>

#include <cstdlib>

namespace veldt::app {

void prefer_short_waits(char** argv) {
  if (std::getenv("GOMP_SPINCOUNT") || std::getenv("OMP_WAIT_POLICY")) return;
  // About a microsecond: worth it between two loops of one step, too short to be in anyone's way.
  if (setenv("GOMP_SPINCOUNT", "1000", 1) != 0) return;
  execv("/proc/self/exe", argv);  // returns only if it failed
}

}  // namespace veldt::app
