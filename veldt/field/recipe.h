// The choices that make a fit good without flags, from what the picture looks like. Measured figures behind
// them are in bench/RESULTS.md.
// Tests: tests/field/fit_test.cpp, tests/field/explain_test.cpp, tests/field/kind_test.cpp
#pragma once

#include "veldt/field/plan.h"

namespace veldt::field {

// Sets what the field has to say of the signal itself: its size, its channels, its rate.
void describe(const Signal& signal, FieldOptions& field);

// Makes the field one of this model, with an encoding that suits its size.
void set_model(FieldOptions& field, Model model);

// Everything but sizes, wishes and seed.
FitPlan recipe_for(const Signal& signal, const FitOptions& wishes);
FitPlan sound_recipe(const Signal& sound, const FitOptions& wishes);  // sound_recipe.cpp

// The recipe of the story that Veldt answers, to the letter: 3-128-128-256-128-64-64-64-1 without biases but
// with a constant third input, tanh, sigmoid at the end, coordinates i / (N - 1), 1 for ink, all pixels in
// every step, plain gradient descent on the mean squared error, cosine annealing to 1e-6, 1.2 million steps.
FitPlan simba_plan();

}  // namespace veldt::field
