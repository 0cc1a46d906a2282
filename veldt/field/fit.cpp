#include "veldt/field/fit.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "veldt/core/threads.h"
#include "veldt/data/sampler.h"
#include "veldt/field/coordinates.h"
#include "veldt/io/digest.h"
#include "veldt/nn/losses.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/gather.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/schedule.h"
#include "veldt/optim/sgd.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

// Of the seed's random streams, the one that orders the pixels.
constexpr std::uint64_t kOrderStream = 0x706978656c73;
constexpr std::int64_t kGoalEvery = 50;  // steps between looks at the whole picture for --target-psnr

std::unique_ptr<optim::Optimizer> make_optimizer(const FitPlan& p, const nn::Module& model) {
  const nn::NamedTensors parameters = model.named_parameters();
  switch (p.optimizer) {
    case OptimizerKind::sgd: return std::make_unique<optim::Sgd>(parameters, optim::SgdOptions{.lr = p.lr});
    // 0.99 rather than 0.999: a fit is short, and the second moment has to follow it.
    case OptimizerKind::adam:
      return std::make_unique<optim::Adam>(parameters, optim::AdamOptions{.lr = p.lr, .beta2 = 0.99});
    case OptimizerKind::adamw:
      return std::make_unique<optim::AdamW>(parameters, optim::AdamWOptions{.lr = p.lr, .beta2 = 0.99});
  }
  return nullptr;
}

optim::Schedule make_schedule(const FitPlan& p) {
  const std::int64_t positions = p.steps > 0 ? p.steps : train::kTimePositions;
  optim::Schedule base = p.lr;
  if (p.schedule == ScheduleKind::cosine)
    base = optim::CosineAnnealing{.lr_max = p.lr,
                                  .lr_min = p.lr_min,
                                  .epochs = std::max<std::int64_t>(1, positions - p.warmup),
                                  .epoch_offset = p.epoch_offset};
  if (p.warmup == 0) return base;
  return optim::LinearWarmup{.steps = p.warmup, .then = base};
}

Tensor compute_loss(Loss kind, const Tensor& prediction, const Tensor& target) {
  switch (kind) {
    case Loss::mse: return mse(prediction, target);
    case Loss::hinge: return hinge_mse(prediction, target);
    case Loss::bce: return bce_with_logits(prediction, target);
  }
  return {};
}

double psnr_of(double mean_squared_error) {
  return mean_squared_error > 0 ? -10 * std::log10(mean_squared_error) : 999;
}

}  // namespace

class Fitter::Job : public train::Task {
 public:
  Job(const Tensor& picture, const FitPlan& plan)
      : plan_(plan),
        picture_(contiguous(picture)),
        levels_(reshape(picture_, {picture.size(0) * picture.size(1), picture.size(2)})),
        field_(plan.field, plan.seed),
        map_(plan.field),
        optimizer_(make_optimizer(plan, field_.network())),
        sampler_(levels_.size(0), plan.batch, plan.seed ^ kOrderStream) {}

  nn::Module& model() override { return field_.network(); }
  optim::Optimizer& optimizer() override { return *optimizer_; }
  std::map<std::string, std::string> metadata() const override { return field_.metadata(); }

  Tensor loss(std::int64_t step) override {
    choose_batch(step);
    const std::int64_t s = plan_.field.footprint, n = batch_levels_.size(0);
    const Tensor output = field_.network()(batch_coordinates_);
    if (s > 1) return footprint_loss(output, n, s);
    last_output_ = output.detach();
    switch (plan_.field.head) {
      case Head::clamp: return compute_loss(plan_.loss, output, batch_targets_);
      case Head::sigmoid:
      case Head::ink:
        if (plan_.loss == Loss::bce) return compute_loss(plan_.loss, output, batch_targets_);
        return compute_loss(plan_.loss, sigmoid(output), batch_targets_);
    }
    return {};
  }

  double psnr() override {
    NoGrad off;
    const Tensor levels = plan_.field.footprint > 1 ? last_output_ : levels_from(last_output_, plan_.field.head);
    return psnr_of(mse(levels, batch_levels_).item());
  }

