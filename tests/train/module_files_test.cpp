// Every module of veldt/nn is the same after its state was written to a file and read back.
#include <gtest/gtest.h>

#include "tests/support/module_table.h"
#include "tests/support/temp_dir.h"
#include "tests/support/values.h"
#include "veldt/io/safetensors.h"
#include "veldt/tensor/graph.h"

namespace veldt::test {
namespace {

TEST(EveryModule, GivesTheSameBitsWithWhatItsFileHolds) {
  const TempDir dir = TempDir::in_memory();
  const NoGrad off;
  for (const ModuleRow& row : module_table()) {
    SCOPED_TRACE(row.name);
    Rng first(1), second(2);
    const auto saved = row.make(first), loaded = row.make(second);
    const Tensor x = input_of(row);
    row.run(*saved, x);  // running statistics, random streams
    io::write_safetensors(dir / "m", saved->state_dict());
    EXPECT_TRUE(loaded->load_state_dict(io::read_safetensors(dir / "m").tensors).complete());
    EXPECT_EQ(read(row.run(*saved, x)).v, read(row.run(*loaded, x)).v) << "in training";
    saved->eval(), loaded->eval();
    EXPECT_EQ(read(row.run(*saved, x)).v, read(row.run(*loaded, x)).v);
  }
}

}  // namespace
}  // namespace veldt::test
