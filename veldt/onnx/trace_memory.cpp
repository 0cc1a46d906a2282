// Finds the values under views of memory, and the nodes that turn them into the views.
#include "veldt/onnx/trace_memory.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "veldt/core/error.h"

namespace veldt::onnx {
namespace {

Sizes view_sizes(const Shape& shape) { return {shape.begin(), shape.end()}; }

// The order of dimensions in which the strides fall; those of one element stay where they are.
Sizes memory_order(const Sizes& shape, const Sizes& strides) {
  Sizes order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  Sizes key = strides;
  for (std::size_t d = shape.size(); d-- > 0;)
    if (shape[d] == 1) key[d] = d + 1 < shape.size() ? key[d + 1] * shape[d + 1] : 1;
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return key[static_cast<std::size_t>(a)] > key[static_cast<std::size_t>(b)];
  });
  return order;
}

StridedBlock block_from(const Sizes& shape, const Sizes& strides, std::int64_t offset) {
  StridedBlock block{.offset = offset, .sizes = {}, .strides = {}};
  for (const std::int64_t d : memory_order(shape, strides))
    if (const auto at = static_cast<std::size_t>(d); shape[at] != 1) {
      block.sizes.push_back(shape[at]);
      block.strides.push_back(strides[at]);
    }
  return block;
}

// The bytes of a strided block in row-major order.
std::string packed_bytes(DType dtype, const char* data, const Sizes& shape, const Sizes& strides) {
  const std::size_t width = size_of(dtype);
  std::string bytes(static_cast<std::size_t>(count_of(shape)) * width, '\0');
  Sizes at(shape.size());
  for (std::size_t i = 0; i < bytes.size(); i += width) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * strides[d];
    std::memcpy(bytes.data() + i, data + offset * static_cast<std::int64_t>(width), width);
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
  return bytes;
}

}  // namespace

void TraceMemory::keep(const std::shared_ptr<Storage>& storage) {
  if (storage->bytes() > 0)
    blocks_.try_emplace(static_cast<const char*>(storage->data()), Block{storage, {}});
}

TraceMemory::Block* TraceMemory::block_of(const void* data) {
  const auto* at = static_cast<const char*>(data);
  auto found = blocks_.upper_bound(at);
  if (found == blocks_.begin()) return nullptr;
  --found;
  return at < found->first + found->second.storage->bytes() ? &found->second : nullptr;
}

void TraceMemory::add_piece(Piece piece) {
  const Extent extent = extent_of({const_cast<char*>(piece.data), piece.dtype,
                                   Shape(std::span<const std::int64_t>(piece.shape)),
                                   Shape(std::span<const std::int64_t>(piece.strides))});
  piece.begin = extent.begin;
  piece.end = extent.end;
  Block* const block = block_of(piece.data);
  if (block == nullptr || extent.bytes() == 0) return;
  if (block_from(piece.shape, piece.strides, 0).is_dense())
    std::erase_if(block->pieces,
                  [&](const Piece& p) { return p.begin >= piece.begin && p.end <= piece.end; });
  block->pieces.push_back(std::move(piece));
}

void TraceMemory::add_parameter(const std::string& name, const View& view) {
  add_piece({.data = view.as<char>(),
             .dtype = view.dtype,
             .shape = view_sizes(view.shape),
             .strides = view_sizes(view.strides),
             .value = -1,
             .name = name});
}

void TraceMemory::write(const View& to, int value) {
  if (to.data == nullptr) return;
  add_piece({.data = to.as<char>(),
             .dtype = to.dtype,
             .shape = view_sizes(to.shape),
             .strides = view_sizes(to.strides),
             .value = value});
}

void TraceMemory::write_packed(const View& to, int value) {
  const Sizes& shape = nodes_.shape(value);
  add_piece({.data = to.as<char>(),
             .dtype = to.dtype,
             .shape = shape,
             .strides = packed_strides(shape),
             .value = value});
}

void TraceMemory::write_fixed(const View& to) { write(to, -1); }

std::vector<TraceMemory::Piece*> TraceMemory::pieces_under(const View& view) {
  std::vector<Piece*> found;
  Block* const block = block_of(view.data);
  const Extent extent = extent_of(view);
  if (block == nullptr) return found;
  for (auto piece = block->pieces.rbegin(); piece != block->pieces.rend(); ++piece) {
    if (piece->begin >= extent.end || extent.begin >= piece->end) continue;
    found.push_back(&*piece);
    if (piece->begin <= extent.begin && piece->end >= extent.end &&
        block_from(piece->shape, piece->strides, 0).is_dense())
      break;
  }
  return found;
}

