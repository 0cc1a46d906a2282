// What libveldt_openmpi.so and libveldt_mpich.so export: one function, veldt_mpi_plugin.
// Tests: tests/dist/mpi_test.sh
#pragma once

#include <memory>
#include <string>

#include "veldt/dist/transport.h"

namespace veldt::dist {

struct MpiPlugin {
  const char* version;       // Veldt's
  std::size_t waist_size;    // kMpiWaist
  std::string (*library)();  // what MPI says of itself, in one line
  // Begins MPI, once a process. Throws DeviceError.
  std::unique_ptr<Transport> (*open)();
};

inline constexpr std::size_t kMpiWaist = sizeof(MpiPlugin) * 100 + sizeof(Transport);
inline constexpr const char* kMpiPluginEntry = "veldt_mpi_plugin";
using MpiPluginEntry = const MpiPlugin* (*)();

}  // namespace veldt::dist
