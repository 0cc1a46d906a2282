// Puts a fit together: choices, lessons, network, optimizer and batches, and the loop that runs them.
#include "veldt/field/fit.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "veldt/core/error.h"
#include "veldt/field/batch_errors.h"
#include "veldt/field/batches.h"
#include "veldt/field/coordinates.h"
#include "veldt/field/lessons.h"
#include "veldt/field/sampling.h"
#include "veldt/field/sharing.h"
#include "veldt/field/survey.h"
#include "veldt/io/digest.h"
#include "veldt/io/json.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/optim/adam.h"
#include "veldt/optim/muon.h"
#include "veldt/optim/schedule.h"
#include "veldt/optim/sgd.h"
#include "veldt/tensor/backends.h"
#include "veldt/tensor/graph.h"

namespace veldt::field {
namespace {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

constexpr std::int64_t kRowsADigest = 64;

std::unique_ptr<optim::Optimizer> make_optimizer(const FitChoices& p, nn::Module& model) {
  if (p.fixed_frequencies) model.freeze("layers.0");
  const auto is_fixed = [](const NamedTensor& t) { return !t.tensor.requires_grad(); };
  NamedTensors parameters = model.named_parameters();
  // Chosen among all parameters: a frozen first layer is still the first layer.
  NamedTensors matrices = optim::hidden_matrices(parameters);
  std::erase_if(parameters, is_fixed);
  switch (p.optimizer) {
    case OptimizerKind::sgd: return std::make_unique<optim::SGD>(parameters, optim::SGDOptions{.lr = p.lr});
    // 0.99 rather than 0.999: a fit is short, and the second moment has to adapt quickly.
    case OptimizerKind::adam:
      return std::make_unique<optim::Adam>(parameters,
                                           optim::AdamOptions{.lr = p.lr, .beta2 = 0.99, .eps = p.eps});
    case OptimizerKind::adamw:
      return std::make_unique<optim::AdamW>(parameters,
                                            optim::AdamWOptions{.lr = p.lr, .beta2 = 0.99, .eps = p.eps});
    // Steps of the usual length of Adam's, so that one rate suits matrices and other parameters.
    case OptimizerKind::muon: {
      const auto is_matrix = [&](const NamedTensor& t) {
        return std::any_of(matrices.begin(), matrices.end(),
                           [&](const NamedTensor& m) { return m.name == t.name; });
      };
      std::erase_if(parameters, is_matrix);
      std::erase_if(matrices, is_fixed);
      if (matrices.empty())
        throw ConfigError("muon has no matrix to train in this network",
                          "it trains the layers between the first and the last, and there are none",
                          "use a --depth of 2 or more, or --optimizer adam");
      const optim::MuonOptions turned{
          .lr = p.lr, .weight_decay = 0, .scale = optim::MuonScale::match_rms_adamw};
      const optim::AdamOptions rest{.lr = p.lr, .beta2 = 0.99, .eps = p.eps};
      return std::make_unique<optim::Muon>(std::vector<optim::Group<optim::MuonOptions>>{{matrices, turned}},
                                           std::vector<optim::Group<optim::AdamOptions>>{{parameters, rest}});
    }
  }
  return nullptr;
}

// The hinge's error ends where the output is 1 / 0.9. A remaining gap to that is invisible, because outputs
// are clamped at 1.
constexpr double kHingeTarget = 0.9;

optim::Schedule make_schedule(const FitChoices& p) {
  const std::int64_t positions = p.steps > 0 ? p.steps : train::kTimePositions;
  optim::Schedule base = p.lr;
  if (p.schedule == ScheduleKind::cosine)
    base = optim::CosineAnnealing{.lr_max = p.lr,
                                  .lr_min = p.lr_min,
                                  .steps = std::max<std::int64_t>(1, positions - p.warmup),
                                  .offset = p.schedule_offset};
  if (p.warmup == 0) return base;
  return optim::LinearWarmup{.steps = p.warmup, .then = base};
}

Field on_device(Field field, Device device) {
  field.to(device);
  return field;
}

MlpLossOptions loss_options(const FitChoices& p, const Batch& batch) {
  MlpLossOptions o;
  o.error = p.loss == Loss::hinge ? MlpError::hinge : p.loss == Loss::bce ? MlpError::bce : MlpError::squared;
  o.group = static_cast<std::int64_t>(p.field.footprint) * p.field.footprint;
  o.pooled = batch.edges * o.group;
  o.weight = batch.weights;
  if (p.loss != Loss::mse || p.field.head == Head::plain) return o;
  // The samples of a pixel are clamped to the visible range before they are averaged, as in a camera.
  if (p.field.head != Head::clamp)
    o.squash = MlpSquash::sigmoid;
  else if (p.field.footprint > 1)
    o.squash = MlpSquash::clamp;
  return o;
}

void update(io::Digest& digest, const nn::Module& module) {
  for (const auto& [name, tensor] : module.state_dict()) {
    const Tensor weights = contiguous(to(tensor, Device{}));
    digest.update(weights.data<float>(), static_cast<std::size_t>(weights.numel()) * sizeof(float));
  }
}

// A digest of the signal, by its levels as floats, and of the prior that redraws it, if there is one.
std::string digest_of(const Signal& signal, const Prior* prior) {
  if (signal.survey() != nullptr && prior == nullptr) return signal.survey()->digest;
  io::Digest digest;
  for (std::int64_t row = 0; row < signal.rows(); row += kRowsADigest) {
    const Tensor rows = signal.read(row, std::min(kRowsADigest, signal.rows() - row));
    digest.update(rows.data<float>(), static_cast<std::size_t>(rows.numel()) * sizeof(float));
  }
  if (prior != nullptr) update(digest, *prior);
  return digest.text();
}

// A resumed run must have the same choices and the same signal.
std::string config_of(const Signal& signal, const FitChoices& choices) {
  nlohmann::json config = io::parse_json<nlohmann::json>(to_json(choices));
  config[signal.is_sound()  ? "sound"
         : signal.is_clip() ? "clip"
                            : "picture"] = digest_of(signal, choices.prior.get());
  if (choices.parts > 0) config["parts"] = choices.parts;
  if (choices.init) {
    io::Digest digest;
    update(digest, choices.init->network());
    config["init"] = digest.text();
  }
  return io::dump_json(config);
}

}  // namespace

class Fitter::Job : public train::Task {
 public:
  Job(const Signal& signal, const FitChoices& choices)
      : choices_(choices),
        signal_(signal),
        field_(on_device(Field(choices.field, choices.seed), choices.device)),
        lessons_(choices_of_lessons(choices)),
        optimizer_(make_optimizer(choices, field_.network())) {
    field_.network().set_precision(choices.precision);
    if (choices.init) field_.network().load_state_dict(choices.init->network().state_dict());
    if (choices.ranks != nullptr || choices.parts > 0)
      sharing_ = std::make_unique<Sharing>(choices.ranks, field_.network(), *optimizer_, choices.parts);
  }