  bool reached(std::int64_t steps_done) override {
    if (plan_.target_psnr <= 0 || steps_done % kGoalEvery != 0) return false;
    // The batch is a cheap estimate; the whole picture decides.
    if (psnr() < plan_.target_psnr - 1) return false;
    const Tensor drawn = field_.render(plan_.field.width, plan_.field.height);
    return psnr_of(mse(drawn, picture_).item()) >= plan_.target_psnr;
  }

  // What a resumed run has to agree on: the plan, and the picture itself.
  std::string config() const {
    nlohmann::json config = nlohmann::json::parse(to_json(plan_));
    const std::vector<float> pixels = picture_.values<float>();
    config["picture"] = io::digest_of(pixels.data(), pixels.size() * sizeof(float));
    return config.dump();
  }

  const FitPlan plan_;
  const Tensor picture_;  // [height, width, channels]
  const Tensor levels_;   // [pixels, channels]
  ImageField field_;

 private:
  // The field is the scene before the camera's box filter: the mean of a pixel's samples is compared with the pixel.
  Tensor footprint_loss(const Tensor& output, std::int64_t n, std::int64_t s) {
    const Tensor levels = levels_from(output, plan_.field.head);
    const Tensor pixel = mean(reshape(levels, {n, s * s, output.size(1)}), {1});
    last_output_ = pixel.detach();
    return mse(pixel, batch_levels_);
  }

  void choose_batch(std::int64_t step) {
    const bool all = sampler_.batch() == levels_.size(0);
    if (all && batch_levels_.defined()) return;  // every step sees the same
    const Tensor indices = sampler_.indices(step);
    batch_levels_ = all ? levels_ : index_select(levels_, 0, indices);
    batch_targets_ = targets_from(batch_levels_, plan_.field.head);
    batch_coordinates_ = coordinates_of(indices);
  }

  // [n * footprint^2, inputs]
  Tensor coordinates_of(const Tensor& indices) const {
    const std::int64_t n = indices.numel(), width = plan_.field.width, s = plan_.field.footprint;
    const auto w = static_cast<double>(width), h = static_cast<double>(plan_.field.height);
    const std::int64_t* index = indices.data<std::int64_t>();
    Tensor out = empty({n * s * s, map_.inputs()});
    float* const at = out.data<float>();
    parallel_for(n, 4096, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t p = begin; p < end; ++p) {
        const auto column = static_cast<double>(index[p] % width), row = static_cast<double>(index[p] / width);
        float* to = at + p * s * s * map_.inputs();
        for (std::int64_t k = 0; k < s * s; ++k, to += map_.inputs()) {
          to[0] = map_.x((column + (static_cast<double>(k % s) + 0.5) / static_cast<double>(s)) / w);
          to[1] = map_.y((row + (static_cast<double>(k / s) + 0.5) / static_cast<double>(s)) / h);
          if (map_.constant_input()) to[2] = 1;
        }
      }
    });
    return out;
  }

  CoordinateMap map_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  data::BatchSampler sampler_;
  Tensor batch_coordinates_, batch_levels_, batch_targets_, last_output_;
};

Fitter::Fitter(const Tensor& picture, const FitPlan& plan) : job_(std::make_unique<Job>(picture, plan)) {}
Fitter::~Fitter() = default;
const FitPlan& Fitter::plan() const { return job_->plan_; }
const ImageField& Fitter::field() const { return job_->field_; }

train::RunResult Fitter::run(const CheckpointOptions& checkpoints, const train::Events& events) {
  train::RunOptions options;
  options.steps = plan().steps;
  options.seconds = plan().seconds;
  options.rate = make_schedule(plan());
  options.checkpoint_dir = checkpoints.directory;
  options.checkpoint_every = checkpoints.every;
  options.keep = checkpoints.keep;
  options.resume = checkpoints.resume;
  options.config = job_->config();
  const train::RunResult result = train::run(*job_, options, events);
  job_->field_.set_training(nlohmann::json{{"plan", nlohmann::json::parse(to_json(plan()))},
                                           {"steps", result.steps},
                                           {"seconds", result.seconds},
                                           {"loss", result.loss}}
                                .dump());
  return result;
}

ImageField fit(const Tensor& picture, const FitOptions& options, const train::Events& events) {
  Fitter fitter(picture, plan_for(picture, options));
  fitter.run({}, events);
  return fitter.field();
}

}  // namespace veldt::field
