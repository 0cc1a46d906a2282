// Finds the launcher and the library that fits it.
#include "veldt/dist/mpi.h"

#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "veldt/core/beside.h"
#include "veldt/core/error.h"
#include "veldt/dist/mpi_plugin.h"

namespace veldt::dist {
namespace {

struct Kind {
  const char* name;
  const char* file;
  const char* package;
  const char* rank;  // variables
  const char* size;
};
constexpr Kind kKinds[] = {
    {"Open MPI", "libveldt_openmpi.so", "libopenmpi-dev", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    // The launcher of MPICH, and those that talk to it, Slurm's among them.
    {"MPICH", "libveldt_mpich.so", "libmpich-dev", "PMI_RANK", "PMI_SIZE"},
    // Slurm's, where it speaks PMIx (srun --mpi=pmix), which Open MPI understands.
    {"Open MPI", "libveldt_openmpi.so", "libopenmpi-dev", "PMIX_RANK", "SLURM_STEP_NUM_TASKS"},
};
const Kind& kind_of(Mpi kind) { return kKinds[static_cast<std::size_t>(kind)]; }

int number_from(const char* variable, const char* text) {
  int number = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, number);
  if (error != std::errc() || stop != end || number < 0)
    throw ConfigError(str("the variable ", variable, " is '", text, "'"),
                      "a launcher of MPI sets it to a number",
                      "start veldt by mpirun, or unset the variable");
  return number;
}

const MpiPlugin& plugin_of(Mpi kind, std::string& path) {
  const Kind& k = kind_of(kind);
  const std::string refusal = str("cannot use ", k.name);
  const std::vector<std::string> paths = files_beside_veldt(k.file);
  if (paths.empty())
    throw DeviceError(refusal, str("there is no ", k.file, " beside Veldt: it was built without ", k.name),
                      str("install ", k.package, " and build Veldt again"));
  const OwnLibrary library = load_own_library(paths, kMpiPluginEntry, refusal);
  path = library.path;
  const MpiPlugin& plugin = *reinterpret_cast<MpiPluginEntry>(library.entry)();
  if (std::strcmp(plugin.version, VELDT_VERSION) != 0 || plugin.waist_size != kMpiWaist)
    throw DeviceError(
        refusal,
        str(path, " belongs to Veldt ", plugin.version, ", and this is another build, ", VELDT_VERSION),
        "install both from one build");
  return plugin;
}

}  // namespace

const char* name_of(Mpi kind) { return kind_of(kind).name; }

std::optional<Launch> find_launch(const std::function<const char*(const char*)>& variable) {
  for (const Kind& k : kKinds) {
    const char* const rank = variable(k.rank);
    const char* const size = variable(k.size);
    if (rank == nullptr || size == nullptr) continue;
    const Launch launch{&k == &kKinds[1] ? Mpi::mpich : Mpi::openmpi, number_from(k.rank, rank),
                        number_from(k.size, size)};
    if (launch.size < 1 || launch.rank >= launch.size)
      throw ConfigError(str("the variables ", k.rank, " and ", k.size, " contradict each other"),
                        str("there is no rank ", launch.rank, " of ", launch.size), "start veldt by mpirun");
    return launch;
  }
  return std::nullopt;
}

TransportFactory mpi(Mpi kind) {
  return [kind] {
    std::string path;
    return plugin_of(kind, path).open();
  };
}

MpiReport look_for_mpi(Mpi kind) {
  MpiReport report;
  try {
    const MpiPlugin& plugin = plugin_of(kind, report.path);
    report.version = plugin.library();
    report.usable = true;
  } catch (const Error& error) {
    report.reason = error.why();
  }
  return report;
}

}  // namespace veldt::dist
