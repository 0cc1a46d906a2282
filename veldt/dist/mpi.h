// Ranks that a launcher has started: mpirun, mpiexec or srun. MPI itself is used by a library of its own,
// beside libveldt, which is opened when a launcher was found and not before.
// Tests: tests/dist/launch_test.cpp, tests/dist/mpi_test.sh
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "veldt/dist/transport.h"

namespace veldt::dist {

enum class Mpi { openmpi, mpich };
// "Open MPI", "MPICH"
const char* name_of(Mpi kind);

// What a launcher says of the process that it has started.
struct Launch {
  Mpi kind = Mpi::openmpi;
  int rank = 0, size = 1;
};
// By the variables that it sets; none if there was no launcher. `variable`: the value of an environment
// variable, or null, as std::getenv gives. Throws ConfigError for variables that make no sense.
std::optional<Launch> find_launch(const std::function<const char*(const char*)>& variable);

// Throws DeviceError when it is called if the library is missing, does not fit this build, or MPI does not
// begin.
TransportFactory mpi(Mpi kind);

// For `veldt doctor`: the library's path, and what MPI says of itself; or why it cannot be used.
struct MpiReport {
  bool usable = false;
  std::string path, version, reason;
};
MpiReport look_for_mpi(Mpi kind);

}  // namespace veldt::dist
