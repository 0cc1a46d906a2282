// Choices that pictures and sounds share: each function makes one, and records the reason.
// Tests: tests/field/reasons_test.cpp, tests/field/fit_test.cpp, tests/field/options_test.cpp
#pragma once

#include <string>

#include "veldt/field/choices.h"

namespace veldt::field {

// Reasons that are used in several places.
namespace because {
inline constexpr const char* kAskedFor = "asked for";
inline constexpr const char* kAllPlaces = "all places are visited equally often";
inline constexpr const char* kAtCentres = "pixels are compared at their centres";
inline constexpr const char* kFar = "high: each step moves the hidden layers far";
inline constexpr const char* kUsual = "what this model starts with, whatever is fitted";
inline constexpr const char* kRidges = "how steep the first layer's ridges may be";
inline constexpr const char* kGain = "the gain of the other layers' first weights";
inline constexpr const char* kShuffled = "in shuffled order, each once before any repeats";
inline constexpr const char* kMeasured = "levels have any value, and the quality is measured by it";
inline constexpr const char* kSteady =
    "steady over a wide range of rates; muon can be ahead, at a rate that has to be found";
}  // namespace because

// Sets the field's model, with an encoding that suits its size. The caller gives the reason for the model,
// and for a preset also for the depth.
void choose_model(FitChoices& choices, Model model);
// Makes this the field's one encoding.
void choose_grid(FitChoices& choices, const GridOptions& grid);
// Both omegas, whose meaning depends on the model.
void choose_omegas(FitChoices& choices, double first, std::string why_first, double others,
                   std::string why_others);
// The reason for the first omega of sines; `detail`: how it was chosen.
std::string starts_below(const FieldOptions& field, double first_omega, const std::string& detail = {});
// The batch, out of `points` points that can be learned.
void choose_batch(FitChoices& choices, std::int64_t batch, std::int64_t points);
// The rate; the reason is that it suits the model and the optimizer chosen so far.
void choose_lr(FitChoices& choices, double lr);

// The unit of a batch: "pixel", "frame", or "sample", if a teacher gives several per pixel.
const char* point_of(const FitChoices& choices);
// A frequency in cycles a pixel or frame.
std::string in_words(const FieldOptions& field, double cycles);

}  // namespace veldt::field
