// Every allocation of a whole piece of work fails once: reading a picture, three steps, saving, loading,
// drawing, writing. Each time there is an error, nothing is lost or half written, and the work can be
// repeated.
#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <thread>

#include "tests/support/system_calls.h"
#include "tests/support/temp_dir.h"
#include "veldt/core/error.h"
#include "veldt/core/pool.h"
#include "veldt/field/fit.h"
#include "veldt/io/image.h"
#include "veldt/ops/binary.h"
#include "veldt/ops/create.h"
#include "veldt/ops/matmul.h"
#include "veldt/ops/reduce.h"
#include "veldt/tensor/backends.h"

namespace veldt::field {
namespace {

struct Work {
  const test::TempDir dir = test::TempDir::in_memory();

  Work() {
    Rng rng(1);
    io::write_image(dir.path() + "/in.png", rand({9, 7, 1}, rng));
  }

  std::vector<float> run() const {
    const Tensor picture = io::read_image(dir.path() + "/in.png");
    Fitter fitter(picture, choices_for(picture, {.seed = 4, .steps = 3, .width = 8, .depth = 2}));
    fitter.run({}, {});
    fitter.field().save(dir.path() + "/model.safetensors");
    const Tensor drawn = ImageField::load(dir.path() + "/model.safetensors").render({12, 10});
    io::write_image(dir.path() + "/out.png", drawn);
    return drawn.values<float>();
  }

  // Neither temporary files nor torn ones.
  void check_files() const {
    for (const auto& entry : std::filesystem::directory_iterator(dir.path())) {
      const std::string name = entry.path().filename();
      if (name == "model.safetensors")
        EXPECT_NO_THROW(ImageField::load(entry.path()));
      else if (name == "out.png" || name == "in.png")
        EXPECT_NO_THROW(io::read_image(entry.path()));
      else
        ADD_FAILURE() << name << " was left behind";
    }
  }
};

TEST(SlowOutOfMemory, AtAnyAllocationIsACleanErrorAndTheWorkCanBeDoneAgain) {
  if (!test::kCanWatch) GTEST_SKIP() << "the sanitizer has a heap of its own";
  const Work work;
  const std::vector<float> expected = work.run();
  std::int64_t failures = 0;
  for (std::int64_t n = 1;; n += n < 3000 ? 1 : 37) {
    pool({}).trim();  // or the pool would serve what is to fail
    const std::int64_t blocks = pool({}).stats().blocks_in_use;
    bool done = false;
    test::FailingCall failing(test::Call::allocate, n);
    try {
      const test::Watch watch(failing);
      work.run();
      done = true;
    } catch (const std::bad_alloc&) {
    } catch (const Error& e) {
      EXPECT_FALSE(e.summary().empty());
    }
    const bool reached = failing.reached();
    ASSERT_EQ(pool({}).stats().blocks_in_use, blocks) << "allocation " << n << " leaks tensors";
    if (!reached) {
      EXPECT_TRUE(done);
      break;
    }
    failures += !done;
    if (n % 50 == 1) {
      work.check_files();
      ASSERT_EQ(work.run(), expected) << "after allocation " << n << " failed";
    }
  }
  EXPECT_GT(failures, 500);
  EXPECT_EQ(work.run(), expected);
}

// Once memory is exhausted it stays so: unwinding, and freeing a graph, must not allocate.
TEST(OutOfMemory, ThatLastsIsACleanErrorInForwardAndBackward) {
  if (!test::kCanWatch) GTEST_SKIP() << "the sanitizer has a heap of its own";
  Rng rng(2);
  Tensor w = randn({4, 4}, rng).set_requires_grad();
  const Tensor x = randn({3, 4}, rng);
  int failures = 0;
  for (std::int64_t n = 1; n < 200; ++n) {
    bool done = false;
    // A thread of its own, which has no small blocks to fall back on.
    std::thread([&] {
      pool({}).trim();
      test::FailingCall failing(test::Call::allocate, n, ENOMEM, true);
      try {
        const test::Watch watch(failing);
        w.zero_grad();
        mean(square(tanh(linear(tanh(linear(x, w)), w)))).backward();
        done = true;
      } catch (const std::bad_alloc&) {
      } catch (const Error&) {
      }
    }).join();
    failures += !done;
  }
  EXPECT_GT(failures, 30);
  EXPECT_LT(failures, 199) << "the work has an end";
}

}  // namespace
}  // namespace veldt::field
