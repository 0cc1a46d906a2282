// Stands in for malloc, pthread_create, open and their like, to count them or let one fail.
#include "tests/support/system_calls.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>

#include "tests/support/sanitizers.h"

namespace veldt::test {
namespace {

std::atomic<Watcher*> g_watcher{nullptr};

// What ends the program when it gets no memory, and is not Veldt's: nlohmann's destructor of a value, which
// is noexcept, and glibc's note of a thread_local object. The failure waits for the next allocation then.
// Needs the program's symbols (ENABLE_EXPORTS).
bool in_what_must_not_fail() {
  void* frames[12];
  const int count = backtrace(frames, 12);
  for (int i = 0; i < count; ++i) {
    Dl_info info;
    if (!dladdr(frames[i], &info) || info.dli_sname == nullptr) continue;
    for (const char* name : {"json_value7destroy", "__cxa_thread_atexit_impl"})
      if (std::strstr(info.dli_sname, name)) return true;
  }
  return false;
}

#ifndef VELDT_SMALL_BLOCKS_FROM_HEAP
thread_local bool g_inside = false;

// `make` makes the call; what it gives is below zero, or `failed`, if it fails.
template <class Result, class Make> Result pass(const SystemCall& call, Result failed, Make make) noexcept {
  Watcher* watcher = g_inside ? nullptr : g_watcher.load();
  if (watcher == nullptr) return make();
  g_inside = true;
  const int error = watcher->before(call);
  Result result = failed;
  if (error == 0) result = make();
  if (error == 0 && result != failed) {
    const int kept = errno;
    if constexpr (std::is_integral_v<Result>) watcher->after(call, static_cast<std::int64_t>(result));
    errno = kept;
  }
  g_inside = false;
  if (error != 0) errno = error;
  return result;
}

int system_call(const SystemCall& call, long number, auto... arguments) {
  return pass(call, -1, [&] { return static_cast<int>(::syscall(number, arguments...)); });
}
#endif

}  // namespace

#ifdef VELDT_SMALL_BLOCKS_FROM_HEAP
const bool kCanWatch = false;
#else
const bool kCanWatch = true;
#endif

Watch::Watch(Watcher& watcher) {
  in_what_must_not_fail();  // the first backtrace() loads a library
  g_watcher = &watcher;
}
Watch::~Watch() { g_watcher = nullptr; }

int FailingCall::before(const SystemCall& call) {
  if (call.call != call_ || call.fd == STDERR_FILENO) return 0;  // nobody could read of that
  const bool due = ++count_ >= n_;
  if (!due || (failed_ && !for_good_) || (call_ == Call::allocate && in_what_must_not_fail())) return 0;
  failed_ = true;
  return error_;
}

}  // namespace veldt::test

#ifndef VELDT_SMALL_BLOCKS_FROM_HEAP
using veldt::test::Call;
using veldt::test::pass;
using veldt::test::system_call;

// glibc's own, by the names under which it lets a program take their place.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t bytes) noexcept {
  return pass<void*>({.call = Call::allocate, .bytes = bytes}, nullptr, [&] { return __libc_malloc(bytes); });
}
void* calloc(std::size_t count, std::size_t bytes) noexcept {
  return pass<void*>({.call = Call::allocate, .bytes = count * bytes}, nullptr,
                     [&] { return __libc_calloc(count, bytes); });
}
void* realloc(void* old, std::size_t bytes) noexcept {
  return pass<void*>({.call = Call::allocate, .bytes = bytes}, nullptr,
                     [&] { return __libc_realloc(old, bytes); });
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  return pass<void*>({.call = Call::allocate, .bytes = bytes}, nullptr,
                     [&] { return __libc_memalign(alignment, bytes); });
}
int posix_memalign(void** p, std::size_t alignment, std::size_t bytes) noexcept {
  *p = aligned_alloc(alignment, bytes);
  return *p ? 0 : ENOMEM;
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) noexcept {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  const int result =
      pass({.call = Call::start_thread}, -1, [&] { return real(thread, attributes, run, argument); });
  return result == -1 ? EAGAIN : result;
}

int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0;
  va_end(more);
  return system_call({.call = Call::open, .path = path, .flags = flags}, SYS_openat, AT_FDCWD, path, flags,
                     mode);
}
ssize_t write(int fd, const void* data, std::size_t bytes) {
  return pass<ssize_t>({.call = Call::write, .fd = fd, .data = data, .bytes = bytes}, -1,
                       [&] { return ::syscall(SYS_write, fd, data, bytes); });
}
int ftruncate(int fd, off_t bytes) noexcept {
  return system_call({.call = Call::truncate, .fd = fd, .bytes = static_cast<std::size_t>(bytes)},
                     SYS_ftruncate, fd, bytes);
}
int fsync(int fd) { return system_call({.call = Call::sync, .fd = fd}, SYS_fsync, fd); }
int renameat2(int from_directory, const char* from, int to_directory, const char* to,
              unsigned flags) noexcept {
  return system_call({.call = Call::rename, .path = from, .to = to, .flags = static_cast<int>(flags)},
                     SYS_renameat2, from_directory, from, to_directory, to, flags);
}
int rename(const char* from, const char* to) noexcept { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }
int unlink(const char* path) noexcept {
  return system_call({.call = Call::remove, .path = path}, SYS_unlinkat, AT_FDCWD, path, 0);
}
int rmdir(const char* path) noexcept {
  return system_call({.call = Call::remove, .path = path}, SYS_unlinkat, AT_FDCWD, path, AT_REMOVEDIR);
}
int mkdir(const char* path, mode_t mode) noexcept {
  return system_call({.call = Call::make_directory, .path = path}, SYS_mkdirat, AT_FDCWD, path, mode);
}
}
#endif
