// All kernels of integers that this processor has, one after the other.
#pragma once

#include <string>

#include "veldt/core/error.h"
#include "veldt/cpu/instruction_set.h"
#include "veldt/cpu/int8_product.h"

namespace veldt::test {

// fn(name) while each of them is in use, the portable ones on each instruction set.
template <class Fn> void for_each_int8_kernels(const Fn& fn) {
  const auto best = cpu::instruction_set_in_use();
  const auto use = [&](const cpu::Int8Kernels& kernels) {
    cpu::use_int8_kernels(&kernels);
    fn(str(kernels.name, ", ", cpu::name_of(cpu::instruction_set_in_use())));
  };
  for (const auto set : cpu::instruction_sets()) {
    cpu::use_instruction_set(set);
    use(cpu::portable_int8_kernels());
  }
  cpu::use_instruction_set(best);
  for (const cpu::Int8Kernels* more :
       {cpu::avx_vnni_int8_kernels(), cpu::vnni_int8_kernels(), cpu::amx_int8_kernels()})
    if (more) use(*more);
  cpu::use_int8_kernels(nullptr);
}

}  // namespace veldt::test
