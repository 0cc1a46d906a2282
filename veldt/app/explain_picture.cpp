// Explains what a network says of a picture, and draws what its layers look for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>

#include "veldt/app/drawing.h"
#include "veldt/app/explain_input.h"
#include "veldt/app/inputs.h"
#include "veldt/app/progress_line.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/explain/cam.h"
#include "veldt/explain/gradients.h"
#include "veldt/explain/heat.h"
#include "veldt/explain/looking.h"
#include "veldt/explain/occlusion.h"
#include "veldt/explain/rollout.h"
#include "veldt/explain/rules.h"
#include "veldt/io/image.h"
#include "veldt/io/suggest.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/interpolate.h"
#include "veldt/ops/operators.h"
#include "veldt/ops/reduce.h"
#include "veldt/ops/shape.h"
#include "veldt/ops/softmax.h"

namespace veldt::app {
namespace {

// What the network was given, as a picture [h, w, 1 or 3] in 0..1: known pixels where it says how they were
// normalised, else with its smallest number black and its largest white.
Tensor seen_picture(const ExplainedNetwork& explained, const Tensor& x) {
  Tensor planes = to(x.detach()[0], Device{});
  if (explained.known) {
    const models::Preprocessing& p = explained.known->preprocessing;
    const auto column = [&](const std::vector<double>& values) {
      return to(Tensor::from<double>({std::ssize(values), 1, 1}, values), DType::f32);
    };
    planes = planes * column(p.deviation) + column(p.mean);
  } else {
    const double least = min(planes).item(), most = max(planes).item();
    planes = (planes - least) / (most > least ? most - least : 1);
  }
  if (planes.size(0) != 3) planes = mean(planes, {0}, true);
  return contiguous(permute(planes, {1, 2, 0}));
}

struct PictureMethod {
  std::string name;   // of --method
  std::string title;  // for the legend
  bool is_signed, smooth;
  std::function<Tensor(const nn::Module&)> heat;  // [h, w]
};

nn::NamedModule named_layer(const ExplainFlags& flags, const nn::Module& network) {
  std::vector<std::string> names;
  for (const nn::NamedModule& inner : network.named_modules()) {
    if (inner.name == flags.layer && !inner.name.empty()) return inner;
    if (!inner.name.empty()) names.push_back(inner.name);
  }
  // Names that are numbers are near to any other.
  const bool is_number = flags.layer.find_first_not_of("0123456789") == std::string::npos;
  const std::string near = is_number ? "" : io::nearest_of(flags.layer, names);
  constexpr std::size_t kMostNamed = 20;
  throw UsageError(fmt::format("there is no layer '{}'", flags.layer),
                   fmt::format("the network has {} modules, from {} to {}", names.size(),
                               names.empty() ? "" : names.front(), names.empty() ? "" : names.back()),
                   !near.empty()                ? fmt::format("did you mean '{}'?", near)
                   : names.size() <= kMostNamed ? fmt::format("give one of {}", fmt::join(names, ", "))
                                                : "give one of their names; veldt info lists them");
}

// What the class token is made of, where there is one, else what all tokens are, as a square of patches.
Tensor rolled_patches(const nn::Module& network, const Tensor& x) {
  const Tensor rolled = explain::attention_rollout(network, x)[0];
  const std::int64_t tokens = rolled.size(0);
  const auto side = [](std::int64_t n) {
    return static_cast<std::int64_t>(std::sqrt(static_cast<double>(n)) + 0.5);
  };
  const std::int64_t with_class = side(tokens - 1), without = side(tokens);
  if (tokens > 1 && with_class * with_class == tokens - 1)
    return reshape(narrow(rolled[0], 0, 1, tokens - 1), {with_class, with_class});
  if (without * without == tokens) return reshape(mean(rolled, {0}), {without, without});
  throw UsageError(fmt::format("the roll-out of {} tokens is no picture", tokens),
                   "patches are drawn as a square, alone or with a class token before them",
                   "explain this network by --method integrated");
}

std::string default_method(const nn::Module& network, const Tensor& x) {
  try {
    explain::last_convolution(network, x);
  } catch (const ConfigError&) {
    return "integrated";
  }
  return explain::attention_maps(network, x).empty() ? "gradcam" : "integrated";
}

PictureMethod method_for(const ExplainFlags& flags, const nn::Module& network, const Tensor& x,
                         const explain::Targets& targets,
                         const std::function<bool(std::int64_t, std::int64_t)>& heard) {
  const std::string name = flags.method ? *flags.method : default_method(network, x);
  if (!flags.layer.empty() && name != "gradcam" && name != "gradcam++")
    throw UsageError("--layer does not fit this method", fmt::format("{} is of the whole network", name),
                     "leave it out, or give --method gradcam");
  const auto of_pixels = [&](bool is_signed, auto attribute) {
    return PictureMethod{name, name, is_signed, false,
                         [=](const nn::Module& m) { return explain::pixel_heat(attribute(m), is_signed); }};
  };
  if (name == "gradcam" || name == "gradcam++") {
    const nn::NamedModule layer =
        flags.layer.empty() ? explain::last_convolution(network, x) : named_layer(flags, network);
    const bool plus = name == "gradcam++";
    return {name, fmt::format("{} of layer {}", name, layer.name.empty() ? "(all)" : layer.name), false, true,
            [=](const nn::Module& m) {
              const Tensor map = plus ? explain::grad_cam_plus_plus(m, *layer.module, x, targets)
                                      : explain::grad_cam(m, *layer.module, x, targets);
              return map[0][0];
            }};
  }
  if (name == "gradient")
    return of_pixels(false, [=](const nn::Module& m) { return explain::saliency(m, x, targets); });
  if (name == "input-x-gradient")
    return of_pixels(true, [=](const nn::Module& m) { return explain::input_x_gradient(m, x, targets); });
  if (name == "integrated")
    return of_pixels(true, [=](const nn::Module& m) { return explain::integrated_gradients(m, x, targets); });
  if (name == "smoothgrad") {
    const auto seed = static_cast<std::uint64_t>(flags.seed);
    return of_pixels(
        false, [=](const nn::Module& m) { return abs(explain::smooth_grad(m, x, targets, {.seed = seed})); });
  }
  if (name == "guided")
    return of_pixels(true, [=](const nn::Module& m) { return explain::guided_backprop(m, x, targets); });
  if (name == "lrp")
    return of_pixels(
        true, [=](const nn::Module& m) { return explain::lrp(m, x, targets, {.epsilon = kLrpEpsilon}); });
  if (name == "occlusion")
    return {name, name, true, false, [=](const nn::Module& m) {
              const Tensor heat = explain::occlusion(m, x, targets, {.heard = heard});
              return heat.defined() ? heat[0][0] : Tensor();
            }};
  return {name, name, false, true, [=](const nn::Module& m) { return rolled_patches(m, x); }};
}

// Those that work for this network and picture.
std::vector<std::string> fitting_methods(const ExplainFlags& flags, const nn::Module& network,
                                         const Tensor& x, const explain::Targets& targets) {
  std::vector<std::string> fitting{"gradient", "input-x-gradient", "integrated", "smoothgrad", "occlusion"};
  for (const char* name : {"guided", "gradcam", "gradcam++", "lrp", "rollout"}) {
    ExplainFlags other = flags;
    other.method = name, other.layer.clear();
    try {
      method_for(other, network, x, targets, {}).heat(network);
      fitting.emplace_back(name);
    } catch (const Error&) {  // which is the answer
    }
  }
  return fitting;
}

// Calls `body`; what does not fit the network becomes a UsageError that names what does.
template <class Body>
auto fitting_or_refused(const ExplainFlags& flags, const nn::Module& network, const Tensor& x,
                        const explain::Targets& targets, const Body& body) {
  try {
    return body();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    const bool is_about_it =
        dynamic_cast<const ConfigError*>(&error) || dynamic_cast<const ShapeError*>(&error);
    if (!is_about_it || !flags.method) throw;
    throw wrong_method(*flags.method, fmt::format("{}: {}", error.summary(), error.why()),
                       fitting_methods(flags, network, x, targets));
  }
}

// What happened to a picture on its way to the network, which may be why its answer surprises.
void note_scaling(const std::string& path, const Tensor& picture, const Tensor& x, bool is_middle) {
  const std::int64_t height = picture.size(0), width = picture.size(1);
  if (x.rank() != 4 || (x.size(2) == height && x.size(3) == width)) return;
  print_note(fmt::format("{} is {}x{}, and the network sees {} scaled to {}x{}{}", on_one_line(path), width,
                         height, is_middle ? "the middle of it," : "it", x.size(3), x.size(2),
                         !is_middle && is_stretched(static_cast<double>(width), static_cast<double>(height),
                                                    x.size(3), x.size(2))
                             ? ", stretched"
                             : ""));
}

struct Answer {
  std::int64_t number = 0;
  double probability = 0;
};

Answer likeliest(const Tensor& outputs) {
  const Tensor shares = softmax(to(outputs, Device{}), 1);
  const std::int64_t number = argmax(shares, 1).item<std::int64_t>();
  return {number, shares(0, number).item()};
}

// A digit in black on white, where those that were learned from are white on black, looks right to people. It
// shows in a network that is much surer of the negative.
void note_negative(const ExplainedNetwork& explained, nn::Module& network, const std::string& path,
                   const Tensor& picture, const Answer& said) {
  constexpr double kMuchSurer = 4;  // times as small a doubt
  const NoGrad off;
  const std::int64_t colours = picture.size(2) < 3 ? 1 : 3;
  const Tensor seen = slice(to(picture, DType::f32), 2, 0, colours);
  const Answer other = likeliest(network(explained.prepare(contiguous(affine(seen, -1, 1)))));
  if (other.number == said.number || !(kMuchSurer * (1 - other.probability) < 1 - said.probability)) return;
  print_note(fmt::format(
      "of the negative of {}, light for dark, the network says {}, {:.1f} %: were the pictures "
      "that it was taught with dark where this one is light?",
      on_one_line(path), on_one_line(explained.class_name(other.number)), 100 * other.probability));
}

void check_picture_output(const ExplainFlags& flags) {
  if (!flags.output.empty()) io::format_for_name(flags.output);
}

}  // namespace

int explain_pictures(const ExplainFlags& flags, Context& context, ExplainedNetwork& explained) {
  if (flags.inputs.size() != 1)
    throw UsageError(flags.inputs.empty() ? "there is no picture to explain" : "there are several pictures",
                     "the network sees pictures, and one is explained at a time", "name one after the model");
  if (flags.output.empty() && !flags.check)
    throw UsageError("there is no place for the explanation", "it is a picture",
                     "give -o WHY.png, or --check for numbers alone");
  check_picture_output(flags);
  nn::Module& network = explained.network();
  const Tensor picture = io::read_image(flags.inputs[0]);
  const Tensor x = explained.prepare(picture);
  Tensor outputs;
  {
    const NoGrad off;
    outputs = network(x);
  }
  if (outputs.rank() != 2)
    throw UsageError(fmt::format("there is no one output of {} to explain", on_one_line(flags.model)),
                     str("it gives ", outputs.shape()), "explain a network that classifies pictures");
  const std::int64_t count = outputs.size(1);
  const Answer said = likeliest(outputs);
  const explain::Targets targets{flags.class_name.empty() ? said.number
                                                          : class_number(flags, explained.classes(), count)};
  if (!context.quiet) {
    note_scaling(flags.inputs[0], picture, x, explained.known.has_value());
    note_negative(explained, network, flags.inputs[0], picture, said);
  }
  const double probability = softmax(to(outputs, Device{}), 1)(0, targets[0]).item();
  const std::string name = explained.class_name(targets[0]);

  const StopOnSignal stop;
  ProgressLine line({.quiet = context.quiet, .show_after = 2});
  const auto heard = [&](std::int64_t done, std::int64_t all) {
    line.update_rows(done, all, "covering window");
    return !stop.requested();
  };
  const std::pair<PictureMethod, Tensor> explained_by = fitting_or_refused(flags, network, x, targets, [&] {
    PictureMethod found = method_for(flags, network, x, targets, heard);
    Tensor drawn = found.heat(network);
    return std::pair(std::move(found), std::move(drawn));
  });
  const PictureMethod& method = explained_by.first;
  const Tensor& heat = explained_by.second;
  line.finish();
  if (!heat.defined() || stop.requested()) return stop.exit_code();
  const bool nothing = max(abs(heat)).item() == 0;
  if (nothing && !context.quiet)
    print_note(fmt::format("the heat is 0 everywhere: by {} nothing speaks for {}", method.title,
                           on_one_line(name)));
  const std::string headline = fmt::format("{}: {:.1f} %", name, 100 * probability),
                    says = fmt::format("the network says {}: {:.1f} %", explained.class_name(said.number),
                                       100 * said.probability);
  std::vector<std::string> legend{headline, method.title};
  if (said.number != targets[0]) legend.insert(legend.begin() + 1, says);
  std::optional<explain::SanityReport> report;
  if (flags.check) {
    struct Stopped {};
    try {
      report = explain::randomisation_check(network,
                                            [&](const nn::Module& other) {
                                              Tensor of_other = method.heat(other);
                                              if (!of_other.defined() || stop.requested()) throw Stopped();
                                              return of_other;
                                            },
                                            {.seed = static_cast<std::uint64_t>(flags.seed)});
    } catch (const Stopped&) {
      return stop.exit_code();
    }
  }
  if (!flags.output.empty())
    io::write_image(flags.output, explain::heat_picture(seen_picture(explained, x), heat,
                                                        {.is_signed = method.is_signed,
                                                         .smooth = method.smooth,
                                                         .share = method.smooth ? 1.0 : 0.99,
                                                         .lines = legend}));
  if (context.json) {
    nlohmann::ordered_json out = {{"model", flags.model},
                                  {"input", flags.inputs[0]},
                                  {"method", method.name},
                                  {"class", name},
                                  {"number", targets[0]},
                                  {"probability", probability},
                                  {"likeliest",
                                   {{"class", explained.class_name(said.number)},
                                    {"number", said.number},
                                    {"probability", said.probability}}},
                                  {"largest", max(abs(heat)).item()}};
    if (!flags.output.empty()) out["output"] = flags.output;
    if (report) out["check"] = in_json(*report);
    context.out.json(out);
    return kOk;
  }
  context.out.text(fmt::format("{}, by {}\n", on_one_line(headline), on_one_line(method.title)));
  if (said.number != targets[0]) context.out.text(on_one_line(says) + '\n');
  if (!flags.output.empty()) context.out.text(fmt::format("wrote {}\n", on_one_line(flags.output)));
  if (report) context.out.text(in_words(*report));
  return kOk;
}

int explain_filters(const ExplainFlags& flags, Context& context, ExplainedNetwork& explained) {
  if (flags.output.empty() || !flags.inputs.empty())
    throw UsageError(
        flags.output.empty() ? "there is no place for the filters" : "--filters looks at no picture",
        "they are drawn as a picture, of the network's weights alone", "give -o FILTERS.png and no input");
  check_picture_output(flags);
  const Tensor small = explain::first_layer_filters(explained.network());
  const std::int64_t times = std::max<std::int64_t>(1, 480 / std::max(small.size(0), small.size(1)));
  const Tensor planes = unsqueeze(permute(small, {2, 0, 1}), 0);
  const Tensor large = interpolate(planes, {.scale_factor = {static_cast<double>(times)}});
  io::write_image(flags.output, contiguous(permute(squeeze(large, 0), {1, 2, 0})));
  if (context.json)
    context.out.json({{"model", flags.model},
                      {"output", flags.output},
                      {"width", large.size(3)},
                      {"height", large.size(2)}});
  else
    context.out.text(fmt::format("wrote {}\n", on_one_line(flags.output)));
  return kOk;
}

int explain_channel(const ExplainFlags& flags, Context& context, ExplainedNetwork& explained) {
  if (flags.inputs.size() < 2)
    throw UsageError("there are too few pictures to choose from", "--channel ranks several",
                     "name two or more after the model");
  check_picture_output(flags);
  nn::Module& network = explained.network();
  const nn::NamedModule layer =
      flags.layer.empty()
          ? explain::last_convolution(network, explained.prepare(io::read_image(flags.inputs[0])))
          : named_layer(flags, network);
  std::size_t place = 0;
  const auto next = [&] {
    return place < flags.inputs.size() ? explained.prepare(io::read_image(flags.inputs[place++])) : Tensor();
  };
  const auto found = explain::most_activating(network, *layer.module, *flags.channel, next, flags.top);
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  constexpr std::int64_t kTile = 128;  // pixels of a side, of pictures that are smaller
  std::vector<Tensor> tiles;
  for (const explain::Activation& one : found) {
    const std::string& path = flags.inputs[static_cast<std::size_t>(one.index)];
    list.push_back({{"input", path}, {"value", one.value}, {"place", one.place}});
    if (!context.json) context.out.text(fmt::format("{:.4g}  {}\n", one.value, on_one_line(path)));
    if (!flags.output.empty()) {
      const Tensor seen =
          permute(seen_picture(explained, explained.prepare(io::read_image(path))), {2, 0, 1});
      const std::int64_t times = std::max<std::int64_t>(1, kTile / std::max(seen.size(1), seen.size(2)));
      const Tensor large = interpolate(unsqueeze(seen, 0), {.scale_factor = {static_cast<double>(times)}});
      tiles.push_back(pad(squeeze(large, 0), {2, 2, 2, 2}, 1));
    }
  }
  if (!flags.output.empty()) io::write_image(flags.output, contiguous(permute(cat(tiles, 2), {1, 2, 0})));
  if (context.json) {
    nlohmann::ordered_json out = {
        {"model", flags.model}, {"layer", layer.name}, {"channel", *flags.channel}, {"inputs", list}};
    if (!flags.output.empty()) out["output"] = flags.output;
    context.out.json(out);
  }
  return kOk;
}

}  // namespace veldt::app