  // Before the first step.
  void learn_from(const Signal& lessons) {
    learned_ = lessons;
    batches_.reset();
    sampler_ = std::make_unique<PointSampler>(lessons, lessons_);
    if (sharing_) sharing_->begin(sampler_->edges(), sampler_->flats());
    batches_ = std::make_unique<Batches>(*sampler_, choices_.device, parts());
    outputs_.assign(batches_->count(), Tensor());
    is_repeating_ = false;
  }
  void learn_from_nothing() {
    if (!sampler_) learn_from(blank_lessons(signal_, choices_));
  }

  nn::Module& model() override { return field_.network(); }
  optim::Optimizer& optimizer() override { return *optimizer_; }
  std::map<std::string, std::string> metadata() const override { return field_.metadata(); }

  void prepare(std::int64_t step, std::int64_t steps) override { batches_->prepare(step, steps); }
  std::int64_t runs_ahead(std::int64_t step) const override {
    if (!repeats()) return 1;
    const std::int64_t ahead = batches_->ahead();
    return choices_.target_psnr > 0 ? std::min(ahead, goal_every() - step % goal_every()) : ahead;
  }

  void stepped(double) override {
    is_repeating_ = true;
    ErrorMap* const map = sampler_->error_map();
    if (map == nullptr) return;
    const std::vector<Tensor> own = errors();
    map->note(batch().ranks, sharing_ ? sharing_->of_all(own, map->batch()) : to(own[0], Device{}));
  }

