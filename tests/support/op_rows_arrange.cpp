// Rows of veldt/ops/arrange.h: each result is told by where its elements come from.
#include <algorithm>

#include "tests/support/op_table.h"
#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/shape.h"

namespace veldt::test {
namespace {

using In = const std::vector<Tensor>&;
using Source = std::function<Shape(const Shape& index)>;
using Run = std::function<Tensor(const Tensor&)>;

OpRow row_of(const char* name) { return {.name = name, .inputs = {{}}, .cases = {}, .ulps = 0}; }

// Element `index` of the result is x's at source(index), or `else_value` where that lies outside of x.
void add(OpRow& row, Shape x, Shape to, Run run, Source source, double else_value = 0) {
  row.cases.push_back({str(x, " -> ", to, " case ", row.cases.size()),
                       {x},
                       [run](In in) { return run(in[0]); },
                       [=](const std::vector<Values>& in) {
                         return Expected{build(to, [&](const Shape& index) {
                           const Shape from = source(index);
                           for (int d = 0; d < x.rank(); ++d)
                             if (from[d] < 0 || from[d] >= x[d]) return else_value;
                           return in[0].at(from);
                         })};
                       }});
}

OpRow narrow_row() {
  OpRow row = row_of("narrow");
  const auto from = [&](Shape x, int dim, std::int64_t begin, std::int64_t length) {
    Shape to = x;
    to[dim] = length;
    add(
        row, x, to, [=](const Tensor& t) { return narrow(t, dim, begin, length); },
        [=](Shape i) {
          i[dim] += begin < 0 ? begin + x[dim] : begin;
          return i;
        });
  };
  from({6}, 0, 1, 3);
  from({3, 4}, 1, -2, 2);
  from({3, 4}, 0, 3, 0);
  return row;
}

// The pieces put together in reverse, so that a row sees where each begins.
Tensor joined_in_reverse(std::vector<Tensor> parts, int dim) {
  std::reverse(parts.begin(), parts.end());
  return cat(parts, dim);
}

OpRow split_row() {
  OpRow row = row_of("split");
  add(
      row, {7}, {7}, [](const Tensor& t) { return joined_in_reverse(split(t, 3), 0); },
      [](Shape i) {
        return Shape{i[0] == 0 ? 6 : i[0] < 4 ? i[0] + 2 : i[0] - 4};
      });
  return row;
}

OpRow chunk_row() {
  OpRow row = row_of("chunk");
  add(
      row, {2, 5}, {2, 5}, [](const Tensor& t) { return joined_in_reverse(chunk(t, 2, 1), 1); },
      [](Shape i) {
        return Shape{i[0], i[1] < 2 ? i[1] + 3 : i[1] - 2};
      });
  return row;
}

OpRow flip_row() {
  OpRow row = row_of("flip");
  add(
      row, {5}, {5}, [](const Tensor& t) { return flip(t, {0}); }, [](Shape i) { return Shape{4 - i[0]}; });
  add(
      row, {2, 3, 2}, {2, 3, 2},
      [](const Tensor& t) {
        return flip(t, {0, -1});
      },
      [](Shape i) {
        return Shape{1 - i[0], i[1], 1 - i[2]};
      });
  add(
      row, {0, 3}, {0, 3},
      [](const Tensor& t) {
        return flip(t, {0, 1});
      },
      [](Shape i) { return i; });
  add(
      row, {70, 300}, {70, 300}, [](const Tensor& t) { return flip(t, {1}); },
      [](Shape i) {
        return Shape{i[0], 299 - i[1]};
      });
  return row;
}

OpRow roll_row() {
  OpRow row = row_of("roll");
  for (std::int64_t by : {0, 2, -1, 7, -13})
    add(
        row, {2, 5}, {2, 5}, [=](const Tensor& t) { return roll(t, by, 1); },
        [=](Shape i) {
          return Shape{i[0], ((i[1] - by) % 5 + 5) % 5};
        });
  return row;
}

OpRow repeat_row() {
  OpRow row = row_of("repeat");
  add(
      row, {2, 3}, {4, 3},
      [](const Tensor& t) {
        return repeat(t, {2, 1});
      },
      [](Shape i) {
        return Shape{i[0] % 2, i[1]};
      });
  add(
      row, {3}, {2, 6},
      [](const Tensor& t) {
        return repeat(t, {2, 2});
      },
      [](Shape i) { return Shape{i[1] % 3}; });
  add(
      row, {2, 2}, {3, 2, 4},
      [](const Tensor& t) {
        return repeat(t, {3, 1, 2});
      },
      [](Shape i) {
        return Shape{i[1], i[2] % 2};
      });
  add(
      row, {3}, {0}, [](const Tensor& t) { return repeat(t, {0}); }, [](Shape i) { return i; });
  return row;
}

OpRow repeat_interleave_row() {
  OpRow row = row_of("repeat_interleave");
  add(
      row, {3}, {6}, [](const Tensor& t) { return repeat_interleave(t, 2, 0); },
      [](Shape i) { return Shape{i[0] / 2}; });
  add(
      row, {2, 3}, {2, 9}, [](const Tensor& t) { return repeat_interleave(t, 3, -1); },
      [](Shape i) {
        return Shape{i[0], i[1] / 3};
      });
  return row;
}

OpRow movedim_row() {
  OpRow row = row_of("movedim");
  add(
      row, {2, 3}, {3, 2}, [](const Tensor& t) { return movedim(t, 0, 1); },
      [](Shape i) {
        return Shape{i[1], i[0]};
      });
  add(
      row, {2, 3, 4}, {3, 4, 2}, [](const Tensor& t) { return movedim(t, 0, -1); },
      [](Shape i) {
        return Shape{i[2], i[0], i[1]};
      });
  add(
      row, {2, 3, 4}, {4, 2, 3}, [](const Tensor& t) { return movedim(t, 2, 0); },
      [](Shape i) {
        return Shape{i[1], i[2], i[0]};
      });
  return row;
}

OpRow unflatten_row() {
  OpRow row = row_of("unflatten");
  add(
      row, {6}, {2, 3},
      [](const Tensor& t) {
        return unflatten(t, 0, {2, 3});
      },
      [](Shape i) { return Shape{3 * i[0] + i[1]}; });
  add(
      row, {2, 8}, {2, 2, 2, 2},
      [](const Tensor& t) {
        return unflatten(t, -1, {2, -1, 2});
      },
      [](Shape i) {
        return Shape{i[0], 4 * i[1] + 2 * i[2] + i[3]};
      });
  return row;
}

OpRow pad_row() {
  OpRow row = row_of("pad");
  add(
      row, {3}, {6},
      [](const Tensor& t) {
        return pad(t, {1, 2});
      },
      [](Shape i) { return Shape{i[0] - 1}; });
  add(
      row, {2, 3}, {5, 3},
      [](const Tensor& t) {
        return pad(t, {0, 0, 2, 1}, 7.5);
      },
      [](Shape i) {
        return Shape{i[0] - 2, i[1]};
      },
      7.5);
  add(
      row, {2, 3}, {2, 5},
      [](const Tensor& t) {
        return pad(t, {1, 1}, -1);
      },
      [](Shape i) {
        return Shape{i[0], i[1] - 1};
      },
      -1);
  add(
      row, {0, 2}, {2, 2},
      [](const Tensor& t) {
        return pad(t, {0, 0, 1, 1});
      },
      [](Shape i) { return i; });
  add(
      row, {2, 4}, {2, 9},
      [](const Tensor& t) {
        return pad(t, {2, 3}, PadMode::reflect);
      },
      [](Shape i) {
        const std::int64_t at = std::abs(i[1] - 2);
        return Shape{i[0], at < 4 ? at : 6 - at};
      });
  add(
      row, {2, 3}, {5, 5},
      [](const Tensor& t) {
        return pad(t, {0, 2, 3, 0}, PadMode::replicate);
      },
      [](Shape i) {
        return Shape{std::max<std::int64_t>(0, i[0] - 3), std::min<std::int64_t>(2, i[1])};
      });
  add(
      row, {3, 2}, {8, 3},
      [](const Tensor& t) {
        return pad(t, {1, 0, 3, 2}, PadMode::circular);
      },
      [](Shape i) {
        return Shape{i[0] % 3, (i[1] + 1) % 2};
      });
  return row;
}

std::vector<OpRow> pixel_rows() {
  OpRow shuffle = row_of("pixel_shuffle"), unshuffle = row_of("pixel_unshuffle");
  for (const Shape& lead : {Shape{}, Shape{2}, Shape{2, 0}})
    for (std::int64_t r : {1, 2, 3}) {
      Shape deep = lead, wide = lead;
      for (std::int64_t size : {2 * r * r, std::int64_t{2}, std::int64_t{3}}) deep.push_back(size);
      for (std::int64_t size : {std::int64_t{2}, 2 * r, 3 * r}) wide.push_back(size);
      const int c = lead.rank(), y = c + 1, x = c + 2;
      add(
          shuffle, deep, wide, [=](const Tensor& t) { return pixel_shuffle(t, r); },
          [=](Shape i) {
            i[c] = (i[c] * r + i[y] % r) * r + i[x] % r;
            i[y] /= r, i[x] /= r;
            return i;
          });
      add(
          unshuffle, wide, deep, [=](const Tensor& t) { return pixel_unshuffle(t, r); },
          [=](Shape i) {
            i[y] = i[y] * r + i[c] / r % r, i[x] = i[x] * r + i[c] % r;
            i[c] /= r * r;
            return i;
          });
    }
  return {shuffle, unshuffle};
}

OpRow meshgrid_row() {
  OpRow row = row_of("meshgrid");
  const auto grid = [](std::size_t which) {
    return [=](const Tensor& t) { return meshgrid({t, narrow(t, 0, 0, 2)})[which]; };
  };
  add(row, {3}, {3, 2}, grid(0), [](Shape i) { return Shape{i[0]}; });
  add(row, {3}, {3, 2}, grid(1), [](Shape i) { return Shape{i[1]}; });
  return row;
}

std::vector<OpRow> triangle_rows() {
  OpRow lower = row_of("tril"), upper = row_of("triu");
  for (std::int64_t k : {-5, -1, 0, 2, 9})
    for (const Shape& x : {Shape{3, 4}, Shape{2, 3, 2}, Shape{4, 0}}) {
      const int r = x.rank();
      const auto keep = [=](bool below) {
        return [=](const Shape& i) {
          const std::int64_t above = i[r - 1] - i[r - 2];
          Shape nowhere = i;
          nowhere[0] = -1;
          return (below ? above <= k : above >= k) ? i : nowhere;
        };
      };
      add(
          lower, x, x, [=](const Tensor& t) { return tril(t, k); }, keep(true));
      add(
          upper, x, x, [=](const Tensor& t) { return triu(t, k); }, keep(false));
    }
  return {lower, upper};
}

std::vector<OpRow> diagonal_rows() {
  OpRow diagonals = row_of("diagonal"), diags = row_of("diag");
  add(
      diagonals, {3, 4}, {3}, [](const Tensor& t) { return diagonal(t); },
      [](Shape i) {
        return Shape{i[0], i[0]};
      });
  add(
      diagonals, {3, 4}, {2}, [](const Tensor& t) { return diagonal(t, 2); },
      [](Shape i) {
        return Shape{i[0], i[0] + 2};
      });
  add(
      diagonals, {3, 4}, {2}, [](const Tensor& t) { return diagonal(t, -1); },
      [](Shape i) {
        return Shape{i[0] + 1, i[0]};
      });
  add(
      diagonals, {3, 4}, {0}, [](const Tensor& t) { return diagonal(t, 7); }, [](Shape i) { return i; });
  add(
      diagonals, {2, 3, 2}, {3, 2}, [](const Tensor& t) { return diagonal(t, 0, 0, 2); },
      [](Shape i) {
        return Shape{i[1], i[0], i[1]};
      });
  add(
      diags, {3}, {3, 3}, [](const Tensor& t) { return diag(t); },
      [](Shape i) { return Shape{i[0] == i[1] ? i[0] : -1}; });
  add(
      diags, {2}, {4, 4}, [](const Tensor& t) { return diag(t, -2); },
      [](Shape i) { return Shape{i[0] == i[1] + 2 ? i[1] : -1}; });
  add(
      diags, {3, 2}, {2}, [](const Tensor& t) { return diag(t); },
      [](Shape i) {
        return Shape{i[0], i[0]};
      });
  return {diagonals, diags};
}

}  // namespace

std::vector<OpRow> arrange_rows() {
  std::vector<OpRow> rows = {narrow_row(),
                             split_row(),
                             chunk_row(),
                             flip_row(),
                             roll_row(),
                             repeat_row(),
                             repeat_interleave_row(),
                             movedim_row(),
                             unflatten_row(),
                             pad_row(),
                             meshgrid_row()};
  for (OpRow& row : pixel_rows()) rows.push_back(std::move(row));
  for (OpRow& row : triangle_rows()) rows.push_back(std::move(row));
  for (OpRow& row : diagonal_rows()) rows.push_back(std::move(row));
  return rows;
}

}  // namespace veldt::test
