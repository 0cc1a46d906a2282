// Builds the table of the CPU's functions, and names the instruction set in use.
#include "veldt/cpu/cpu_backend.h"

#include "veldt/core/guarded.h"
#include "veldt/cpu/instruction_set.h"
#include "veldt/cpu/kernels.h"
#include "veldt/kernels/formula_name.h"

namespace veldt::cpu {

const Backend& backend() {
  static const Backend table = {
      .device = Device{DeviceKind::cpu, 0},
      .allocate = allocate,
      .deallocate = deallocate,
      .upload = upload,
      .download = download,
      .synchronize = synchronize,
      .formula_name = formula_name,
      .multiplies = multiplies,
      .mlp_workspace = mlp_workspace,
      .freezes_convolutions = freezes_convolutions,
      .multiplies_integers = multiplies_integers,
      .steps_integers = steps_integers,
#define VELDT_ENTRY(name, ...) .name = guarded<kName, Entry::name, name>,
#define VELDT_ANSWER(result, name, ...) .name = guarded<kName, Entry::name, name>,
#include "veldt/core/entries.inc"
  };
  return table;
}

const char* instruction_set() { return name_of(instruction_set_in_use()); }

}  // namespace veldt::cpu
