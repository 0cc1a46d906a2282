// Gives libtiff its file through callbacks, and turns its errors into exceptions once its calls have
// returned.
#include "veldt/io/tiff_file.h"

#ifdef VELDT_TIFF_SONAME

#include <tiffio.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <string_view>

#include "veldt/core/error.h"
#include "veldt/io/image_codec.h"
#include "veldt/io/shared_library.h"

namespace veldt::io {

// The state of the callbacks.
struct TiffSource {
  InputFile* file = nullptr;
  std::uint64_t at = 0;
  std::exception_ptr thrown;
  std::array<char, 160> message{};
  bool warnings_count = false;  // while pixels are read they mean damage; before, unknown tags

  void keep(const char* format, va_list arguments) {
    if (message[0] == '\0') std::vsnprintf(message.data(), message.size(), format, arguments);
  }
};

namespace {

struct TiffLibrary {
  decltype(&::TIFFOpenOptionsAlloc) options_alloc = nullptr;
  decltype(&::TIFFOpenOptionsFree) options_free = nullptr;
  decltype(&::TIFFOpenOptionsSetMaxSingleMemAlloc) set_max_alloc = nullptr;
  decltype(&::TIFFOpenOptionsSetErrorHandlerExtR) set_on_error = nullptr;
  decltype(&::TIFFOpenOptionsSetWarningHandlerExtR) set_on_warning = nullptr;
  decltype(&::TIFFClientOpenExt) open = nullptr;
  decltype(&::TIFFClose) close = nullptr;
  decltype(&::TIFFGetField) get = nullptr;
  decltype(&::TIFFGetFieldDefaulted) get_or_default = nullptr;
  decltype(&::TIFFSetField) set = nullptr;
  decltype(&::TIFFNumberOfDirectories) pages = nullptr;
  decltype(&::TIFFIsTiled) is_tiled = nullptr;
  decltype(&::TIFFReadEncodedStrip) read_strip = nullptr;
  decltype(&::TIFFReadEncodedTile) read_tile = nullptr;
  decltype(&::TIFFComputeStrip) strip_at = nullptr;
  decltype(&::TIFFComputeTile) tile_at = nullptr;
  decltype(&::TIFFReadRGBAImageOriented) read_rgba = nullptr;

  TiffLibrary() {
    const SharedLibrary file(VELDT_TIFF_SONAME, "read a TIFF", VELDT_TIFF_PACKAGE);
    file.find(options_alloc, "TIFFOpenOptionsAlloc");
    file.find(options_free, "TIFFOpenOptionsFree");
    file.find(set_max_alloc, "TIFFOpenOptionsSetMaxSingleMemAlloc");
    file.find(set_on_error, "TIFFOpenOptionsSetErrorHandlerExtR");
    file.find(set_on_warning, "TIFFOpenOptionsSetWarningHandlerExtR");
    file.find(open, "TIFFClientOpenExt");
    file.find(close, "TIFFClose");
    file.find(get, "TIFFGetField");
    file.find(get_or_default, "TIFFGetFieldDefaulted");
    file.find(set, "TIFFSetField");
    file.find(pages, "TIFFNumberOfDirectories");
    file.find(is_tiled, "TIFFIsTiled");
    file.find(read_strip, "TIFFReadEncodedStrip");
    file.find(read_tile, "TIFFReadEncodedTile");
    file.find(strip_at, "TIFFComputeStrip");
    file.find(tile_at, "TIFFComputeTile");
    file.find(read_rgba, "TIFFReadRGBAImageOriented");
  }
};

const TiffLibrary& tiff() {
  static const TiffLibrary found;
  return found;
}

TiffSource& source_of(void* handle) { return *static_cast<TiffSource*>(handle); }

tmsize_t on_read(thandle_t handle, void* to, tmsize_t bytes) {
  TiffSource& source = source_of(handle);
  try {
    source.file->seek(source.at);
    const std::size_t got = source.file->read(to, static_cast<std::size_t>(std::max<tmsize_t>(bytes, 0)));
    source.at += got;
    return static_cast<tmsize_t>(got);
  } catch (...) {
    source.thrown = std::current_exception();
    return -1;
  }
}

tmsize_t on_write(thandle_t, void*, tmsize_t) { return -1; }

toff_t on_seek(thandle_t handle, toff_t offset, int whence) {
  TiffSource& source = source_of(handle);
  const std::uint64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? source.at : source.file->size();
  source.at = std::min<std::uint64_t>(from + offset, INT64_MAX);
  return source.at;
}

int on_close(thandle_t) { return 0; }
toff_t on_size(thandle_t handle) { return source_of(handle).file->size(); }

int on_error(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  source_of(user).keep(format, arguments);
  return 1;
}

// While pixels are read a warning means damage, except for the LZW packing of before 1992.
int on_warning(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  const bool old = std::string_view(format).starts_with("Old-style LZW");
  if (source_of(user).warnings_count && !old) source_of(user).keep(format, arguments);
  return 1;
}

}  // namespace

struct TiffFile::State {
  TiffSource source;
  TIFF* tiff = nullptr;

