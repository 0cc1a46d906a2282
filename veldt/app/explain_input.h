// What the parts of `veldt explain` share: its flags, and the network that is explained.
// Tests: tests/app/explain_test.cpp
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "veldt/app/frame.h"
#include "veldt/cli/context.h"
#include "veldt/explain/sanity.h"
#include "veldt/models/model_file.h"
#include "veldt/recipe/trained.h"

namespace veldt::app {

struct ExplainFlags {
  std::string model, output, layer, class_name, prompt, device = "auto";
  std::optional<std::string> method;
  std::vector<std::string> inputs;
  std::optional<std::int64_t> channel;
  std::int64_t seed = 1, top = 9;
  bool check = false, filters = false;
};

// The network of a recipe, or a known one of `veldt import --as`.
struct ExplainedNetwork {
  std::optional<recipe::Trained> trained;
  std::optional<models::Model> known;

  nn::Module& network();
  bool takes_pictures() const;
  // The network's input for a picture of io::read_image().
  Tensor prepare(const Tensor& picture) const;
  // The names of its outputs; empty where they have none.
  const std::vector<std::string>& classes() const;
  std::string class_name(std::int64_t number) const;
};

// Of --method lrp. With next to none it is the input times the gradient on networks of relu; this one absorbs
// the sums near 0, whose shares are large and cancel out.
constexpr double kLrpEpsilon = 0.1;

// Throws IoError, and UsageError for a network that nothing of `veldt explain` fits.
ExplainedNetwork load_explained(const ExplainFlags& flags);

// The number of the class that --class names, by its name or number, of so many. Throws UsageError.
std::int64_t class_number(const ExplainFlags& flags, const std::vector<std::string>& names,
                          std::int64_t count);

// The error for a method that does not fit, which names those that do.
UsageError wrong_method(const std::string& method, const std::string& why,
                        const std::vector<std::string>& fitting);

// A line for each stage, and what follows of them; the same as JSON.
std::string in_words(const explain::SanityReport& report);
nlohmann::ordered_json in_json(const explain::SanityReport& report);

int explain_pictures(const ExplainFlags& flags, Context& context, ExplainedNetwork& explained);
int explain_filters(const ExplainFlags& flags, Context& context, ExplainedNetwork& explained);
int explain_channel(const ExplainFlags& flags, Context& context, ExplainedNetwork& explained);
int explain_text(const ExplainFlags& flags, Context& context, ExplainedNetwork& explained);
int explain_table(const ExplainFlags& flags, Context& context, ExplainedNetwork& explained);

}  // namespace veldt::app
