// The losses of distillation, and the hooks that hear what layers give.
#include "veldt/compress/distil.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/core/hooks.h"
#include "veldt/nn/convolution.h"
#include "veldt/nn/evaluating.h"
#include "veldt/nn/linear.h"
#include "veldt/nn/losses.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/unary.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/plan.h"

namespace veldt::compress {
namespace {

constexpr double kLeast = 1e-12;  // of a length that is divided by

// Rows [n, ..] of length 1.
Tensor unit_rows(const Tensor& x) {
  const Tensor rows = reshape(x, {x.size(0), -1});
  return rows / sqrt(sum(square(rows), {1}, true) + kLeast);
}

Tensor attention_map(const Tensor& x) { return unit_rows(sum(square(x), {1})); }

Tensor similarities(const Tensor& x) {
  const Tensor rows = reshape(x, {x.size(0), -1});
  return unit_rows(matmul(rows, transpose(rows, 0, 1)));
}

void check_distilling(const DistilOptions& o) {
  const auto refuse = [](const std::string& what, double value, const char* range) {
    return ConfigError(
        fmt::format("the {} of a distillation cannot be {}", what, value), range,
        "leave it out, or give, for example, a temperature of 4, a weight of 0.7, and 1 for hints");
  };
  if (!(o.temperature > 0))
    throw refuse("temperature", o.temperature, "it divides the outputs, and is above 0");
  if (!(o.weight >= 0 && o.weight <= 1))
    throw refuse("weight", o.weight, "it is the teacher's share of the loss, 0 to 1");
  if (!(o.hint_weight >= 0)) throw refuse("weight of hints", o.hint_weight, "it is 0 or more");
}

nn::Module& layer_of(const nn::Module& network, const std::string& name, const char* whose) {
  std::vector<std::string> names;
  for (const nn::NamedModule& inner : network.named_modules()) {
    if (inner.name == name && !name.empty()) return *inner.module;
    if (!inner.name.empty()) names.push_back(inner.name);
  }
  throw ConfigError(fmt::format("the {} has no layer {}", whose, name),
                    fmt::format("it has {}", fmt::join(names, ", ")), "name one of these in the hint");
}

}  // namespace

Tensor soft_target_loss(const Tensor& student, const Tensor& teacher, double temperature,
                        const Tensor& counts) {
  if (!(temperature > 0))
    throw ConfigError(fmt::format("a temperature cannot be {}", temperature), "outputs are divided by it",
                      "give a number above 0, such as 4");
  if (student.shape() != teacher.shape())
    throw ShapeError(str("a student that gives ", student.shape(), " cannot learn from ", teacher.shape()),
                     "both have an output for each class of each example",
                     "give a teacher of the same classes");
  const int classes = student.rank() > 1 ? 1 : 0;
  const Tensor own = log_softmax(student / temperature, classes),
               wanted = log_softmax(teacher / temperature, classes);
  const Tensor rows = sum(exp(wanted) * (wanted - own), {classes}) * (temperature * temperature);
  if (!counts.defined()) return mean(rows);
  if (counts.shape() != rows.shape())
    throw ShapeError(str("counts ", counts.shape(), " do not fit outputs ", student.shape()),
                     str("there is one for each row and place: ", rows.shape()), "give counts of that shape");
  return sum(rows * counts) / maximum(sum(counts), 1);
}

Tensor hint_loss(const Tensor& student, const Tensor& teacher, HintLoss kind) {
  const auto refuse = [&](const char* why) {
    return ShapeError(
        str("a layer that gives ", student.shape(), " cannot be like one that gives ", teacher.shape()), why,
        "name other layers, or compare their similarities");
  };
  if (student.rank() < 2 || teacher.rank() < 2 || student.size(0) != teacher.size(0))
    throw refuse("hints compare what both make of each example [n, ..]");
  if (kind == HintLoss::features) {
    if (student.shape() != teacher.shape()) throw refuse("features are compared number by number");
    return mse_loss(student, teacher);
  }
  if (kind == HintLoss::similarity) return mean(square(similarities(student) - similarities(teacher)));
  bool fits = student.rank() == teacher.rank() && student.rank() > 2;
  for (int d = 2; fits && d < student.rank(); ++d) fits = student.size(d) == teacher.size(d);
  if (!fits)
    throw refuse("maps of attention have the same places behind the channels [n, channels, places ..]");
  return mean(sum(square(attention_map(student) - attention_map(teacher)), {1}));
}

namespace {

bool is_convolution(const nn::Module& layer) {
  return dynamic_cast<const nn::Conv1d*>(&layer) || dynamic_cast<const nn::Conv2d*>(&layer) ||
         dynamic_cast<const nn::Conv3d*>(&layer);
}

// The dimension in which two layers' outputs differ, if it is one that a regressor maps: the channels [n,
// channels, places ..], or the features [n, places .., features]. Of [n, a, b] the shape does not say which
// is which: a convolution has its channels first, any other layer features last, behind steps of time.
int mapped_dim(const Shape& student, const Shape& teacher, bool convolutions) {
  std::vector<int> dims = {1, teacher.rank() - 1};
  if (convolutions) dims = {1};
  if (!convolutions && teacher.rank() == 3) dims = {2};
  for (const int dim : dims)
    if (student.rank() == teacher.rank() && student.rank() > 1 &&
        student.without(dim) == teacher.without(dim))
      return dim;
  throw ShapeError(str("a layer that gives ", student, " cannot be mapped to one that gives ", teacher),
                   "a regressor changes the width alone: channels of convolutions, or features, the last of "
                   "three dimensions",
                   "name other layers, or compare their similarities");
}

Tensor regressed(const nn::Linear& regressor, const Tensor& x, int dim) {
  return transpose(regressor(transpose(x, dim, -1)), dim, -1);
}

// What each layer gives when the network is called.
std::vector<Tensor> heard_of(const nn::Module& network, const std::vector<nn::Module*>& layers,
                             const train::Forward& forward, const data::Batch& example) {
  const NoGrad off;
  const nn::Evaluating evaluating(network);
  std::vector<Tensor> heard(layers.size());
  ScopedHooks hooks;
  for (std::size_t i = 0; i < layers.size(); ++i)
    hooks.add(
        layers[i]->register_forward_hook([&heard, i](const nn::Module&, const TensorList&,
                                                     TensorList& outputs) { heard[i] = outputs.at(0); }));
  forward(network, example);
  return heard;
}

// Labels are data, so a Plan checks them at each replay.
void check_no_padding(const Tensor& labels, const Shape& outputs) {
  host_work(
      "check of labels", {labels.view()},
      [shape = labels.shape(), device = labels.device(), outputs](std::span<const View> views) {
        std::int64_t low = 0, high = 0;
        backend(device).index_range(views[0], &low, &high);
        if (high >= low && low < 0)
          throw ShapeError(
              str("labels ", shape, " below 0 do not fit the teacher's outputs ", outputs),
              "they are padding, and there is not one for each row and place of [n, classes, places ..]",
              "give outputs with the classes second, or labels of another shape without padding");
      });
}

Error heard_nothing(const Hint& hint) {
  return {fmt::format("the hint from {} to {} heard nothing", hint.teacher, hint.student),
          "one of the layers was not called with the batch, or not by itself", "name another layer"};
}

}  // namespace

struct Distiller::Shared {
  std::shared_ptr<nn::Module> teacher;
  DistilOptions options;
  std::vector<Tensor> students, teachers;  // what the layers of the hints gave last, in training
  struct Regressor {
    nn::Linear linear;
    int dim;
  };
  std::vector<std::optional<Regressor>> regressors;  // of each hint
  ScopedHooks hooks;

