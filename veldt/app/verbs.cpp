#include "veldt/app/verbs.h"

namespace veldt::app {

const std::vector<Verb>& verbs() {
  static const std::vector<Verb> all = {
      {"fit", "teach a network a picture", add_fit},
      {"render", "redraw a model at any size", add_render},
      {"compare", "say how alike two pictures or models are", add_compare},
      {"info", "say what is in a model, checkpoint, safetensors file or picture", add_info},
      {"csv", "turn pictures into pixel tables and back", add_csv},
  };
  return all;
}

}  // namespace veldt::app