  ~State() {
    if (tiff != nullptr) io::tiff().close(tiff);
  }
};

TiffFile::TiffFile(InputFile& file) : state_(std::make_unique<State>()) {
  TiffSource& source = state_->source;
  source.file = &file;
  TIFFOpenOptions* options = tiff().options_alloc();
  if (options != nullptr) {
    tiff().set_max_alloc(options, kMaxBlockBytes);
    tiff().set_on_error(options, on_error, &source);
    tiff().set_on_warning(options, on_warning, &source);
    // m: not mapped into memory, where a file that is truncated meanwhile would crash
    state_->tiff = tiff().open("", "rm", &source, on_read, on_write, on_seek, on_close, on_size, nullptr,
                               nullptr, options);
    tiff().options_free(options);
  }
  if (state_->tiff == nullptr) fail("it is not a TIFF");
}

TiffFile::~TiffFile() = default;

const std::string& TiffFile::path() const { return state_->source.file->path(); }

std::uint64_t TiffFile::size() const { return state_->source.file->size(); }

void TiffFile::fail(const std::string& why) const {
  if (state_->source.thrown) std::rethrow_exception(state_->source.thrown);
  const std::string said = state_->source.message.data();
  throw damaged_picture(path(), ImageFormat::tiff, said.empty() ? why : said);
}

void TiffFile::check_no_error() const {
  if (state_->source.thrown || state_->source.message[0] != '\0') fail("");
}

void TiffFile::count_warnings() { state_->source.warnings_count = true; }

bool TiffFile::get(std::uint32_t tag, void* first, void* second, void* third) const {
  return tiff().get(state_->tiff, tag, first, second, third) != 0;
}

bool TiffFile::get_or_default(std::uint32_t tag, void* first, void* second) const {
  return tiff().get_or_default(state_->tiff, tag, first, second) != 0;
}

bool TiffFile::ask_for_rgb() {
  return tiff().set(state_->tiff, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB) != 0;
}

std::int64_t TiffFile::pages() const { return static_cast<std::int64_t>(tiff().pages(state_->tiff)); }

bool TiffFile::is_tiled() const { return tiff().is_tiled(state_->tiff) != 0; }

void TiffFile::read_block(std::int64_t x, std::int64_t y, std::uint16_t plane, void* to, std::size_t bytes) {
  TIFF* const from = state_->tiff;
  const auto column = static_cast<std::uint32_t>(x), row = static_cast<std::uint32_t>(y);
  const auto wanted = static_cast<tmsize_t>(bytes);
  const tmsize_t got = is_tiled()
                           ? tiff().read_tile(from, tiff().tile_at(from, column, row, 0, plane), to, wanted)
                           : tiff().read_strip(from, tiff().strip_at(from, row, plane), to, wanted);
  if (got < wanted) fail("the file ends too early");
  check_no_error();
}

bool TiffFile::read_rgba(std::int64_t width, std::int64_t height, int orientation, std::uint32_t* pixels) {
  return tiff().read_rgba(state_->tiff, static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height),
                          pixels, orientation, 1) != 0;
}

}  // namespace veldt::io

#endif
