// One row for each class of veldt/nn that is a module: how to make a small one, and what it takes. The suites
// of tests/nn/module_table_test.cpp and tests/train/module_files_test.cpp run over it; a new module needs a
// row and nothing else.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "veldt/core/rng.h"
#include "veldt/nn/module.h"

namespace veldt::test {

struct ModuleRow {
  std::string name;  // as in the header: "Linear", "Conv2d"
  Shape input;       // of eight numbers, or a multiple
  std::function<std::unique_ptr<nn::Module>(Rng&)> make;
  std::function<std::unique_ptr<nn::Module>(const nn::Module&)> clone;  // nn::clone()
  std::function<Tensor(const nn::Module&, const Tensor&)> run;          // forward(), or what it has instead
  std::int64_t indices = 0;  // the input holds whole numbers from 0 to this, not floats
};

const std::vector<ModuleRow>& module_table();

// Numbers from -4 to 4 in a random order, in `dtype`: no two of them nearer than 8 / count to each other, nor
// half as near to a whole number, where activations have their kinks. Or the indices that the row asks for.
Tensor input_of(const ModuleRow& row, DType dtype = DType::f32);

// The modules that the text of headers declares, by the names under which they are made: "Conv2d", not
// "Conv". Those that are only there to be derived from are left out.
std::set<std::string> modules_in(const std::string& headers);

}  // namespace veldt::test
