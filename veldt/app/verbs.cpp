// The command: its verbs in the order of the help.
#include "veldt/app/verbs.h"

#include "veldt/app/ranks.h"

namespace veldt::app {

namespace {

constexpr const char* kExamples =
    "  veldt fit cub.png -o cub.safetensors            teach a network the picture\n"
    "  veldt render cub.safetensors -o big.png --size 1024\n"
    "  veldt compare cub.png cub.safetensors           how well it learned\n"
    "  veldt VERB --help                               more about one verb\n"
    "  veldt config show VERB                          its settings from veldt.toml, variables and flags\n";

}  // namespace

const Program& program() {
  static const Program veldt = {
      .name = "veldt",
      .version = VELDT_VERSION,
      .summary = "neural networks: fields that draw pictures, and recipes for all others",
      .examples = kExamples,
      .verbs =
          {
              {"fit", "teach a network a picture", add_fit},
              {"render", "draw a learned picture at any size", add_render},
              {"resize", "bring a picture to another size by a classical filter", add_resize},
              {"pack", "make a picture a small file: a photograph smaller than a JPEG, a drawing exact",
               add_pack},
              {"unpack", "make a packed picture a PNG, JPEG or WebP", add_unpack},
              {"compare", "measure how two pictures differ", add_compare},
              {"train", "train a network as a recipe says", add_train},
              {"sweep", "train a recipe with several values, and compare", add_sweep},
              {"watch", "show runs on a page, while they train or afterwards", add_watch},
              {"report", "write runs as one page that opens from a disk", add_report},
              {"eval", "measure a trained network", add_eval},
              {"quantize", "put integers in the place of a network's weights", add_quantize},
              {"prune", "make a trained network smaller: weights, channels, heads", add_prune},
              {"predict", "let a trained network classify, write or predict", add_predict},
              {"explain", "show why a trained network says what it says", add_explain},
              {"play", "let a trained agent act, and watch it", add_play},
              {"import", "bring in a network's tensors from PyTorch and others", add_import},
              {"run", "run an ONNX graph on arrays and pictures", add_run},
              {"export", "write a network as ONNX; a field as a page, code, SVG or tiles", add_export},
              {"info", "show what is in a file", add_info},
              {"csv", "turn pictures into pixel tables and back", add_csv},
              {"data", "look at a data set", add_data},
              {"config", "show the settings and where each comes from", add_config},
              {"doctor", "check the installation, and measure its speed", add_doctor},
              {"completion", "print a script that completes the command in a shell", add_completion},
          },
      .before = check_launch};
  return veldt;
}

}  // namespace veldt::app
