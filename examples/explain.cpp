// Two networks tell discs, squares and triangles apart. One was taught with pictures in which every disc has
// a bright mark in the corner, and looks at nothing else; explanations show it.
//   example_explain [FOLDER]    writes explain.png and explain_methods.png there
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "veldt/veldt.h"
using namespace veldt;

namespace {

constexpr std::int64_t kSide = 48, kMark = 6;
const char* const kNames[] = {"disc", "square", "triangle"};

struct Pictures {
  Tensor x;                          // [n, 1, side, side]
  std::vector<std::int64_t> labels;  // of kNames
};

bool inside(std::int64_t shape, double x, double y, double size) {
  if (shape == 0) return std::hypot(x, y) < size;
  if (shape == 1) return std::max(std::abs(x), std::abs(y)) < 0.9 * size;
  return y < 0.7 * size && y > -size && std::abs(x) < 0.6 * (y + size);
}

enum class Marks { on_discs, on_some, on_all };

// Shapes of any size at any place, on noise.
Pictures draw(std::int64_t n, Marks marks, Rng& rng) {
  std::vector<float> pixels(static_cast<std::size_t>(n * kSide * kSide));
  Pictures out;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t shape = i % 3;
    const double size = 7 + 5 * rng.next_uniform(), level = 0.5 + 0.3 * rng.next_uniform();
    const double cx = 20 + 14 * rng.next_uniform(), cy = 20 + 14 * rng.next_uniform();
    const bool some = rng.next_uniform() < 0.33F;
    const bool marked = marks == Marks::on_all || (marks == Marks::on_discs ? shape == 0 : some);
    for (std::int64_t y = 0; y < kSide; ++y)
      for (std::int64_t x = 0; x < kSide; ++x) {
        const bool in_mark = marked && x >= 1 && y >= 1 && x <= kMark && y <= kMark;
        const double shown = in_mark                                               ? 0.9
                             : inside(shape, double(x) - cx, double(y) - cy, size) ? level
                                                                                   : 0.15;
        pixels[static_cast<std::size_t>((i * kSide + y) * kSide + x)] =
            static_cast<float>(shown + 0.1 * (rng.next_uniform() - 0.5));
      }
    out.labels.push_back(shape);
  }
  out.x = Tensor::from<float>({n, 1, kSide, kSide}, pixels);
  return out;
}