bool TraceMemory::is_fixed(const View& view) const {
  for (const Piece* piece : const_cast<TraceMemory*>(this)->pieces_under(view))
    if (piece->value >= 0 && piece->name.empty()) return false;
  return true;
}

bool TraceMemory::is_parameter(const View& view) const {
  const std::vector<Piece*> found = const_cast<TraceMemory*>(this)->pieces_under(view);
  return found.size() == 1 && !found[0]->name.empty();
}

int TraceMemory::value_of(Piece& piece) {
  if (piece.value < 0)
    piece.value = nodes_.graph().add({.kind = TracedValue::Kind::parameter,
                                      .dtype = piece.dtype,
                                      .shape = piece.shape,
                                      .name = piece.name,
                                      .memory = piece.data});
  return piece.value;
}

int TraceMemory::fixed(DType dtype, const char* data, const Sizes& shape, const Sizes& strides) {
  return nodes_.constant(dtype, shape, packed_bytes(dtype, data, shape, strides));
}

int TraceMemory::read(const View& view) { return read_as(view, false); }
int TraceMemory::read_repeated(const View& view) { return read_as(view, true); }

std::optional<WholeValue> TraceMemory::whole(const View& view, std::int64_t last) {
  if (!is_contiguous(view.shape, view.strides)) return std::nullopt;
  const std::vector<Piece*> found = pieces_under(view);
  if (found.size() != 1 || (found[0]->value < 0 && found[0]->name.empty())) return std::nullopt;
  Piece& piece = *found[0];
  const Extent extent = extent_of(view);
  if (piece.begin != extent.begin || piece.end != extent.end || piece.dtype != view.dtype ||
      piece.shape.empty() || piece.shape.back() != last || piece.shape.size() < 2)
    return std::nullopt;
  const Sizes packed = packed_strides(piece.shape);
  for (std::size_t d = 0; d < packed.size(); ++d)
    if (piece.shape[d] != 1 && piece.strides[d] != packed[d]) return std::nullopt;
  return WholeValue{value_of(piece), piece.shape};
}

TraceMemory::Wanted TraceMemory::wanted_of(const View& view) {
  Wanted w{
      .data = view.as<char>(), .dtype = view.dtype, .sizes = {}, .strides = {}, .dims = {}, .flipped = {}};
  Sizes shape = view_sizes(view.shape), strides = view_sizes(view.strides);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (strides[d] == 0) shape[d] = 1;
    if (strides[d] >= 0 || shape[d] == 1) continue;
    w.data += (shape[d] - 1) * strides[d] * static_cast<std::int64_t>(size_of(view.dtype));
    strides[d] = -strides[d];
    w.flipped.push_back(static_cast<std::int64_t>(d));
  }
  for (const std::int64_t d : memory_order(shape, strides))
    if (const auto at = static_cast<std::size_t>(d); shape[at] != 1) {
      w.sizes.push_back(shape[at]);
      w.strides.push_back(strides[at]);
      w.dims.push_back(d);
    }
  return w;
}

int TraceMemory::read_as(const View& view, bool repeated) {
  const Sizes shape = view_sizes(view.shape);
  if (count_of(shape) == 0) return nodes_.constant(view.dtype, shape, "");
  const Wanted wanted = wanted_of(view);
  const View one{const_cast<char*>(wanted.data), view.dtype,
                 Shape(std::span<const std::int64_t>(wanted.sizes)),
                 Shape(std::span<const std::int64_t>(wanted.strides))};
  const std::vector<Piece*> pieces = pieces_under(one);
  for (const Piece* piece : pieces)
    if (piece->dtype != view.dtype)
      throw Error("memory is read as another dtype than was written", str(piece->dtype, " as ", view.dtype),
                  "convert it with to()");
  Sizes single = shape;  // with 1 where elements repeat
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (view.strides[static_cast<int>(d)] == 0) single[d] = 1;
  const bool is_fixed = std::all_of(pieces.begin(), pieces.end(),
                                    [](const Piece* p) { return p->value < 0 && p->name.empty(); });
  int value = 0;
  if (is_fixed) {
    value = fixed(view.dtype, view.as<char>(), single, view_sizes(view.strides));
  } else if (Piece& newest = *pieces[0]; newest.data == view.as<char>() && newest.shape == single &&
                                         newest.strides == view_sizes(view.strides)) {
    value = value_of(newest);
  } else {
    value = packed(wanted, pieces);
    Sizes order(wanted.dims.size()), moved;
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      return wanted.dims[static_cast<std::size_t>(a)] < wanted.dims[static_cast<std::size_t>(b)];
    });
    value = nodes_.reshape(nodes_.transpose(value, order), single);
    value = nodes_.flip(value, wanted.flipped);
  }
  if (!repeated) return nodes_.expand(value, shape);
  std::size_t lead = 0;
  while (lead < single.size() && single[lead] == 1 && view.strides[static_cast<int>(lead)] == 0) ++lead;
  return nodes_.reshape(value, {single.begin() + static_cast<std::ptrdiff_t>(lead), single.end()});
}

