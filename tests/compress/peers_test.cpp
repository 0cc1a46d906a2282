// Masks against torch.nn.utils.prune's, and the soft targets' loss against torch's, on the same numbers.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>

#include "tests/support/python.h"
#include "tests/support/temp_dir.h"
#include "veldt/compress/channels.h"
#include "veldt/compress/distil.h"
#include "veldt/compress/prune.h"
#include "veldt/io/safetensors.h"
#include "veldt/nn/module.h"
#include "veldt/ops/close.h"
#include "veldt/ops/random.h"
#include "veldt/ops/shape.h"

namespace veldt::compress {
namespace {

TEST(SlowPeers, MasksAndSoftTargetsEqualTorchs) {
  if (!test::python_has("torch, safetensors.torch"))
    GTEST_SKIP() << test::python() << " has no torch and safetensors; set VELDT_PYTHON";
  const test::TempDir dir;
  Rng rng(3);
  const NamedTensors weights{{"a", randn({30, 20}, rng)},
                             {"b", randn({16, 6, 3, 3}, rng, 0, 0.5)},
                             {"c", randn({10, 30}, rng, 0, 2)}};
  const Tensor student = randn({12, 7}, rng, 0, 3), teacher = randn({12, 7}, rng, 0, 3);
  NamedTensors given = weights;
  given.push_back({"student", student});
  given.push_back({"teacher", teacher});
  io::write_safetensors(dir / "in.safetensors", given);
  const std::string script = std::string(VELDT_SOURCE) + "/tests/compress/peers.py ";
  ASSERT_EQ(test::run_python(script + (dir / "in.safetensors") + " " + (dir / "out.safetensors")), 0);
  std::map<std::string, Tensor> theirs;
  for (const auto& [name, tensor] : io::read_safetensors(dir / "out.safetensors").tensors)
    theirs.emplace(name, tensor);

  for (const std::string share : {"0.25", "0.5", "0.9"}) {
    const NamedTensors scores = magnitudes(weights);
    for (const auto& [scope, name] :
         {std::pair(PruneScope::layer, "layer"), std::pair(PruneScope::network, "network")})
      for (const auto& [weight, mask] : masks_of(scores, {.share = std::stod(share), .scope = scope}))
        EXPECT_TRUE(array_equal(mask, theirs.at(std::string(name) + '.' + share + '.' + weight)))
            << name << share << weight;
    const ChannelGroup filters{.size = 16,
                               .parts = {{.tensor = "b", .role = ChannelPart::Role::made}},
                               .layers = {{"b", "out"}},
                               .fixed = {}};
    const Kept kept = choose({filters}, weights, {.share = std::stod(share)});
    const std::vector<float> stay = theirs.at("filters." + share).values<float>();
    std::vector<std::int64_t> wanted;
    for (std::size_t i = 0; i < stay.size(); ++i)
      if (stay[i] != 0) wanted.push_back(static_cast<std::int64_t>(i));
    EXPECT_EQ(kept[0], wanted);
  }
  Tensor leaf = nn::parameter(student);
  const Tensor loss = soft_target_loss(leaf, teacher, 3);
  loss.backward();
  EXPECT_TRUE(allclose(reshape(loss.detach(), {1}), theirs.at("loss"), 1e-5));
  EXPECT_TRUE(allclose(leaf.grad(), theirs.at("gradient"), 1e-4, 1e-6));
  std::printf("21 masks equal torch.nn.utils.prune's; the loss is %.6f\n", loss.item());
}

}  // namespace
}  // namespace veldt::compress