  NamedTensors own_state() override {
    ErrorMap* const map = sampler_->error_map();
    return map ? NamedTensors{{"errors", map->errors()}} : NamedTensors();
  }
  void load_own_state(const std::map<std::string, Tensor>& saved) override {
    if (ErrorMap* const map = sampler_->error_map()) map->load(saved.at("errors"));
  }

  std::optional<double> expected_gain(const Watch& watch) const {
    return field::expected_gain(field_, signal_, choices_, learned_.value_or(signal_), watch);
  }

  void close(const Heard& heard) { field_.set_closing(shared_closing(field_, signal_, choices_, heard)); }

  // Every batch has the same sizes, so every step is the same. Ranks agree in the first what has a gradient.
  bool repeats() const override { return !sharing_ || (is_repeating_ && sharing_->may_repeat()); }

  // Of what this process does.
  StepFacts step_facts() {
    learn_from_nothing();
    prepare(0, 1);
    const StepFacts facts = veldt::step_facts([this] {
      batches_->next();
      optimizer_->zero_grad();
      for (std::size_t i = 0; i < batches_->count(); ++i) loss_of(i).backward();
      optimizer_->step();
    });
    for (Tensor& output : outputs_) output = Tensor();
    return facts;
  }

  Tensor loss() override {
    batches_->next();
    return loss_of(0);
  }
  Tensor differentiate() override {
    if (!sharing_) return Task::differentiate();
    batches_->next();
    optimizer_->zero_grad();
    return sharing_->gradients([this](std::size_t part, double share) {
      const Tensor weighed = loss_of(part) * share;
      weighed.backward();
      return weighed.detach();
    });
  }

  // Of what this process has computed of the last batch.
  std::optional<train::Measure> measure() override {
    return train::Measure{signal_.is_sound() ? "SNR" : "PSNR", decibels_of_batch(false), "dB"};
  }

  bool reached(std::int64_t steps_done) override {
    if (choices_.target_psnr <= 0 || steps_done % goal_every() != 0) return false;
    // The batch before its step is a cheap estimate if it consists of the signal's samples; the whole signal
    // decides.
    if (!choices_.has_teacher() && decibels_of_batch(true) < choices_.target_psnr - 2) return false;
    return quality_of(field_, signal_, choices_.ranks) >= choices_.target_psnr;
  }

  const FitChoices choices_;
  const Signal signal_;
  Field field_;

 private:
  const Batch& batch(std::size_t part = 0) const { return batches_->current(part); }
  data::Parts parts() const { return sharing_ ? sharing_->parts() : data::Parts(); }

  Tensor loss_of(std::size_t part) {
    Tensor targets = targets_from(batch(part).levels, choices_.field.head);
    if (choices_.loss == Loss::hinge) targets = affine(targets, kHingeTarget, 0);
    const MlpLossResult result =
        field_.network().loss(batch(part).coordinates, targets, loss_options(lessons_, batch(part)));
    outputs_[part] = result.output;
    return result.loss;
  }

  double decibels_of_batch(bool of_all_ranks) const {
    dist::Communicator* const ranks = of_all_ranks && sharing_ ? &sharing_->ranks() : nullptr;
    return decibels(signal_, mean_error(*sampler_, *batches_, errors(), parts(), ranks));
  }

  // Steps between checks of the whole signal, so that checking costs at most a third of the training. A check
  // draws every sample once; a step runs its batch forward and backward, which is three times the work.
  std::int64_t goal_every() const {
    const std::int64_t s = choices_.field.footprint, looked_at = signal_.points() * s * s;
    return (looked_at + choices_.batch - 1) / choices_.batch;
  }

  // Of each pixel of the last batch: [edges + flats] of each part.
  std::vector<Tensor> errors() const { return errors_of(*batches_, outputs_, lessons_.field); }

