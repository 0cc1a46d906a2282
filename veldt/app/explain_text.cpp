// Explains the token that a network writes next by those before it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "veldt/app/explain_input.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/terminal.h"
#include "veldt/explain/gradients.h"
#include "veldt/explain/heat.h"
#include "veldt/explain/rollout.h"
#include "veldt/explain/rules.h"
#include "veldt/io/file.h"
#include "veldt/nn/embedding.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"
#include "veldt/ops/unary.h"

namespace veldt::app {
namespace {

// Outputs [n, time, tokens] -> those of the last step.
class NextToken : public nn::Module {
 public:
  explicit NextToken(nn::Module& network) : network_(&network) {}
  Tensor forward(const Tensor& ids) const override { return select((*network_)(ids), 1, -1); }
  void fields(nn::Fields& f) override { f("", *network_); }

 private:
  nn::Module* network_;
};

nn::Module& embedding_of(const ExplainFlags& flags, const nn::Module& network) {
  for (const nn::NamedModule& inner : network.named_modules())
    if (dynamic_cast<nn::Embedding*>(inner.module)) return *inner.module;
  throw UsageError(fmt::format("there is no explanation of {}", on_one_line(flags.model)),
                   "its tokens pass no Embedding, from which on it could be explained",
                   "train a network that begins with one");
}

// A number for each token: [time].
Tensor token_heat(const std::string& method, const explain::FromLayer& from, const nn::Module& whole,
                  const Tensor& ids, const explain::Targets& targets, std::uint64_t seed) {
  const Tensor& vectors = from.layer_output();
  if (method == "rollout") {
    const Tensor rolled = explain::attention_rollout(whole, ids)[0];
    return rolled[-1];
  }
  Tensor heat;
  if (method == "gradient") return norm(explain::saliency(from, vectors, targets)[0], 2, {1});
  if (method == "smoothgrad")
    return norm(explain::smooth_grad(from, vectors, targets, {.seed = seed})[0], 2, {1});
  if (method == "input-x-gradient")
    heat = explain::input_x_gradient(from, vectors, targets);
  else if (method == "guided")
    heat = explain::guided_backprop(from, vectors, targets);
  else if (method == "lrp")
    heat = explain::lrp(from, vectors, targets, {.epsilon = kLrpEpsilon});
  else
    heat = explain::integrated_gradients(from, vectors, targets);
  return sum(heat[0], {1});
}

std::string text_to_explain(const ExplainFlags& flags) {
  if (!flags.prompt.empty() && flags.inputs.empty()) return flags.prompt;
  if (!flags.prompt.empty() || flags.inputs.size() != 1)
    throw UsageError("there is no one text to explain", "the network writes on, and one text is explained",
                     "give it by --prompt \"..\", or name a file");
  constexpr std::uint64_t kMost = std::uint64_t{1} << 24;
  const std::string text = io::read_file(flags.inputs[0], kMost);
  if (text.empty())
    throw IoError(IoError::Kind::malformed, fmt::format("cannot explain {}", on_one_line(flags.inputs[0])),
                  "it is empty", "give a text that the network goes on from");
  return text;
}

}  // namespace

int explain_text(const ExplainFlags& flags, Context& context, ExplainedNetwork& explained) {
  if (!flags.output.empty() && !flags.output.ends_with(".html"))
    throw UsageError(fmt::format("cannot write {}", on_one_line(flags.output)),
                     "a text's explanation is a page", "give it the ending .html");
  const std::string method = flags.method.value_or("integrated");
  const std::vector<std::string> fitting{"gradient", "input-x-gradient", "integrated", "smoothgrad", "guided",
                                         "lrp",      "rollout"};
  if (method == "gradcam" || method == "gradcam++" || method == "occlusion")
    throw wrong_method(method, "it is for pictures, and this network writes", fitting);
  const recipe::Trained& trained = *explained.trained;
  const data::Tokenizer& tokenizer = *trained.facts.tokenizer;
  const Tensor all = tokenizer.encode(text_to_explain(flags));
  const std::int64_t seen = std::min(all.numel(), trained.recipe.context);
  const Tensor host = slice(all, 0, all.numel() - seen, all.numel());
  const Tensor ids = to(unsqueeze(host, 0), trained.device());
  const NextToken whole(explained.network());
  const explain::FromLayer from(whole, embedding_of(flags, explained.network()), ids);
  Tensor outputs;
  {
    const NoGrad off;
    outputs = to(whole(ids), Device{});
  }
  const auto likeliest = argmax(outputs, 1).item<std::int64_t>();
  const explain::Targets targets{
      flags.class_name.empty() ? likeliest : class_number(flags, tokenizer.vocabulary(), outputs.size(1))};
  const auto explanation = [&](const nn::Module&) {
    return token_heat(method, from, whole, ids, targets, static_cast<std::uint64_t>(flags.seed));
  };
  Tensor heat;
  try {
    heat = to(to(explanation(whole), Device{}), DType::f64);
  } catch (const ConfigError& error) {
    throw wrong_method(method, fmt::format("{}: {}", error.summary(), error.why()),
                       {"gradient", "input-x-gradient", "integrated", "smoothgrad"});
  }
  explain::TokenHeat tokens;
  const std::vector<double> values = heat.values<double>();
  for (std::int64_t i = 0; i < seen; ++i)
    tokens.emplace_back(tokenizer.decode(slice(host, 0, i, i + 1)), values[static_cast<std::size_t>(i)]);
  const std::string next = tokenizer.decode(Tensor::from<std::int64_t>({1}, targets));
  const double probability = softmax(outputs, 1)(0, targets[0]).item();
  std::string headline =
      fmt::format("next: '{}' ({:.1f} %), by {}", on_one_line(next), 100 * probability, method);
  if (likeliest != targets[0])
    headline += fmt::format(
        "; the network says '{}' ({:.1f} %)",
        on_one_line(tokenizer.decode(Tensor::from<std::int64_t>({1}, explain::Targets{likeliest}))),
        100 * softmax(outputs, 1)(0, likeliest).item());
  if (!flags.output.empty()) io::write_file(flags.output, explain::tokens_html(tokens, headline));
  std::optional<explain::SanityReport> report;
  if (flags.check) {
    // The vectors come from the embedding, whose weights stay: the heat is of what is made of them.
    report = explain::randomisation_check(explained.network(), explanation,
                                          {.seed = static_cast<std::uint64_t>(flags.seed)});
  }
  if (context.json) {
    nlohmann::ordered_json list = nlohmann::ordered_json::array();
    for (const auto& [token, value] : tokens) list.push_back({{"token", token}, {"heat", value}});
    nlohmann::ordered_json out = {{"model", flags.model},
                                  {"method", method},
                                  {"next", next},
                                  {"probability", probability},
                                  {"tokens", list}};
    if (!flags.output.empty()) out["output"] = flags.output;
    if (report) out["check"] = in_json(*report);
    context.out.json(out);
    return kOk;
  }
  context.out.text(headline + "\n");
  if (stdout_has_colours()) {
    context.out.text(explain::tokens_for_terminal(tokens) + "\n");
  } else {
    for (const auto& [token, value] : tokens)
      context.out.text(fmt::format("{:+.4g}\t{}\n", value, on_one_line(token)));
  }
  if (!flags.output.empty()) context.out.text(fmt::format("wrote {}\n", on_one_line(flags.output)));
  if (report) context.out.text(in_words(*report));
  return kOk;
}

}  // namespace veldt::app
