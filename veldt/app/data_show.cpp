// veldt data show: the examples of a data set as one picture.
#include <fmt/format.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "veldt/app/exit.h"
#include "veldt/app/inputs.h"
#include "veldt/app/options.h"
#include "veldt/app/verbs.h"
#include "veldt/data/loader.h"
#include "veldt/data/picture_grid.h"
#include "veldt/data/pictures.h"
#include "veldt/io/image.h"

namespace veldt::app {
namespace {

constexpr const char* kShowExamples =
    "  veldt data show mnist data/mnist -o digits.png\n"
    "  veldt data show cifar10 cifar-10-batches-bin -o test.png --part test --count 100 --columns 20\n"
    "  veldt data show pictures photos -o photos.png --size 128   photos/cats/*.jpg, photos/dogs/*.jpg ..\n"
    "  veldt data show mnist data/mnist -o second.png --seed 7 --epoch 1\n";

struct DataShowFlags {
  std::string kind, folder, output;
  std::optional<std::string> part;
  std::int64_t count = 64, columns = 8, seed = 0, epoch = 0;
  std::optional<std::int64_t> size;
};

data::DatasetPtr open_set(const DataShowFlags& flags) {
  const bool pictures = flags.kind == "pictures";
  if (pictures && flags.part)
    throw UsageError("pictures have no --part",
                     "a folder of pictures is not split into training and test set",
                     "name the folder of the part");
  if (!pictures && flags.size)
    throw UsageError(fmt::format("--size is not for {}", flags.kind), "its pictures are all of one size",
                     "leave it out");
  const data::Part part = flags.part == "test" ? data::Part::test : data::Part::train;
  if (flags.kind == "mnist") return data::mnist(flags.folder, part);
  if (flags.kind == "cifar10") return data::cifar10(flags.folder, part);
  if (flags.kind == "cifar100") return data::cifar100(flags.folder, part);
  const std::int64_t size = flags.size.value_or(96);
  return data::picture_folder(flags.folder, {.height = size, .width = size});
}

// Pictures, then labels: not stacked, because their sizes may differ.
data::Batch side_by_side(std::vector<data::Example> examples, Rng&) {
  data::Batch batch;
  for (const std::size_t part : {0u, 1u})
    for (const data::Example& e : examples) batch.push_back(e.at(part));
  return batch;
}

// The names of classes, in the places of their pictures.
std::string rows_of(const std::vector<std::string>& names, std::size_t columns) {
  std::size_t width = 0;
  for (const std::string& name : names) width = std::max(width, name.size());
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool last = (i + 1) % columns == 0 || i + 1 == names.size();
    text += last ? names[i] + "\n" : fmt::format("{:<{}} ", names[i], width);
  }
  return text;
}

int data_show(const DataShowFlags& flags, Context& context) {
  check_output(flags.output, "--output", {}, context);
  const data::DatasetPtr set = open_set(flags);
  // What the first batch of that epoch would be.
  data::Loader loader(set, {.batch = std::max<std::int64_t>(1, std::min(flags.count, set->size())),
                            .shuffle = true,
                            .seed = static_cast<std::uint64_t>(flags.seed),
                            .collate = side_by_side,
                            .workers = 0});
  const data::Batch batch = loader.batch(flags.epoch * loader.batches());
  const auto middle = batch.begin() + std::ssize(batch) / 2;
  const std::vector<Tensor> pictures(batch.begin(), middle), labels(middle, batch.end());
  const Tensor grid = data::picture_grid(pictures, flags.columns);
  io::write_image(flags.output, grid);

  std::vector<std::string> names;
  nlohmann::ordered_json shown = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i].item());
    names.push_back(set->classes().at(label));
    shown.push_back({{"example", loader.options().sampler.at(flags.epoch, static_cast<std::int64_t>(i))},
                     {"label", label},
                     {"class", names.back()}});
  }
  if (context.json) {
    context.out.json({{"output", flags.output},
                      {"width", grid.size(1)},
                      {"height", grid.size(0)},
                      {"examples", set->size()},
                      {"pictures", shown}});
    return kOk;
  }
  context.out.text(fmt::format("wrote {}: {} of {} examples, {} x {} pixels\n{}", flags.output, names.size(),
                               set->size(), grid.size(1), grid.size(0),
                               rows_of(names, static_cast<std::size_t>(flags.columns))));
  return kOk;
}

}  // namespace

Run add_data(VerbOptions& verb, Context& context) {
  verb.app->require_subcommand(1);
  auto flags = std::make_shared<DataShowFlags>();
  VerbOptions& show = verb.add_verb("show", "draw what a network is shown");
  add_choice(show, "KIND", flags->kind, {"mnist", "cifar10", "cifar100", "pictures"}, "what the folder holds")
      .required();
  add_path(show, "FOLDER", flags->folder, "where the set lies; of pictures, a folder for each class")
      .required();
  add_path(show, "-o,--output", flags->output,
           fmt::format("where the picture goes ({})", io::kPictureFormats))
      .required();
  add_choice(show, "--part", flags->part, {"train", "test"}, "which part of the set (default: train)")
      .command_line_only();  // what is not for every kind
  add_count(show, "--count", flags->count, {.least = 1, .most = 1024}, "how many examples");
  add_count(show, "--columns", flags->columns, {.least = 1, .most = 1024}, "how many in a row");
  add_count(show, "--size", flags->size, {.least = 1, .most = 512},
            "sides in pixels that a folder's pictures are brought to (default: 96)")
      .command_line_only();
  add_count(show, "--seed", flags->seed, {.least = 0}, "which order the examples have");
  add_count(show, "--epoch", flags->epoch, {.least = 0, .most = 1'000'000},
            "the epoch whose first ones are shown");
  show.examples(kShowExamples);
  verb.examples("  veldt data show mnist data/mnist -o digits.png\n");
  show.run = [flags, &context] { return data_show(*flags, context); };
  return {};
}

}  // namespace veldt::app
