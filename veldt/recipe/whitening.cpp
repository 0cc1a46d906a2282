// Shows the network some pictures, and has its whitening layers look at them as they pass.
#include "veldt/recipe/whitening.h"

#include <algorithm>

#include "veldt/core/hooks.h"
#include "veldt/nn/evaluating.h"
#include "veldt/nn/whitening.h"
#include "veldt/tensor/graph.h"

namespace veldt::recipe {

void begin_whitening(const Recipe& recipe, const Data& data, const nn::Module& network) {
  constexpr std::int64_t kPictures = 512;
  ScopedHooks hooks;
  for (const nn::NamedModule& inner : network.named_modules())
    if (auto* const layer = dynamic_cast<nn::WhiteningConv2d*>(inner.module))
      hooks.add(layer->register_forward_pre_hook(
          [layer](const nn::Module&, TensorList& inputs) { layer->fit(inputs.at(0)); }));
  if (hooks.empty()) return;
  data::LoaderOptions o;
  o.batch = std::min(kPictures, data.train->size());
  o.shuffle = true;
  o.seed = static_cast<std::uint64_t>(recipe.seed);
  o.transform = data.prepare;
  o.workers = 0;
  const nn::Evaluating now(network);
  const NoGrad off;
  network(data::Loader(data.train, std::move(o)).batch(0).at(0));
}

}  // namespace veldt::recipe