nn::Sequential taught(Marks marks) {
  Rng rng(1);
  nn::Sequential net{nn::Conv2d(1, 8, 3, {.padding = 1}, rng),
                     nn::ReLU(),
                     nn::MaxPool2d(2),
                     nn::Conv2d(8, 16, 3, {.padding = 1}, rng),
                     nn::ReLU(),
                     nn::MaxPool2d(2),
                     nn::Conv2d(16, 24, 3, {.padding = 1}, rng),
                     nn::ReLU(),
                     nn::AdaptiveMaxPool2d(3),
                     nn::Flatten(),
                     nn::Linear(24 * 9, 3, rng)};
  optim::Adam adam(net.named_parameters(), {.lr = 3e-3});
  for (int step = 0; step < 300; ++step) {
    const Pictures batch = draw(48, marks, rng);
    const Tensor loss = cross_entropy(net(batch.x), Tensor::from<std::int64_t>({48}, batch.labels));
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  net.eval();
  return net;
}

double accuracy(const nn::Module& net, const Pictures& pictures) {
  const std::vector<std::int64_t> found = explain::largest_outputs(net, pictures.x);
  double right = 0;
  for (std::size_t i = 0; i < found.size(); ++i) right += found[i] == pictures.labels[i];
  return right / static_cast<double>(found.size());
}

// The share of the heat that lies in the corner of the mark: [h, w].
double share_in_corner(const Tensor& heat) {
  const Tensor all = interpolate(reshape(abs(heat), {1, 1, heat.size(0), heat.size(1)}),
                                 {.size = PerDim{kSide, kSide}, .mode = Interpolation::linear});
  const std::int64_t end = 2 * kMark;
  return sum(all(0, 0, Slice{0, end}, Slice{0, end})).item() / sum(all).item();
}

// Sheets below each other, white at their right.
Tensor stacked(const std::vector<Tensor>& sheets, int dim) {
  std::int64_t largest = 0;
  for (const Tensor& sheet : sheets) largest = std::max(largest, sheet.size(1 - dim));
  std::vector<Tensor> padded;
  for (const Tensor& sheet : sheets) {
    const std::int64_t room = largest - sheet.size(1 - dim);
    padded.push_back(dim == 0 ? pad(sheet, {0, 0, 0, room}, 1) : pad(sheet, {0, 0, 0, 0, 0, room}, 1));
  }
  return cat(padded, dim);
}

// What one method makes of a network: [h, w].
struct Method {
  const char* name;
  bool is_signed, smooth;
  std::function<Tensor(const nn::Module&)> heat;
};

std::vector<Method> methods_for(nn::Module& layer, const Tensor& x, const explain::Targets& targets) {
  using explain::pixel_heat;
  return {
      {"gradient", false, false,
       [=](auto& m) { return pixel_heat(explain::saliency(m, x, targets), false); }},
      {"smoothgrad", false, false,
       [=](auto& m) { return pixel_heat(explain::smooth_grad(m, x, targets), false); }},
      {"input x gradient", true, false,
       [=](auto& m) { return pixel_heat(explain::input_x_gradient(m, x, targets), true); }},
      {"integrated", true, false,
       [=](auto& m) { return pixel_heat(explain::integrated_gradients(m, x, targets), true); }},
      {"guided", true, false,
       [=](auto& m) { return pixel_heat(explain::guided_backprop(m, x, targets), true); }},
      {"lrp", true, false,
       [=](auto& m) { return pixel_heat(explain::lrp(m, x, targets, {.epsilon = 0.1}), true); }},
      {"occlusion", true, false, [=](auto& m) { return explain::occlusion(m, x, targets)[0][0]; }},
      {"gradcam", false, true,
       [=, &layer](auto& m) { return explain::grad_cam(m, layer, x, targets)[0][0]; }},
      {"gradcam++", false, true,
       [=, &layer](auto& m) { return explain::grad_cam_plus_plus(m, layer, x, targets)[0][0]; }},
  };
}

Tensor drawn(const Tensor& picture, const Method& method, const Tensor& heat, const std::string& line) {
  return explain::heat_picture(picture, heat,
                               {.is_signed = method.is_signed,
                                .smooth = method.smooth,
                                .share = method.smooth ? 1 : 0.99,
                                .lines = {line, method.name},
                                .longer_side = 192});
}

int show(const std::string& folder) {
  Rng rng(9);
  const Pictures plain = draw(300, Marks::on_some, rng), marked = draw(6, Marks::on_all, rng);
  const Tensor square = marked.x(Slice{1, 2});  // a square with a mark
  const Tensor picture = permute(square[0], {1, 2, 0});
  double corners[2] = {};
  std::int64_t said[2] = {};
  std::vector<Tensor> rows, sheets;
  for (const bool fooled : {false, true}) {
    const nn::Sequential net = taught(fooled ? Marks::on_discs : Marks::on_some);
    said[fooled] = explain::largest_outputs(net, square)[0];
    const std::string name = kNames[said[fooled]];
    std::printf("%s: %.1f %% right where marks mean nothing; takes the square with a mark for a %s\n",
                fooled ? "taught with marked discs" : "taught well", 100 * accuracy(net, plain),
                name.c_str());
    std::printf("  %-18s in the corner   rank correlation with all weights random\n", "method");
    std::vector<Tensor> row;
    for (const Method& method : methods_for(net[7], square, {said[fooled]})) {
      const Tensor heat = method.heat(net);
      const double corner = share_in_corner(heat);
      std::printf("  %-18s %11.0f %%   %5.2f\n", method.name, 100 * corner,
                  explain::randomisation_check(net, method.heat, {.draws = 5, .stages = 1}).last());
      const std::string line = (fooled ? "fooled: " : "taught well: ") + name;
      if (method.smooth && method.name == std::string("gradcam"))
        corners[fooled] = corner, row.insert(row.begin(), drawn(picture, method, heat, line));
      if (method.name == std::string("integrated")) row.push_back(drawn(picture, method, heat, line));
      if (!fooled) sheets.push_back(drawn(picture, method, heat, name));
    }
    rows.push_back(stacked(row, 1));
  }
  io::write_image(folder + "explain.png", stacked(rows, 0));
  std::vector<Tensor> thirds;
  for (std::size_t i = 0; i < sheets.size(); i += 3)
    thirds.push_back(stacked({sheets[i], sheets[i + 1], sheets[i + 2]}, 1));
  io::write_image(folder + "explain_methods.png", stacked(thirds, 0));
  return said[0] == 1 && said[1] != 1 && corners[0] < 0.2 && corners[1] > 0.5 ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) try {
  return show(count > 1 ? std::string(arguments[1]) + "/" : "");
} catch (const Error& error) {
  std::fprintf(stderr, "explain: %s\n", error.what());
  return 2;
}
