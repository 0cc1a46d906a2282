// Takes memory when it is needed first, and finds the numbers of a range in it.
#include "veldt/optim/state_slabs.h"

#include <algorithm>

#include "veldt/core/error.h"
#include "veldt/ops/arrange.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"
#include "veldt/tensor/graph.h"
#include "veldt/tensor/intercept.h"

namespace veldt::optim {
namespace {

std::int64_t count_of_numbers(const std::vector<Slab::Range>& ranges) {
  std::int64_t count = 0;
  for (const Slab::Range range : ranges) count += range.end - range.begin;
  return count;
}

}  // namespace

std::size_t StateSlabs::number_of(std::string_view kind) const {
  std::size_t i = 0;
  while (kinds_[i] != kind) ++i;
  return i;
}

// Not a part of a step that is being recorded: each replay would begin with zeros.
void StateSlabs::make(const Slab& slab) const {
  if (lost_)
    throw Error("the optimizer's state is lost",
                "it was shared out among processes, whose work together has ended",
                "give it one by load_state_dict(), or build a new optimizer");
  if (!slabs_.empty() || kinds_.empty()) return;
  const InterceptorScope unseen(nullptr);
  std::vector<Tensor> slabs;
  for (std::size_t i = 0; i < kinds_.size(); ++i)
    if (sharing_) {
      slabs.push_back(
          zeros({count_of_numbers(sharing_->own())}, slab.values().dtype(), slab.values().device()));
      label_memory(slabs.back(), "optimizer state");
    } else {
      slabs.push_back(slab.make_state());
    }
  slabs_ = std::move(slabs);
}

const Tensor& StateSlabs::whole(const Slab& slab, std::size_t kind) const {
  if (sharing_)
    throw Error("the optimizer needs its whole state", "it is shared out among processes",
                "in its update() use state(), which gives the part of a range");
  make(slab);
  return slabs_[kind];
}

Tensor StateSlabs::part(const Slab& slab, std::size_t kind, Slab::Range range) const {
  make(slab);
  return Slab::part(slabs_[kind], place(range));
}

View StateSlabs::view(const Slab& slab, std::size_t kind, Slab::Range range) const {
  make(slab);
  return Slab::view(slabs_[kind], place(range));
}

// Where a range of the slab lies in the numbers that this process keeps.
Slab::Range StateSlabs::place(Slab::Range range) const {
  if (!sharing_) return range;
  std::int64_t before = 0;
  for (const Slab::Range own : sharing_->own()) {
    if (own.begin <= range.begin && range.end <= own.end)
      return {before + range.begin - own.begin, before + range.end - own.begin};
    before += own.end - own.begin;
  }
  throw Error(str("this process keeps no state of the numbers ", range.begin, " to ", range.end),
              "it is shared out among processes, and they are another's",
              "use the range that update() is given");
}

void StateSlabs::add_own(Slab::Range range, std::vector<Slab::Range>& into) const {
  for (const Slab::Range own : sharing_->own()) {
    const Slab::Range both{std::max(own.begin, range.begin), std::min(own.end, range.end)};
    if (both.begin < both.end) into.push_back(both);
  }
}

void StateSlabs::share(const Slab& slab, std::shared_ptr<const StateSharing> sharing) {
  std::vector<Tensor> parts;
  for (std::size_t kind = 0; kind < kinds_.size(); ++kind) {
    const Tensor part = sharing->deal(slabs_.empty() ? Tensor() : slabs_[kind], slab.values());
    if (!part.defined()) break;  // there is none yet
    label_memory(part, "optimizer state");
    parts.push_back(part);
  }
  slabs_ = std::move(parts);
  sharing_ = std::move(sharing);
  lost_ = false;
}

void StateSlabs::end_sharing(bool gathers) {
  if (!sharing_) return;
  std::vector<Tensor> whole;
  if (gathers && !slabs_.empty())
    for (const Tensor& part : slabs_) whole.push_back(sharing_->collect(part));
  lost_ = !gathers && !slabs_.empty();
  sharing_.reset();
  const bool is_first = !whole.empty() && whole.front().defined();
  slabs_ = is_first ? std::move(whole) : std::vector<Tensor>();
}

std::vector<Tensor> StateSlabs::collected(const Slab& slab) const {
  make(slab);
  if (!sharing_) return slabs_;
  std::vector<Tensor> all;
  for (const Tensor& part : slabs_)
    if (const Tensor whole = sharing_->collect(part); whole.defined()) all.push_back(whole);
  return all;
}

void StateSlabs::load(const Slab& slab, std::size_t kind, std::size_t i, const Tensor& given) {
  make(slab);
  if (!sharing_) return slab.part(slabs_[kind], i).assign(given);
  const Slab::Range range = slab.range(i);
  std::vector<Slab::Range> own;
  add_own({range.begin, range.begin + given.numel()}, own);  // without the padding
  const Tensor list = reshape(given, {given.numel()});
  for (const Slab::Range part : own)
    Slab::part(slabs_[kind], place(part))
        .assign(narrow(list, 0, part.begin - range.begin, part.end - part.begin));
}

void StateSlabs::forget() { lost_ = false; }

}  // namespace veldt::optim
