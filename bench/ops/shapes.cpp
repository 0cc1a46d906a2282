// Ops that make, copy and rearrange. A view costs the same whatever its size.
#include "rows.h"

namespace veldt::bench {

namespace {

using T = const Tensor&;

template <class Fn>
Row one(const char* name, Fn fn, bool gradient = false, const std::vector<DType>& dtypes = kNumbers) {
  return {name, dtypes, {{square}}, calls([fn](const Tensors& x) { return fn(x[0]); }), gradient};
}

void add_views(std::vector<Row>& rows) {
  const std::vector<DType> one_type = {DType::f32};
  for (Row row : {one(
                      "transpose", [](T x) { return transpose(x); }, true, one_type),
                  one(
                      "permute",
                      [](T x) {
                        return permute(x, {1, 0});
                      },
                      true, one_type),
                  one(
                      "movedim", [](T x) { return movedim(x, 0, 1); }, true, one_type),
                  one(
                      "slice", [](T x) { return slice(x, 1, 1, x.size(1), 2); }, true, one_type),
                  one(
                      "narrow", [](T x) { return narrow(x, 1, 1, 2); }, true, one_type),
                  one(
                      "select", [](T x) { return select(x, 1, 1); }, true, one_type),
                  one(
                      "split", [](T x) { return split(x, 8)[0]; }, false, one_type),
                  one(
                      "chunk", [](T x) { return chunk(x, 4)[0]; }, false, one_type),
                  one(
                      "unsqueeze", [](T x) { return unsqueeze(x, 1); }, true, one_type),
                  one(
                      "squeeze", [](T x) { return squeeze(x); }, true, one_type),
                  one(
                      "expand",
                      [](T x) {
                        return expand(x, {4, x.size(0), x.size(1)});
                      },
                      true, one_type),
                  one(
                      "diagonal", [](T x) { return diagonal(x); }, true, one_type),
                  one(
                      "unflatten",
                      [](T x) {
                        return unflatten(x, 1, {-1, 2});
                      },
                      true, one_type),
                  one(
                      "meshgrid",
                      [](T x) {
                        return meshgrid({select(x, 0, 0), select(x, 0, 1)})[0];
                      },
                      false, one_type)}) {
    row.view = true;
    rows.push_back(row);
  }
}

Shape picture(std::int64_t n) { return {1, 16, side(n) / 4, side(n) / 4}; }

void add_copies(std::vector<Row>& rows) {
  for (const Row& row : {one(
                             "reshape", [](T x) { return reshape(x, {-1}); }, true),
                         one("flatten", [](T x) { return flatten(x); }),
                         one("contiguous", [](T x) { return contiguous(x); }),
                         one(
                             "contiguous transposed", [](T x) { return contiguous(transpose(x)); }, true),
                         one("to f32", [](T x) { return to(x, DType::f32); }),
                         one("to f64", [](T x) { return to(x, DType::f64); }),
                         one("to bf16", [](T x) { return to(x, DType::bf16); }),
                         one("to i64", [](T x) { return to(x, DType::i64); }),
                         one("to u8", [](T x) { return to(x, DType::u8); }),
                         one(
                             "flip d0", [](T x) { return flip(x, {0}); }, true),
                         one(
                             "flip d1", [](T x) { return flip(x, {1}); }, true),
                         one(
                             "roll d0", [](T x) { return roll(x, 3, 0); }, true),
                         one(
                             "roll d1", [](T x) { return roll(x, 3, 1); }, true),
                         one(
                             "repeat",
                             [](T x) {
                               return repeat(x, {2, 2});
                             },
                             true),
                         one(
                             "repeat_interleave d0", [](T x) { return repeat_interleave(x, 2, 0); }, true),
                         one(
                             "repeat_interleave d1", [](T x) { return repeat_interleave(x, 2, 1); }, true),
                         one(
                             "pad",
                             [](T x) {
                               return pad(x, {1, 1, 1, 1});
                             },
                             true),
                         one(
                             "clone", [](T x) { return clone(x); }, true),
                         one(
                             "tril", [](T x) { return tril(x); }, true),
                         one(
                             "triu", [](T x) { return triu(x); }, true)})
    rows.push_back(row);
  rows.push_back({"pad reflect",
                  kFloats,
                  {{picture}},
                  calls([](const Tensors& x) {
                    return pad(x[0], {1, 1, 1, 1}, PadMode::reflect);
                  }),
                  true});
  rows.push_back(
      {"diag", kNumbers, {{row_of_square}}, calls([](const Tensors& x) { return diag(x[0]); }), true, false});
  rows.push_back({"pixel_shuffle",
                  kFloats,
                  {{picture}},
                  calls([](const Tensors& x) { return pixel_shuffle(x[0], 2); }),
                  true});
  rows.push_back({"pixel_unshuffle",
                  kFloats,
                  {{picture}},
                  calls([](const Tensors& x) { return pixel_unshuffle(x[0], 2); }),
                  true});
  rows.push_back({"cat d0",
                  kNumbers,
                  {{square}, {square}},
                  calls([](const Tensors& x) {
                    return cat({x[0], x[1]}, 0);
                  }),
                  true});
  rows.push_back({"cat d1",
                  kNumbers,
                  {{square}, {square}},
                  calls([](const Tensors& x) {
                    return cat({x[0], x[1]}, 1);
                  }),
                  true});
  rows.push_back({"stack d0",
                  kNumbers,
                  {{square}, {square}},
                  calls([](const Tensors& x) {
                    return stack({x[0], x[1]}, 0);
                  }),
                  true});
  rows.push_back({"stack last",
                  kNumbers,
                  {{square}, {square}},
                  calls([](const Tensors& x) {
                    return stack({x[0], x[1]}, -1);
                  }),
                  true});
}

void add_makers(std::vector<Row>& rows) {
  for (Row row :
       {one("zeros", [](T x) { return zeros(x.shape(), x.dtype()); }),
        one("ones", [](T x) { return ones(x.shape(), x.dtype()); }),
        one("full", [](T x) { return full(x.shape(), 3, x.dtype()); }), one("zeros_like", zeros_like),
        one("ones_like", ones_like), one("full_like", [](T x) { return full_like(x, 3); }),
        one("arange", [](T x) { return arange(x.numel(), x.dtype()); }),
        one("arange step", [](T x) { return arange(0, 3 * x.numel(), 3, x.dtype()); }),
        one(
            "linspace", [](T x) { return linspace(0, 1, x.numel(), x.dtype()); }, false, kWide),
        one(
            "eye", [](T x) { return eye(x.size(0), -1, x.dtype()); }, false, kWide)}) {
    row.layouts = false;
    rows.push_back(row);
  }
}

}  // namespace

std::vector<Row> shape_rows() {
  std::vector<Row> rows;
  add_views(rows);
  add_copies(rows);
  add_makers(rows);
  return rows;
}

}  // namespace veldt::bench