  const FitChoices lessons_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::optional<Signal> learned_;
  std::unique_ptr<PointSampler> sampler_;
  std::unique_ptr<Batches> batches_;
  std::unique_ptr<Sharing> sharing_;  // null for one process without parts
  bool is_repeating_ = false;
  std::vector<Tensor> outputs_;  // of the parts of the last batch
};

namespace {

// 123456 -> 120000
std::int64_t rounded_down(double n) {
  const double unit = std::pow(10, std::max(0.0, std::floor(std::log10(n)) - 1));
  return static_cast<std::int64_t>(std::floor(n / unit) * unit);
}

}  // namespace

// The memory of a step grows linearly with its batch, so two small batches show which batch fits.
void Fitter::say_what_fits(const OutOfMemory& full, const Signal& signal, const FitChoices& choices) {
  if (choices.ranks != nullptr || choices.parts > 0) return;
  const std::size_t room = bytes_for_tensors(choices.device) / 20 * 19;
  if (room == 0) return;
  const auto facts_of = [&](std::int64_t batch) {
    FitChoices smaller = choices;
    smaller.batch = batch;
    return Job(signal, smaller).step_facts();
  };
  const std::int64_t few = std::max<std::int64_t>(1, choices.batch / 64);
  StepFacts one, two;
  try {
    one = facts_of(few), two = facts_of(2 * few);
  } catch (const Error&) {
    return;  // the first error is the one to report
  }
  const auto fits = [&](std::int64_t batch) {
    const auto at = [&](std::size_t first, std::size_t second) {
      const double growth =
          (static_cast<double>(second) - static_cast<double>(first)) / static_cast<double>(few);
      return static_cast<std::size_t>(
          std::max(0.0, static_cast<double>(first) + growth * static_cast<double>(batch - few)));
    };
    const std::size_t data = at(one.held_bytes, two.held_bytes),
                      step = Pool::size_class(at(one.planned_bytes, two.planned_bytes));
    const std::int64_t numbers = batch * (choices.field.inputs() + choices.field.channels);
    const std::int64_t ready = std::min(Batches::kMostBytes, Batches::kMostSteps * numbers * 4);
    return data + step + static_cast<std::size_t>(ready) <= room;
  };
  std::int64_t low = 0, high = choices.batch;  // fits, does not
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  if (low > 0)
    throw OutOfMemory(
        full.summary(), full.why(),
        str("use a batch of ", rounded_down(static_cast<double>(low)), " or less, or a smaller network"));
}

double quality_of(const Field& field, const Signal& signal, dist::Communicator* ranks) {
  NoGrad off;
  const bool several = ranks != nullptr && !ranks->alone();
  const FieldOptions& o = field.options();
  // What each band adds: its first row, and its squared error.
  std::vector<std::array<double, 2>> own;
  RenderOptions how;
  if (several) how.share = {ranks->rank(), ranks->size()};
  for (std::int64_t frame = 0; frame < signal.frames(); ++frame) {
    how.time = signal.time_of(frame);
    field.render_bands({o.width, o.height}, how, [&](const Tensor& rows, std::int64_t in_frame) {
      const std::int64_t first = frame * o.height + in_frame;
      own.push_back(
          {static_cast<double>(first), sum(square(rows - signal.read(first, rows.size(0)))).item()});
      return true;
    });
  }
  if (several) {
    const std::string text(reinterpret_cast<const char*>(own.data()), own.size() * sizeof own[0]);
    std::string all;
    for (const std::string& of_rank : ranks->all_gather(text)) all += of_rank;
    own.resize(all.size() / sizeof own[0]);
    std::copy_n(all.data(), all.size(), reinterpret_cast<char*>(own.data()));
    std::sort(own.begin(), own.end());
  }
  double squared = 0;  // in the order of one process
  for (const auto& [first, error] : own) squared += error;
  return decibels(signal, squared / static_cast<double>(signal.points() * signal.channels()));
}

Fitter::Fitter(const Signal& signal, const FitChoices& choices) {
  try {
    job_ = std::make_unique<Job>(signal, choices);
  } catch (const OutOfMemory& full) {
    say_what_fits(full, signal, choices);
    throw;
  }
}
Fitter::~Fitter() = default;
const FitChoices& Fitter::choices() const { return job_->choices_; }
std::optional<double> Fitter::expected_gain(const Watch& watch) const {
  return job_->expected_gain(watch ? watch : [](double) { return true; });
}
StepFacts Fitter::step_facts() { return job_->step_facts(); }
const Field& Fitter::field() const { return job_->field_; }
std::string Fitter::config() const {
  if (config_.empty()) config_ = config_of(job_->signal_, choices());
  return config_;
}
std::int64_t Fitter::own_state_bytes() const {
  job_->learn_from_nothing();
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : job_->own_state())
    bytes += tensor.numel() * static_cast<std::int64_t>(size_of(tensor.dtype()));
  return bytes;
}

