// What the memory of a traced run holds: which value of the graph was written where. Kernels read
// views of any strides; read() finds the nodes that make such a view from the values.
// Tests: tests/onnx/export_test.cpp, tests/onnx/layout_test.cpp
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "veldt/core/pool.h"
#include "veldt/core/view.h"
#include "veldt/onnx/trace_layout.h"
#include "veldt/onnx/trace_nodes.h"

namespace veldt::onnx {

// A value that lies in memory, all of it, in row-major order: kernels that work on rows take it in its own
// shape.
struct WholeValue {
  int value;
  Sizes shape;
};

class TraceMemory {
 public:
  explicit TraceMemory(TraceNodes& nodes) : nodes_(nodes) {}

  // The memory of a storage is not given to others while this exists.
  void keep(const std::shared_ptr<Storage>& storage);
  void add_parameter(const std::string& name, const View& view);

  // A value was written here, or (a number that depends on no input) something fixed. A view without data is
  // an option that was not given.
  void write(const View& to, int value);
  // The same where the value's shape is another one of as many elements: `to` is contiguous.
  void write_packed(const View& to, int value);
  void write_fixed(const View& to);
  // Whether what lies there depends on no input.
  bool is_fixed(const View& view) const;
  // Whether a parameter, or a part of one, lies there.
  bool is_parameter(const View& view) const;

  // What lies there as a value of the view's shape. Throws Error for parts of memory that cannot be put
  // together.
  int read(const View& view);
  // Where the view repeats elements by strides of 0 the value has a size of 1, or, in front, no dimension.
  int read_repeated(const View& view);
  // If the view takes all of one value that has `last` as its last size.
  std::optional<WholeValue> whole(const View& view, std::int64_t last);

 private:
  struct Piece {
    const char* data;
    DType dtype;
    Sizes shape, strides;
    int value;              // -1: fixed
    std::string name = {};  // of a parameter
    std::uintptr_t begin = 0, end = 0;
  };
  struct Block {
    std::shared_ptr<Storage> storage;
    std::vector<Piece> pieces;  // the newest last
  };
  // A view without its repetitions and single elements, from the first element on.
  struct Wanted {
    const char* data;
    DType dtype;
    Sizes sizes, strides, dims;  // dims: of the view; the strides fall
    Sizes flipped;
  };
  // Pieces that share memory with a view, the newest first, with their boxes.
  struct Placed {
    Piece* piece;
    Box box;
  };
  struct Assembly {
    const char* base;
    DType dtype;
    const Frame* frame;
    std::vector<Placed> placed;
  };

  static Wanted wanted_of(const View& view);
  Block* block_of(const void* data);
  const Block* block_of(const void* data) const { return const_cast<TraceMemory*>(this)->block_of(data); }
  std::vector<Piece*> pieces_under(const View& view);
  int value_of(Piece& piece);
  int fixed(DType dtype, const char* data, const Sizes& shape, const Sizes& strides);
  int piece_in_order(Piece& piece, const Sizes& counts);
  int read_as(const View& view, bool repeated);
  int packed(const Wanted& wanted, const std::vector<Piece*>& pieces);
  std::optional<int> boxed(const Wanted& wanted, const std::vector<Piece*>& pieces);
  std::optional<int> looked_up(const Wanted& wanted, Piece& piece);
  std::optional<int> padded(const Assembly& all, const Box& box);
  std::vector<int> parts_of(const Assembly& all, std::size_t from, const Box& box, std::size_t along);
  int assembled(const Assembly& all, std::size_t from, const Box& box);
  int cut(const Assembly& all, const Placed& placed, const Box& box);
  int fixed_box(const Assembly& all, const Box& box);
  void add_piece(Piece piece);

  TraceNodes& nodes_;
  std::map<const char*, Block> blocks_;
};

}  // namespace veldt::onnx