int TraceMemory::packed(const Wanted& wanted, const std::vector<Piece*>& pieces) {
  if (const auto found = boxed(wanted, pieces)) return *found;
  if (pieces.size() == 1)
    if (const auto found = looked_up(wanted, *pieces[0])) return *found;
  throw Error("a view of memory cannot be written as nodes of ONNX",
              "its elements are in no order that it has",
              "make it with slices, transpose(), reshape() or index_select()");
}

std::optional<int> TraceMemory::boxed(const Wanted& wanted, const std::vector<Piece*>& pieces) {
  const auto width = static_cast<std::int64_t>(size_of(wanted.dtype));
  const char* base = wanted.data;
  for (const Piece* piece : pieces) base = std::min(base, piece->data);
  const auto offset = [&](const char* data) { return (data - base) / width; };
  StridedBlock block{offset(wanted.data), wanted.sizes, wanted.strides};
  std::vector<StridedBlock> blocks;
  for (const Piece* piece : pieces)
    blocks.push_back(block_from(piece->shape, piece->strides, offset(piece->data)));
  const std::optional<Frame> frame = Frame::of(blocks, block);
  if (!frame) return std::nullopt;
  const std::optional<Box> box = frame->box_of(block);
  if (!box) return std::nullopt;
  Assembly all{base, wanted.dtype, &*frame, {}};
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::optional<Box> where = frame->box_of(blocks[i]);
    if (!where) return std::nullopt;
    all.placed.push_back({pieces[i], *where});
  }
  return nodes_.reshape(assembled(all, 0, *box), wanted.sizes);
}

// Windows, diagonals and the like: the leading dimensions are a box, and elements are picked from the rest.
std::optional<int> TraceMemory::looked_up(const Wanted& wanted, Piece& piece) {
  const StridedBlock from = block_from(piece.shape, piece.strides, 0);
  if (!from.is_dense()) return std::nullopt;
  const std::int64_t offset = (wanted.data - piece.data) / static_cast<std::int64_t>(size_of(piece.dtype));
  const StridedBlock line{0, {count_of(from.sizes)}, {1}};
  for (std::size_t outer = wanted.sizes.size(); outer-- > 0;) {
    const auto at = static_cast<std::ptrdiff_t>(outer);
    const Sizes inner(wanted.sizes.begin() + at, wanted.sizes.end()),
        inner_strides(wanted.strides.begin() + at, wanted.strides.end());
    StridedBlock hull{offset, Sizes(wanted.sizes.begin(), wanted.sizes.begin() + at),
                      Sizes(wanted.strides.begin(), wanted.strides.begin() + at)};
    const std::optional<Frame> frame = Frame::with_strides(hull.strides);
    if (!frame || frame->strides().size() != outer + 1) continue;
    hull.sizes.push_back(StridedBlock{0, inner, inner_strides}.reach() + 1);
    hull.strides.push_back(1);
    const auto box = frame->box_of(hull), all = frame->box_of(line);
    if (!box || !all) continue;
    Sizes index(static_cast<std::size_t>(count_of(inner))), place(inner.size());
    for (std::int64_t& i : index) {
      for (std::size_t d = 0; d < inner.size(); ++d) i += place[d] * inner_strides[d];
      for (std::size_t d = inner.size(); d-- > 0;) {
        if (++place[d] < inner[d]) break;
        place[d] = 0;
      }
    }
    const int part = cut({piece.data, piece.dtype, &*frame, {}}, {&piece, *all}, *box);
    return nodes_.gather(part, nodes_.whole(inner, index), outer);
  }
  return std::nullopt;
}

// The elements of `box`, from placed[from] and those that are older.
int TraceMemory::assembled(const Assembly& all, std::size_t from, const Box& box) {
  while (from < all.placed.size() && !intersect(all.placed[from].box, box)) ++from;
  if (from == all.placed.size()) return fixed_box(all, box);
  if (contains(all.placed[from].box, box)) return cut(all, all.placed[from], box);
  Box hull = box;
  Sizes none(box.size(), 0), counts = counts_of(box), steps;
  for (BoxRange& r : hull) {
    steps.push_back(r.step);
    r = {r.begin, r.end() - r.begin, 1};
  }
  if (from == 0)
    if (const auto found = padded(all, hull)) return nodes_.slice(*found, none, counts, steps);
  std::size_t along = 0;  // a dimension that the newest piece does not cover
  const Box& newest = all.placed[from].box;
  while (newest[along].begin <= hull[along].begin && newest[along].end() >= hull[along].end()) ++along;
  return nodes_.slice(nodes_.concat(parts_of(all, from, hull, along), along), none, counts, steps);
}

