// Writes fields as what runs without Veldt.
#include "veldt/app/publish.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "veldt/app/inputs.h"
#include "veldt/app/progress_line.h"
#include "veldt/cli/exit.h"
#include "veldt/cli/signals.h"
#include "veldt/cli/terminal.h"
#include "veldt/field/image_field.h"
#include "veldt/io/file.h"
#include "veldt/publish/glsl.h"
#include "veldt/publish/page.h"

namespace veldt::app {
namespace {

std::string ending_of(const std::string& output) {
  return output.ends_with('/') ? "/" : std::filesystem::path(output).extension().string();
}

}  // namespace

bool is_published(const std::string& output) {
  const std::string ending = ending_of(output);
  return ending == ".html" || ending == ".h" || ending == ".glsl" || ending == ".svg" || ending == "/";
}

int publish_field(const std::string& model, const std::string& output, const WishedSize&, Context& context) {
  const std::string ending = ending_of(output);
  const std::string title = std::filesystem::path(model).stem().string();
  check_output(output, "--output", {model}, context);
  const field::Field field = field::Field::load(model);
  std::string text, note;
  nlohmann::ordered_json facts = {{"model", model}, {"output", output}};
  if (ending == ".html") {
    publish::Page page = publish::page(field, {.title = title});
    text = std::move(page.html);
    note = page.rounding;
  } else {
    text = publish::glsl(field, title);
  }
  io::write_file(output, text);
  facts["bytes"] = text.size();
  if (context.json)
    context.out.json(facts);
  else
    context.out.text(fmt::format("wrote {}: {} bytes, {}\n", on_one_line(output), text.size(), note));
  return kOk;
}

}  // namespace veldt::app
