// Works out, from the signal, the wishes and the plan, why each choice came out as it did.
#include "veldt/field/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "veldt/field/field.h"
#include "veldt/field/recipe.h"
#include "veldt/field/spectrum.h"

namespace veldt::field {
namespace {

class Explanation {
 public:
  Explanation(const Signal& signal, const FitOptions& wishes, const FitPlan& plan)
      : signal_(signal), wishes_(wishes), plan_(plan), field_(plan.field) {}

  std::vector<Reason> all() {
    signal();
    network();
    if (!field_.encodings.empty())
      encoding(field_.encodings.front());
    else if (takes_omega(field_))
      omegas();
    batch();
    training();
    if (field_.is_sound() && plan_.closes > 0)
      add("closing", "exact",
          "what the grid lacks at each frame is kept; a windowed sinc plays what lies between");
    return std::move(reasons_);
  }

 private:
  void add(const char* choice, std::string value, std::string why, bool is_wish = false) {
    if (is_wish)
      why = "asked for";
    else if (wishes_.simba && std::string_view(choice) != "kind")
      why = "the simba preset, to the letter";
    reasons_.push_back({choice, std::move(value), std::move(why)});
  }

  bool is_drawing() const {
    return !plan_.has_teacher() && !field_.squares && (facts_.two_level || kind_.style == Style::line);
  }
  double side() const { return static_cast<double>(std::max(field_.width, field_.height)); }
  // That a fit sees: of a teacher's redraw, or of the signal itself.
  std::int64_t points() const {
    return signal_.points() * plan_.lesson_scale * plan_.lesson_scale / (field_.period * field_.period);
  }
  const char* learned() const { return plan_.has_teacher() ? "sample" : point(); }
  const char* point() const { return field_.is_sound() ? "frame" : "pixel"; }

  std::string widths() const {
    const auto& w = field_.widths;
    const bool is_one = std::all_of(w.begin(), w.end(), [&](std::int64_t units) { return units == w[0]; });
    return is_one ? fmt::format("{}", w[0]) : fmt::format("{}", fmt::join(w, ","));
  }

  std::string centroid() const {
    if (field_.is_sound() || is_drawing()) return {};
    return fmt::format(" along each axis, the spectrum's centroid is at {:.2g}", centroid_);
  }

  // A frequency in cycles a sample.
  std::string frequency(double cycles) const {
    return field_.is_sound() ? fmt::format("{:.0f} Hz", cycles * static_cast<double>(field_.rate))
                             : fmt::format("{:.2g} cycles a pixel", cycles);
  }

  void signal() {
    const Spectrum down = spectrum_of(signal_, Axis::down);
    if (field_.is_sound()) {
      add("kind", "sound",
          fmt::format("{} frames at {} a second; 95 % of the energy below {}", field_.height, field_.rate,
                      frequency(down.bandwidth)));
      return;
    }
    facts_ = facts_of(signal_);
    kind_ = kind_of(facts_, signal_, wishes_.style);
    const Spectrum across = spectrum_of(signal_, Axis::across);
    centroid_ = std::max(across.centroid, down.centroid);
    add("kind", std::string(in_words(kind_)),
        fmt::format("{}; {}; 95 % of the energy below {:.2g} cycles a pixel across, {:.2g} down",
                    kind_.reason,
                    signal_.channels() == 1 ? "1 channel" : fmt::format("{} channels", signal_.channels()),
                    across.bandwidth, down.bandwidth));
  }

  void network() {
    const Model model = model_of(field_);
    const bool is_small = model != Model::hashgrid;
    std::string why =
        is_small ? fmt::format("{} {}s are few enough for a small network", signal_.points(), point())
                 : fmt::format("a grid holds {} {}s sooner than a network alone", signal_.points(), point());
    if (is_small && field_.is_sound()) why = "a sound is made of waves";
    if (field_.squares) why = "a small network, since each pixel is one square of one level";
    if (is_drawing()) why = "a drawing, which a small network of sines holds, and enlarges well";
    add("model", std::string(name_of(model)), why, wishes_.model.has_value());
    if (field_.widths.empty()) return;
    const auto numbers = static_cast<double>(parameter_count(field_));
    const auto levels = static_cast<double>(points() * signal_.channels());
    add("width", widths(),
        fmt::format("{:.0f} numbers to learn {:.0f} levels, {:.2g} of them each", numbers, levels,
                    numbers / levels),
        wishes_.width.has_value());
    add("depth", fmt::format("{}", field_.widths.size()),
        !is_small ? "the grid has done most of it"
        : field_.activation == Activation::siren || field_.activation == Activation::finer
            ? "hidden layers multiply the frequencies of the first"
            : "hidden layers combine what the first one draws",
        wishes_.depth.has_value());
  }

  void encoding(const EncodingOptions& encoding) {
    if (const auto* grid = std::get_if<GridOptions>(&encoding)) {
      const double cells = static_cast<double>(grid->finest) / side(),
                   entries = std::exp2(grid->log2_entries) / static_cast<double>(signal_.points());
      add("grid", fmt::format("{} x {}", grid->levels, grid->features),
          grid->coarsest == grid->finest
              ? fmt::format("{} cells, {:.2g} for each {}", grid->finest, cells, point())
              : fmt::format("levels from {} to {} cells, {:.2g} for each {} of the longer side; up to 2^{} "
                            "vertices a level, {:.2g} for each {}",
                            grid->coarsest, grid->finest, cells, point(), grid->log2_entries, entries,
                            point()));
    } else if (const auto* waves = std::get_if<FourierOptions>(&encoding)) {
      add("sigma", fmt::format("{:.4g}", waves->sigma),
          fmt::format("{} waves, two in three below {}", waves->frequencies,
                      frequency(2 * waves->sigma / side())));
    }
  }