std::vector<int> TraceMemory::parts_of(const Assembly& all, std::size_t from, const Box& box,
                                       std::size_t along) {
  const BoxRange &newest = all.placed[from].box[along], whole = box[along];
  const std::int64_t first = std::max(newest.begin, whole.begin), last = std::min(newest.end(), whole.end());
  std::vector<int> parts;
  const auto take = [&](std::int64_t begin, std::int64_t end) {
    if (begin >= end) return;
    Box part = box;
    part[along] = {begin, end - begin, 1};
    std::size_t next = from;
    while (next < all.placed.size() && !intersect(all.placed[next].box, part)) ++next;
    // Parts beside each other along the same dimension are one list.
    const bool splits =
        next < all.placed.size() && !contains(all.placed[next].box, part) &&
        (all.placed[next].box[along].begin > begin || all.placed[next].box[along].end() < end);
    if (!splits) {
      parts.push_back(assembled(all, next, part));
      return;
    }
    const std::vector<int> inner = parts_of(all, next, part, along);
    parts.insert(parts.end(), inner.begin(), inner.end());
  };
  take(whole.begin, first);
  take(first, last);
  take(last, whole.end());
  return parts;
}

int TraceMemory::fixed_box(const Assembly& all, const Box& box) {
  const Sizes& strides = all.frame->strides();
  Sizes stepped;
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < box.size(); ++d) {
    offset += box[d].begin * strides[d];
    stepped.push_back(box[d].step * strides[d]);
  }
  return fixed(all.dtype, all.base + offset * static_cast<std::int64_t>(size_of(all.dtype)), counts_of(box),
               stepped);
}

// A piece's value with its dimensions in the order of memory, in this shape.
int TraceMemory::piece_in_order(Piece& piece, const Sizes& counts) {
  return nodes_.reshape(nodes_.transpose(value_of(piece), memory_order(piece.shape, piece.strides)), counts);
}

int TraceMemory::cut(const Assembly& all, const Placed& placed, const Box& box) {
  Piece& piece = *placed.piece;
  if (piece.value < 0 && piece.name.empty()) return fixed_box(all, box);
  Sizes begin, step;
  for (std::size_t d = 0; d < box.size(); ++d) {
    begin.push_back(box[d].begin - placed.box[d].begin);
    step.push_back(box[d].step);
  }
  return nodes_.slice(piece_in_order(piece, counts_of(placed.box)), begin, counts_of(box), step);
}

// One value in the middle of a box that holds the same fixed number everywhere else: what pad() writes.
std::optional<int> TraceMemory::padded(const Assembly& all, const Box& box) {
  const Placed& middle = all.placed[0];
  if (!contains(box, middle.box) || (middle.piece->value < 0 && middle.piece->name.empty()))
    return std::nullopt;
  for (std::size_t i = 1; i < all.placed.size(); ++i)
    if (all.placed[i].piece->value >= 0 || !all.placed[i].piece->name.empty()) return std::nullopt;
  const std::size_t width = size_of(all.dtype);
  const Sizes &strides = all.frame->strides(), counts = counts_of(box);
  const char* number = nullptr;
  Sizes at(box.size());
  for (std::int64_t i = count_of(counts); i > 0; --i) {
    std::int64_t offset = 0;
    bool inside = true;
    for (std::size_t d = 0; d < box.size(); ++d) {
      const std::int64_t place = box[d].begin + at[d];
      offset += place * strides[d];
      inside = inside && place >= middle.box[d].begin && place < middle.box[d].end();
    }
    const char* const here = all.base + offset * static_cast<std::int64_t>(width);
    if (!inside && number == nullptr) number = here;
    if (!inside && std::memcmp(number, here, width) != 0) return std::nullopt;
    for (std::size_t d = box.size(); d-- > 0;) {
      if (++at[d] < counts[d]) break;
      at[d] = 0;
    }
  }
  Sizes before, after;
  for (std::size_t d = 0; d < box.size(); ++d) {
    before.push_back(middle.box[d].begin - box[d].begin);
    after.push_back(box[d].end() - middle.box[d].end());
  }
  before.insert(before.end(), after.begin(), after.end());
  const int inner = piece_in_order(*middle.piece, counts_of(middle.box));
  const int value = nodes_.constant(all.dtype, {}, {number, width});
  return nodes_.node("Pad", {inner, nodes_.sizes(before), value}, all.dtype, counts);
}

}  // namespace veldt::onnx
