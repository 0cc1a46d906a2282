// Parts of batches by train::Together, and tensors of rank 0 for all.
#include "veldt/field/sharing.h"

#include <algorithm>
#include <utility>

#include "veldt/core/error.h"
#include "veldt/field/lessons.h"
#include "veldt/ops/create.h"
#include "veldt/ops/shape.h"

namespace veldt::field {
namespace {

bool are_several(const dist::Communicator* ranks) { return ranks != nullptr && !ranks->alone(); }

}  // namespace

Sharing::Sharing(dist::Communicator* ranks, const Network& network, optim::Optimizer& optimizer,
                 std::int64_t parts)
    : players_(network, {{.name = "", .optimizer = optimizer}}, 0, false),
      together_(ranks, network, players_, {.parts = parts}) {}

void Sharing::begin(std::int64_t edges, std::int64_t flats) {
  const data::Parts& own = parts();
  if (std::max(edges, flats) < own.of)
    throw ConfigError(str("a batch of ", edges + flats, " pixels cannot have ", own.of, " parts"),
                      "each rank, and each part, has an edge or a flat pixel at least",
                      "use fewer ranks, or a larger batch where the picture has more pixels");
  const auto all = static_cast<double>(edges + flats);
  std::vector<double> shares;
  for (std::int64_t part = own.first; part < own.end; ++part)
    shares.push_back(static_cast<double>(own.begin_of(part + 1, edges) - own.begin_of(part, edges) +
                                         own.begin_of(part + 1, flats) - own.begin_of(part, flats)) /
                     all);
  together_.begin(0, std::move(shares));
}

// Each number is 0 on all ranks but one, so their sum is exact.
Tensor Sharing::of_all(const std::vector<Tensor>& own, std::int64_t n) const {
  const Tensor all = zeros({n});
  slice(all, 0, parts().begin_of(parts().first, n), parts().begin_of(parts().end, n))
      .assign(to(cat(own, 0), Device{}));
  ranks().all_reduce(all);
  return all;
}

bool is_first(const dist::Communicator* ranks) { return ranks == nullptr || ranks->rank() == 0; }

double as_first(dist::Communicator* ranks, double number) {
  if (!are_several(ranks)) return number;
  const Tensor t = full({1}, number, DType::f64);
  ranks->broadcast(t);
  return t.item();
}

std::optional<Signal> shared_lessons(const Signal& signal, const FitChoices& choices, const Watch& watch) {
  dist::Communicator* const ranks = choices.ranks;
  if (!are_several(ranks) || !choices.has_teacher()) return lessons_of(signal, choices, watch);
  std::optional<Signal> lessons;
  if (is_first(ranks)) lessons = lessons_of(signal, choices, watch);
  if (as_first(ranks, lessons ? 1 : 0) == 0) return std::nullopt;
  const FieldOptions size = choices_of_lessons(choices).field;
  const Tensor samples = lessons ? lessons->samples() : empty({size.height, size.width, size.channels});
  ranks->broadcast(samples);
  return lessons ? lessons : Signal(samples);
}

Closing shared_closing(const Field& field, const Signal& signal, const FitChoices& choices,
                       const Heard& heard) {
  dist::Communicator* const ranks = choices.ranks;
  if (!are_several(ranks) || choices.closes == 0) return closing_for(field, signal, choices, heard);
  Closing closing;
  if (is_first(ranks)) closing = closing_for(field, signal, choices, heard);
  const auto numbers = static_cast<std::int64_t>(as_first(ranks, closing.numbers()));
  const bool is_half = as_first(ranks, closing && closing.coefficients().dtype() == DType::f16 ? 1 : 0) != 0;
  const FieldOptions& o = field.options();
  const Tensor coefficients =
      closing ? closing.coefficients()
              : empty({numbers, o.rows(), o.columns(), o.channels}, is_half ? DType::f16 : DType::f32);
  ranks->broadcast(coefficients);
  return closing ? closing : Closing(coefficients);
}

}  // namespace veldt::field
