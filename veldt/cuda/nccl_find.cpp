// Where NCCL is. Tests have a twin of it instead of this file (tests/support/nccl_emulation.cpp).
#include <dlfcn.h>

#include "veldt/cuda/nccl.h"

namespace veldt::cuda {
namespace {

struct Found {
  const Nccl* nccl = nullptr;
  Nccl functions{};
  std::string why;
};

template <class Function> bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, Nccl& n) {
  return find(library, "ncclGetVersion", n.version) && find(library, "ncclGetUniqueId", n.new_id) &&
         find(library, "ncclCommInitRank", n.join) && find(library, "ncclCommDestroy", n.leave) &&
         find(library, "ncclCommAbort", n.abort) && find(library, "ncclCommGetAsyncError", n.state) &&
         find(library, "ncclGetErrorString", n.text) && find(library, "ncclGroupStart", n.begin) &&
         find(library, "ncclGroupEnd", n.end) && find(library, "ncclSend", n.send) &&
         find(library, "ncclRecv", n.receive);
}

}  // namespace

const Nccl* find_nccl(std::string* why) {
  static const Found& found = *[] {
    auto* const f = new Found;  // as long as the process, as the library
    void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* const error = dlerror();
      f->why = error != nullptr ? error : "libnccl.so.2 cannot be opened";
    } else if (find_all(library, f->functions)) {
      f->nccl = &f->functions;
    } else {
      f->why = "libnccl.so.2 lacks a function that Veldt calls";
    }
    return f;
  }();
  if (why != nullptr) *why = found.why;
  return found.nccl;
}

}  // namespace veldt::cuda