double Fitter::measure_step(double seconds) {
  job_->learn_from_nothing();
  train::RunOptions options;
  options.seconds = seconds;
  options.rate = make_schedule(choices());
  options.ranks = choices().ranks;
  const Stopwatch watch;
  double first = 0, last = 0;
  train::Events events;
  events.on_step = [&](std::int64_t step, double) { (step == 1 ? first : last) = watch.seconds(); };
  const std::int64_t steps = train::run(*job_, options, events).steps;
  const double measured =
      steps > 1 ? std::max(last - first, 1e-9) / static_cast<double>(steps - 1) : std::max(first, 1e-9);
  return as_first(choices().ranks, measured);
}

train::RunOptions Fitter::run_options(const CheckpointOptions& checkpoints, double spent) const {
  train::RunOptions options;
  options.steps = choices().steps;
  // At least one step is taken.
  options.seconds = choices().seconds > 0 ? std::max(choices().seconds - spent, 1e-3) : 0;
  options.rate = make_schedule(choices());
  options.ranks = choices().ranks;
  options.any_ranks = choices().parts > 0;
  if (is_first(options.ranks)) options.checkpoint_dir = checkpoints.directory;
  options.checkpoint_every = checkpoints.every;
  options.keep = checkpoints.keep;
  options.resume = checkpoints.resume;
  options.config = config();
  options.may_change = {"steps", "seconds", "target_psnr", "warmup"};  // a run may go on for longer
  return options;
}

train::RunResult Fitter::run(const CheckpointOptions& checkpoints, const train::Events& events,
                             const Watch& teaching, const Heard& closing) {
  const Stopwatch since_begin;
  train::RunResult result;
  double taught_for = 0;
  try {
    const std::optional<Signal> lessons = shared_lessons(
        job_->signal_, choices(), teaching ? teaching : [](double) { return true; });
    taught_for = as_first(choices().ranks, since_begin.seconds());
    if (!lessons) return {.stop = train::Stop::asked, .seconds = taught_for};
    job_->learn_from(*lessons);
    job_->field_.network().set_precision(choices().precision);  // an earlier run has changed it
    job_->field_.set_closing({});  // of an earlier run: it does not fit other weights
    result = train::run(*job_, run_options(checkpoints, taught_for), events);
  } catch (const OutOfMemory& full) {
    say_what_fits(full, job_->signal_, choices());
    throw;
  }
  const Stopwatch since_end;
  job_->field_.network().set_precision(Precision::f32);  // the drawing cannot become better
  job_->close(closing ? closing : [](double) {});
  result.seconds += taught_for + since_end.seconds();
  job_->field_.set_training(
      io::dump_json(nlohmann::json{{"plan", io::parse_json<nlohmann::json>(to_json(choices()))},
                                   {"steps", result.steps},
                                   {"seconds", result.seconds},
                                   {"loss", result.loss}}));
  return result;
}

ImageField fit(const Tensor& picture, const FitOptions& options, const train::Events& events) {
  Fitter fitter(picture, choices_for(picture, options));
  fitter.run({}, events);
  return ImageField(fitter.field());
}

SoundField fit_sound(const Tensor& samples, std::int64_t rate, const FitOptions& options,
                     const train::Events& events) {
  const Signal sound = Signal::sound(samples, rate);
  Fitter fitter(sound, choices_for(sound, options));
  fitter.run({}, events);
  return SoundField(fitter.field());
}

}  // namespace veldt::field
