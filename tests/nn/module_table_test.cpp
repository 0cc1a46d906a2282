// What is true of every module: its names, its state, its copies, its modes and its gradients.
#include "tests/support/module_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "tests/support/gradients.h"
#include "tests/support/public_ops.h"
#include "veldt/core/error.h"
#include "veldt/ops/create.h"
#include "veldt/ops/random.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/graph.h"

namespace veldt::test {
namespace {

using nn::Module;

std::unique_ptr<Module> made(const ModuleRow& row, std::uint64_t seed) {
  Rng rng(seed);
  return row.make(rng);
}

// The output's bits.
std::vector<double> output_of(const ModuleRow& row, const Module& module) {
  const NoGrad off;
  return read(row.run(module, input_of(row))).v;
}

template <class Visit> class EachTensor final : public nn::Fields {
 public:
  explicit EachTensor(Visit visit) : visit_(visit) {}

 private:
  void on_tensor(const std::string&, Tensor& t) override { visit_(t); }
  Visit visit_;
};

class EachModule final : public nn::Fields {
 public:
  std::vector<Module*> found;

 private:
  void on_tensor(const std::string&, Tensor&) override {}
  void on_module(const std::string&, int, Module& m) override { found.push_back(&m); }
};

TEST(ModuleTable, ReadsModulesOutOfAHeader) {
  const std::set<std::string> expected = {"A", "B", "C1d", "C2d", "D"};
  EXPECT_EQ(
      modules_in(
          "class A : public Module {\n// struct No : A {\nstruct B : A {\nclass Recurrent : public Module {\n"
          "class D : public Recurrent {\ntemplate <int kDims> class C : public Module {\n"
          "using C1d = C<1>;\nusing C2d = C<2>;\nenum class Cell : std::uint8_t { a };\n"),
      expected);
}

TEST(ModuleTable, HasARowForEveryModule) {
  std::string headers;
  for (const auto& entry : std::filesystem::directory_iterator(VELDT_SOURCE "/veldt/nn"))
    if (entry.path().extension() == ".h") headers += text_of(entry.path());
  std::set<std::string> rows;
  for (const ModuleRow& row : module_table())
    EXPECT_TRUE(rows.insert(row.name).second) << row.name << " is there twice";
  const std::set<std::string> modules = modules_in(headers);
  EXPECT_GE(modules.size(), 70u);
  for (const std::string& name : modules)
    EXPECT_TRUE(rows.contains(name)) << name << " has no row in tests/support/module_table.cpp";
  for (const std::string& name : rows) EXPECT_TRUE(modules.contains(name)) << name << " is in no header";
}

TEST(EveryModule, HasATitleAndNamesEachOfItsTensorsOnce) {
  for (const ModuleRow& row : module_table()) {
    const auto module = made(row, 1);
    EXPECT_NE(module->title(), "") << row.name;
    std::set<std::string> names;
    std::int64_t trained = 0;
    for (const auto& [name, tensor] : module->state_dict()) {
      EXPECT_NE(name, "") << row.name;
      EXPECT_TRUE(names.insert(name).second) << row.name << ": " << name;
    }
    for (const auto& [name, tensor] : module->named_parameters()) {
      EXPECT_TRUE(names.contains(name)) << row.name << ": " << name;
      trained += tensor.numel();
    }
    EXPECT_EQ(names.size(), module->named_parameters().size() + module->named_buffers().size()) << row.name;
    EXPECT_EQ(module->parameter_count(), trained) << row.name;
  }
}

TEST(EveryModule, GivesTheSameBitsWithTheStateOfAnother) {
  for (const ModuleRow& row : module_table()) {
    SCOPED_TRACE(row.name);
    const auto first = made(row, 1), second = made(row, 2);
    for (int i = 0; i < 3; ++i) output_of(row, *first);  // running statistics, random streams
    EXPECT_TRUE(second->load_state_dict(first->state_dict()).complete());
    EXPECT_EQ(output_of(row, *first), output_of(row, *second)) << "in training";
    first->eval(), second->eval();
    EXPECT_EQ(output_of(row, *first), output_of(row, *second));
  }
}

TEST(EveryModule, SharesNothingWithItsClone) {
  for (const ModuleRow& row : module_table()) {
    SCOPED_TRACE(row.name);
    const auto module = made(row, 1), clone = row.clone(*module);
    const NamedTensors own = module->state_dict(), copied = clone->state_dict();
    ASSERT_EQ(own.size(), copied.size());
    std::set<const void*> memory;
    for (const auto& [name, tensor] : own) memory.insert(tensor.view().data);
    for (std::size_t i = 0; i < copied.size(); ++i) {
      EXPECT_EQ(copied[i].name, own[i].name);
      EXPECT_FALSE(memory.contains(copied[i].tensor.view().data)) << own[i].name;
    }
    EachModule inner, inner_of_clone;
    module->fields(inner), clone->fields(inner_of_clone);
    const std::set<Module*> all(inner.found.begin(), inner.found.end());
    ASSERT_EQ(inner.found.size(), inner_of_clone.found.size());
    for (Module* m : inner_of_clone.found) EXPECT_FALSE(all.contains(m));

    const std::vector<double> before = output_of(row, *row.clone(*clone));
    {
      const NoGrad off;
      for (const auto& [name, tensor] : own) Tensor(tensor).assign(ones(tensor.shape(), tensor.dtype()));
    }
    module->eval();
    EXPECT_EQ(output_of(row, *clone), before);
    EXPECT_TRUE(clone->training());
  }
}

TEST(EveryModule, ChangesNothingInEvaluationWhichReachesAllOfIt) {
  for (const ModuleRow& row : module_table()) {
    SCOPED_TRACE(row.name);
    const auto module = made(row, 1);
    EachModule inner;
    module->fields(inner);
    const auto all_train = [&](bool on) {
      EXPECT_EQ(module->training(), on);
      for (const Module* m : inner.found) EXPECT_EQ(m->training(), on) << m->title();
    };
    all_train(true);
    module->eval();
    all_train(false);
    const NamedTensors before = row.clone(*module)->state_dict();
    const std::vector<double> output = output_of(row, *module);
    EXPECT_EQ(output_of(row, *module), output);
    const NamedTensors after = module->state_dict();
    for (std::size_t i = 0; i < after.size(); ++i)
      EXPECT_EQ(read(after[i].tensor).v, read(before[i].tensor).v) << after[i].name;
    module->train();
    all_train(true);
  }
}

TEST(EveryModule, TrainsEachOfItsParameters) {
  for (const ModuleRow& row : module_table()) {
    SCOPED_TRACE(row.name);
    const auto module = made(row, 1);
    Tensor x = input_of(row);
    if (row.indices == 0) x.set_requires_grad();
    const Tensor y = row.run(*module, x);
    Rng rng(3);
    if (!y.requires_grad()) {
      ADD_FAILURE() << "its output is not in the graph";
      continue;
    }
    sum(y * randn(y.shape(), rng)).backward();
    NamedTensors all = module->named_parameters();
    if (row.indices == 0) all.push_back({"x", x});
    for (const auto& [name, tensor] : all) {
      if (!tensor.grad().defined()) {
        ADD_FAILURE() << name << " has no gradient";
        continue;
      }
      const double most = max(abs(tensor.grad())).item();
      EXPECT_TRUE(std::isfinite(most) && most > 0) << name << ": " << most;
    }
  }
}

TEST(EveryModule, ConvertsToDoubleAndItsGradientsAreCentralDifferences) {
  for (const ModuleRow& row : module_table())
    for (const bool training : {true, false}) {
      SCOPED_TRACE(str(row.name, training ? " in training" : " in evaluation"));
      const auto module = made(row, 1);
      module->to(DType::f64).train(training);
      for (const auto& [name, tensor] : module->state_dict())
        EXPECT_TRUE(tensor.dtype() == DType::f64 || !is_float(tensor.dtype())) << name;
      const Tensor x = input_of(row, DType::f64);
      std::vector<GradientInput> inputs = {{read(x), x.dtype()}};
      for (const auto& [name, tensor] : module->named_parameters()) inputs.push_back({read(tensor)});
      if (inputs.size() == 1 && row.indices > 0) continue;
      // A clone each time: it draws the same numbers, and its parameters can be the inputs.
      const Function run = [&](const std::vector<Tensor>& given) {
        const auto clone = row.clone(*module);
        std::size_t next = 1;
        EachTensor replace([&](Tensor& t) {
          if (t.requires_grad()) t = given[next++];
        });
        clone->fields(replace);
        EXPECT_EQ(next, given.size());
        const Tensor y = row.run(*clone, given[0]);
        EXPECT_EQ(y.dtype(), DType::f64);
        return y;
      };
      const GradientReport report = check_gradients(run, inputs, 1);
      EXPECT_TRUE(report.ok) << report.message;
    }
}

}  // namespace
}  // namespace veldt::test
