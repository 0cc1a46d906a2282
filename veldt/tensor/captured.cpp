#include "veldt/tensor/captured.h"

#include <string_view>

#include "veldt/core/error.h"

namespace veldt {
namespace {

bool is_host(const KernelCall& call) { return std::string_view(call.entry()) == "host"; }

}  // namespace

CapturedCalls::CapturedCalls(const std::vector<std::unique_ptr<KernelCall>>& calls, const Backend& backend,
                             const DeviceGraphs& graphs)
    : backend_(backend), graphs_(graphs) {
  try {
    std::size_t first = 0;
    for (std::size_t i = 0; i <= calls.size(); ++i) {
      if (i < calls.size() && !is_host(*calls[i])) continue;
      if (i > first) capture(first, i, calls);
      if (i < calls.size()) parts_.push_back({nullptr, calls[i].get()});
      first = i + 1;
    }
  } catch (...) {
    for (const Part& part : parts_)
      if (part.graph) graphs_.destroy(part.graph);
    throw;
  }
}

CapturedCalls::~CapturedCalls() {
  for (const Part& part : parts_)
    if (part.graph) graphs_.destroy(part.graph);
}

void CapturedCalls::capture(std::size_t first, std::size_t last,
                            const std::vector<std::unique_ptr<KernelCall>>& calls) {
  parts_.emplace_back();
  graphs_.begin();
  try {
    for (std::size_t i = first; i < last; ++i) calls[i]->run(backend_);
  } catch (...) {
    try {
      graphs_.destroy(graphs_.end());  // the stream has to work on
    } catch (const Error&) {           // what failed first is the error to tell
    }
    throw;
  }
  parts_.back().graph = graphs_.end();
}

void CapturedCalls::replay() const {
  for (const Part& part : parts_)
    if (part.graph)
      graphs_.launch(part.graph);
    else
      part.host->run(backend_);
}

}  // namespace veldt
