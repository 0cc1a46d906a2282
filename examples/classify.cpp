// Says what pictures show, with a network that `veldt train` taught.
//   example_classify runs/NAME picture.png..
#include <cstdio>

#include "veldt/veldt.h"

int main(int argc, char** argv) try {
  const veldt::recipe::Trained network = veldt::recipe::load(argc > 1 ? argv[1] : "runs/mnist");
  for (int i = 2; i < argc; ++i) {
    const veldt::recipe::Guess best = network.classify(argv[i]).front();
    std::printf("%s: %s, %.0f %%\n", argv[i], best.name.c_str(), 100 * best.probability);
  }
} catch (const veldt::Error& error) {
  std::fprintf(stderr, "classify: %s\n", error.what());
  return 2;
}