  // Of the hints' layers, `own` of the student and `others` of the teacher, as they are for the example:
  // refuses those that cannot be compared, and adds regressors where features differ in width.
  void look_at_example(const nn::Module& student, const std::vector<nn::Module*>& own,
                       const std::vector<nn::Module*>& others);
};

Distiller::Distiller(const nn::Module& student, std::shared_ptr<nn::Module> teacher, DistilOptions options)
    : shared_(std::make_shared<Shared>()) {
  check_distilling(options);
  if (!options.forward)
    options.forward = [](const nn::Module& m, const data::Batch& batch) { return m(batch.at(0)); };
  shared_->teacher = std::move(teacher);
  shared_->teacher->eval();
  shared_->options = std::move(options);
  const std::vector<Hint>& hints = shared_->options.hints;
  shared_->students.resize(hints.size());
  shared_->teachers.resize(hints.size());
  // Not the shared state itself, which would keep itself alive through the hooks.
  const std::weak_ptr<Shared> weak = shared_;
  const auto hear = [&](nn::Module& layer, std::vector<Tensor> Shared::*into, std::size_t i,
                        bool of_student) {
    shared_->hooks.add(layer.register_forward_hook(
        [weak, into, i, of_student](const nn::Module& module, const TensorList&, TensorList& outputs) {
          const std::shared_ptr<Shared> now = weak.lock();
          if (now && module.training() == of_student) ((*now).*into)[i] = outputs.at(0);
        }));
  };
  std::vector<nn::Module*> own, others;
  for (std::size_t i = 0; i < hints.size(); ++i) {
    own.push_back(&layer_of(student, hints[i].student, "student"));
    others.push_back(&layer_of(*shared_->teacher, hints[i].teacher, "teacher"));
  }
  shared_->look_at_example(student, own, others);
  // Last, so that what layers make of the example is not taken for a batch's.
  for (std::size_t i = 0; i < hints.size(); ++i) {
    hear(*own[i], &Shared::students, i, true);
    hear(*others[i], &Shared::teachers, i, false);
  }
}

void Distiller::Shared::look_at_example(const nn::Module& student, const std::vector<nn::Module*>& own,
                                        const std::vector<nn::Module*>& others) {
  const DistilOptions& o = options;
  const std::vector<Hint>& hints = o.hints;
  regressors.resize(hints.size());
  if (o.example.empty() || hints.empty()) return;
  const std::vector<Tensor> small = heard_of(student, own, o.forward, o.example),
                            large = heard_of(*teacher, others, o.forward, o.example);
  Rng rng(o.seed);
  for (std::size_t i = 0; i < hints.size(); ++i) {
    if (!small[i].defined() || !large[i].defined()) throw heard_nothing(hints[i]);
    if (o.hint_loss != HintLoss::features) {
      const NoGrad off;
      hint_loss(small[i], large[i], o.hint_loss);  // throws if they cannot be compared
      continue;
    }
    if (small[i].shape() == large[i].shape()) continue;
    const int dim =
        mapped_dim(small[i].shape(), large[i].shape(), is_convolution(*own[i]) && is_convolution(*others[i]));
    nn::Linear linear(small[i].size(dim), large[i].size(dim), rng);
    linear.to(small[i].dtype());
    linear.to(small[i].device());
    regressors[i] = {std::move(linear), dim};
  }
}

NamedTensors Distiller::named_parameters() const {
  NamedTensors all;
  for (std::size_t i = 0; i < shared_->regressors.size(); ++i)
    if (const auto& regressor = shared_->regressors[i])
      for (const auto& [name, tensor] : regressor->linear.named_parameters())
        all.push_back({fmt::format("hints.{}.{}", i, name), tensor});
  return all;
}

Tensor Distiller::operator()(const Tensor& loss, const TensorList& outputs, const data::Batch& batch) const {
  const DistilOptions& o = shared_->options;
  Tensor wanted;
  {
    const NoGrad off;
    wanted = o.forward(*shared_->teacher, batch).at(0);
  }
  Tensor counts;
  const Tensor& labels = batch.back();
  const int classes = wanted.rank() > 1 ? 1 : 0;
  if (!o.numbers && labels.dtype() == DType::i64) {
    if (labels.numel() * wanted.size(classes) == wanted.numel())
      counts = to(reshape(labels >= 0, wanted.shape().without(classes)), wanted.dtype());
    else
      check_no_padding(labels, wanted.shape());
  }
  const Tensor part = o.numbers ? mse_loss(outputs.at(0), wanted)
                                : soft_target_loss(outputs.at(0), wanted, o.temperature, counts);
  Tensor total = loss * (1 - o.weight) + part * o.weight;
  for (std::size_t i = 0; i < o.hints.size(); ++i) {
    Tensor own = std::exchange(shared_->students[i], Tensor());
    const Tensor other = std::exchange(shared_->teachers[i], Tensor());
    if (!own.defined() || !other.defined()) throw heard_nothing(o.hints[i]);
    if (const auto& regressor = shared_->regressors[i])
      own = regressed(regressor->linear, own, regressor->dim);
    total =
        total + hint_loss(own, other, o.hint_loss) * (o.hint_weight / static_cast<double>(o.hints.size()));
  }
  return total;
}

}  // namespace veldt::compress