  // A first layer's weights are drawn from U(-1/n, 1/n), and a unit of a coordinate is half the longer side.
  void omegas() {
    if (field_.activation == Activation::tanh) {
      add("omega", fmt::format("{:.4g}", field_.first_omega), "how steep the first layer's ridges may be",
          wishes_.first_omega.has_value());
      add("hidden-omega", fmt::format("{:.4g}", field_.omega), "the gain of the other layers' first weights",
          wishes_.omega.has_value());
      return;
    }
    const bool is_sine = field_.activation == Activation::siren || field_.activation == Activation::finer;
    const double highest = field_.first_omega / field_.inputs() / (std::numbers::pi * side());
    add("omega", fmt::format("{:.4g}", field_.first_omega),
        is_sine ? fmt::format("the first layer starts below {}{}, and the others make overtones",
                              frequency(highest), centroid())
                : fmt::format("suits {} whatever is fitted", name_of(field_.activation)),
        wishes_.first_omega.has_value());
    add("hidden-omega", fmt::format("{:.4g}", field_.omega),
        is_drawing() ? "low: lines stay smooth when they are enlarged"
                     : "high: each step moves the hidden layers far",
        wishes_.omega.has_value());
  }

  void batch() {
    const auto all = static_cast<double>(points());
    add("batch", fmt::format("{}", plan_.batch),
        plan_.batch >= points()
            ? fmt::format("every {}, in every step", learned())
            : fmt::format("{:.2g} of the {:.0f} {}s", static_cast<double>(plan_.batch) / all, all, learned()),
        wishes_.batch.has_value());
    add("sampling", std::string(name_of(plan_.sampling)),
        plan_.sampling == Sampling::error ? "its weights serve all places, so it learns where its errors are"
        : plan_.sampling == Sampling::stratified ? "all places are met equally often"
        : plan_.batch >= points()                ? "each once a step"
        : plan_.edge_share > 0                   ? "in shuffled order, edges and flat ground apart"
                                                 : "in shuffled order, all before any comes again",
        wishes_.sampling.has_value());
    if (plan_.edge_share > 0)
      add("edges", fmt::format("{:g}", plan_.edge_share),
          "of each batch: most of a drawing is paper, and even batches would learn paper");
    if (plan_.between_share > 0)
      add("between", fmt::format("{:g}", plan_.between_share),
          "of each batch lies between pixels, so that the picture can be enlarged");
    if (!field_.is_sound())
      add("footprint", fmt::format("{}", field_.footprint),
          plan_.has_teacher()
              ? "samples along a pixel's sides, so that something binds what lies between the pixels"
          : field_.footprint > 1 ? "greys of line art are edges that a pixel has averaged"
                                 : "pixels are compared at their centres",
          wishes_.footprint.has_value());
    if (plan_.has_teacher())
      add("teacher",
          plan_.prior                     ? "prior"
          : plan_.source == Source::point ? "lanczos3"
                                          : "rules",
          plan_.source == Source::point ? "it passes through the levels in the middle of the pixels"
          : !field_.tones.empty()       ? "contours that pass between the pixels of two tones"
          : plan_.prior
              ? "a network that learned from pictures what lies between pixels; a closing makes them exact"
              : "a redraw with sharp contours and flat grounds, whose averages are the pixels; a closing "
                "makes "
                "them exact");
  }

  void training() {
    const std::string_view optimizer = name_of(plan_.optimizer);
    add("optimizer", std::string(optimizer),
        plan_.optimizer == OptimizerKind::muon
            ? "it turns whole matrices, which this network learns from sooner"
            : "steady over a wide range of rates; muon can be ahead, at a rate that has to be found",
        wishes_.optimizer.has_value());
    add("lr", fmt::format("{:.4g}", plan_.lr),
        fmt::format("suits {} with {}", name_of(model_of(field_)), optimizer), wishes_.lr.has_value());
    add("schedule", std::string(name_of(plan_.schedule)),
        fmt::format("the rate falls along half a cosine to {:.4g}, so that the last steps are small",
                    plan_.lr_min),
        wishes_.schedule.has_value());
    add("loss", std::string(name_of(plan_.loss)),
        plan_.loss == Loss::hinge ? "every level is black or white: beyond them there is no error"
                                  : "levels have any value, and the quality is measured by it",
        wishes_.loss.has_value());
    add("precision", std::string(name_of(plan_.precision)),
        plan_.precision == Precision::bf16   ? "this device multiplies bf16 fast, and sums it in f32"
        : plan_.precision == Precision::tf32 ? "tensor cores multiply it, and sum in f32"
        : has_products(plan_.device, Precision::bf16)
            ? "bf16 has too few digits for it, or layers beyond its kernels"
            : "this processor is not fast at bf16",
        wishes_.precision.has_value());
    if (plan_.steps > 0)
      add("steps", fmt::format("{}", plan_.steps),
          fmt::format("each {} is seen {:.3g} times", learned(),
                      static_cast<double>(plan_.steps) * static_cast<double>(plan_.batch) /
                          static_cast<double>(points())),
          wishes_.steps.has_value());
  }

  const Signal& signal_;
  const FitOptions& wishes_;
  const FitPlan& plan_;
  const FieldOptions& field_;
  PictureFacts facts_;
  PictureKind kind_;
  double centroid_ = 0;
  std::vector<Reason> reasons_;
};

}  // namespace

std::vector<Reason> explain(const Signal& signal, const FitOptions& wishes, const FitPlan& plan) {
  return Explanation(signal, wishes, plan).all();
}

}  // namespace veldt::field
