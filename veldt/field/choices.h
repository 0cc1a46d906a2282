// How a signal is fitted. FitOptions are wishes; choices_for() looks at the signal and fills in the rest.
// Tests: tests/field/fit_test.cpp, tests/field/reasons_test.cpp, tests/field/kind_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "veldt/dist/communicator.h"
#include "veldt/field/kind.h"
#include "veldt/field/options.h"
#include "veldt/field/prior.h"
#include "veldt/field/signal.h"
#include "veldt/ops/mlp.h"

namespace veldt::field {

class Field;

// hinge: squared error, 0 if the output is beyond a target of -1 or 1. bce: cross entropy of the logits.
enum class Loss : std::uint8_t { mse, hinge, bce };
enum class OptimizerKind : std::uint8_t { sgd, adam, adamw, muon };
enum class ScheduleKind : std::uint8_t { constant, cosine };
// How a batch's points are drawn. uniform: in shuffled order, each once before any repeats. stratified: one
// from each of as many blocks of neighbours. error: more where the error is larger, by ErrorMap.
enum class Sampling : std::uint8_t { uniform, stratified, error };

std::string_view name_of(Loss);
std::string_view name_of(Precision);
std::string_view name_of(OptimizerKind);
std::string_view name_of(ScheduleKind);
std::string_view name_of(Sampling);
// Each throws ConfigError listing the known names.
Loss loss_from(std::string_view name);
Precision precision_from(std::string_view name);
OptimizerKind optimizer_from(std::string_view name);
ScheduleKind schedule_from(std::string_view name);
Sampling sampling_from(std::string_view name);
std::vector<std::string> loss_names();
std::vector<std::string> precision_names();
std::vector<std::string> optimizer_names();
std::vector<std::string> schedule_names();
std::vector<std::string> sampling_names();

// Unset options are chosen from the signal.
struct FitOptions {
  double seconds = 0;  // stop after this long; 0: after `steps`
  std::uint64_t seed = 0;
  std::optional<std::int64_t> steps = {};
  double target_psnr = 0;  // stop when the whole is drawn this well, in dB (for a sound its SNR); 0: never
  std::optional<Model> model = {};
  std::optional<std::int64_t> width = {};  // units of a hidden layer
  std::optional<std::int64_t> depth = {};  // hidden layers
  std::optional<double> first_omega = {};  // of the first layer
  std::optional<double> omega = {};        // of the others
  std::optional<std::int64_t> batch = {};  // pixels or frames a step; 0: all of them
  std::optional<Sampling> sampling = {};
  std::optional<OptimizerKind> optimizer = {};
  std::optional<double> lr = {};
  std::optional<ScheduleKind> schedule = {};
  std::optional<std::int64_t> warmup = {};           // steps over which the rate rises from 0
  std::optional<std::int64_t> schedule_offset = {};  // stretches the cosine: CosineAnnealing::offset
  std::optional<Loss> loss = {};
  std::optional<Precision> precision = {};  // unset: bf16 where it is faster
  std::optional<int> footprint = {};        // samples along each side of a pixel; see FieldOptions
  Device device = {};
  std::optional<Style> style = {};
  Source source = Source::area;
  std::shared_ptr<const Prior> prior = {};  // the teacher of pictures that follow one; none: rules
  // A field whose network and weights the fit begins with; it may have learned another signal of the same
  // channels. Then model, width, depth, the omegas and simba must be unset.
  std::shared_ptr<const Field> init = {};
  // For drawings in two tones; none: they are fitted with sines.
  std::shared_ptr<const Prior> tone_prior = {};
  bool simba = false;  // the original recipe, see simba_choices(); the other wishes still count
  // Of several processes that fit one signal together; null: there is one. Each computes its part of every
  // batch. All have the same signal and wishes, and get the same field.
  dist::Communicator* ranks = nullptr;
  // Above 0: the number of parts of each batch, however many ranks there are, which are computed and added up
  // one by one: a fit has the same bits on 1 to `parts` ranks. Without ranks too.
  std::int64_t parts = 0;
};

// The reasons of the choices, one clause each, by the flag's name without dashes ("first-omega") or by a
// word ("kind", "grid").
using Reasons = std::map<std::string, std::string, std::less<>>;

// The complete choices of a fit: the same choices, signal, threads and machine give the same weights.
struct FitChoices {
  FieldOptions field;
  std::int64_t steps = 0;  // 0: limited by seconds
  double seconds = 0;
  double target_psnr = 0;
  std::int64_t batch = 0;  // points per step; at least one, at most one sample of every pixel
  Sampling sampling = Sampling::uniform;
  PictureKind kind;  // of a picture
  Source source = Source::area;
  // Learns a redraw of the picture at this multiple of its size (field/teacher.h), and is closed at the end;
  // 1: learns the signal itself.
  int lesson_scale = 1;
  bool has_teacher() const { return lesson_scale > 1; }
  std::shared_ptr<const Prior> prior = {};  // makes the redraw; none: rules
  // Errors at the samples are corrected last (field/closing.h), with this many coefficients per sample; 0: no
  // closing.
  int closes = 0;
  // Judges the finished field between the pixels; none: it is not judged.
  std::shared_ptr<const Prior> judge = {};
  double edge_share = 0;  // of a batch's points; 0: edges are not separated (field/sampling.h)
  // The first layer keeps its initial values: frequencies so high that training would scatter them.
  bool fixed_frequencies = false;
  double between_share = 0;  // of a batch's points; they lie between the samples, see Signal::between()
  OptimizerKind optimizer = OptimizerKind::adam;
  double lr = 1e-3, lr_min = 0;
  double eps = 1e-8;  // of adam and adamw
  ScheduleKind schedule = ScheduleKind::cosine;
  std::int64_t warmup = 0;
  std::int64_t schedule_offset = 0;
  Loss loss = Loss::mse;
  Precision precision = Precision::f32;
  std::uint64_t seed = 0;
  std::shared_ptr<const Field> init = {};  // whose weights the fit begins with; none: random ones
  // Not part of the JSON: a run may continue on another device, in the same precision.
  Device device = {};
  // Nor are these: it may go on with other processes. See FitOptions.
  dist::Communicator* ranks = nullptr;
  std::int64_t parts = 0;
  Reasons reasons = {};  // set where the choices are made; see field/reasons.h

  // Makes one choice, here or in `field`, and records the reason.
  template <class T> void choose(T& what, std::type_identity_t<T> value, const char* name, std::string why) {
    what = std::move(value);
    reasons.insert_or_assign(name, std::move(why));
  }
};

// Throws ConfigError for an invalid wish (a rate below 0, a batch below 0, hinge loss on a picture with
// greys, an omega for a model that has none), and for a sound of more frames than positions can distinguish.
FitChoices choices_for(const Signal& signal, const FitOptions& wishes);

// One JSON object with every choice; equal choices give equal text.
std::string to_json(const FitChoices& choices);

}  // namespace veldt::field
