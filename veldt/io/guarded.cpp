// Runs a call between setjmp and longjmp, in a function without objects that have destructors.
#include "veldt/io/guarded.h"

namespace veldt::io {

// The one place of setjmp.
bool run_guarded(std::jmp_buf& back, void (*calls)(const void* context), const void* context) {
  if (setjmp(back) != 0) return false;
  calls(context);
  return true;
}

}  // namespace veldt::io
