// The one place that asks the libraries below Veldt for their versions.
#include <fmt/format.h>
#include <hwy/highway.h>
#include <png.h>
#include <toml++/toml.h>
#include <webp/decode.h>
#include <xxhash.h>
#include <zlib.h>

#include <CLI/Version.hpp>
#include <cstddef>
#include <cstdio>
#include <jpeglib.h>
#include <nlohmann/json.hpp>

#include "veldt/app/machine.h"
#if VELDT_HAVE_ONEDNN
#include <dnnl.h>
#endif
#if VELDT_HAVE_ONNX
#include <protozero/version.hpp>
#endif

namespace veldt::app {

std::vector<Version> library_versions() {
  std::vector<Version> all;
#if VELDT_HAVE_ONEDNN
  const dnnl_version_t* dnnl = dnnl_version();
  all.push_back({"oneDNN", fmt::format("{}.{}.{}", dnnl->major, dnnl->minor, dnnl->patch)});
#else
  all.push_back({"oneDNN", "not used"});
#endif
  all.push_back({"Highway", fmt::format("{}.{}.{}", HWY_MAJOR, HWY_MINOR, HWY_PATCH)});
  all.push_back({"libpng", png_get_libpng_ver(nullptr)});
#ifdef LIBJPEG_TURBO_VERSION_NUMBER
  constexpr int kJpeg = LIBJPEG_TURBO_VERSION_NUMBER;
  all.push_back(
      {"libjpeg-turbo", fmt::format("{}.{}.{}", kJpeg / 1000000, kJpeg / 1000 % 1000, kJpeg % 1000)});
#else
  all.push_back({"libjpeg", std::to_string(JPEG_LIB_VERSION / 10)});
#endif
  const int webp = WebPGetDecoderVersion();
  all.push_back({"libwebp", fmt::format("{}.{}.{}", webp >> 16, webp >> 8 & 255, webp & 255)});
  all.push_back({"zlib", zlibVersion()});
  const unsigned xxhash = XXH_versionNumber();
  all.push_back({"xxHash", fmt::format("{}.{}.{}", xxhash / 10000, xxhash / 100 % 100, xxhash % 100)});
  all.push_back(
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)});
  all.push_back({"JSON", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
                                     NLOHMANN_JSON_VERSION_PATCH)});
  all.push_back({"CLI11", CLI11_VERSION});
#if VELDT_HAVE_ONNX
  all.push_back({"protozero", PROTOZERO_VERSION_STRING});
#else
  all.push_back({"protozero", "not there: no ONNX (apt-get install libprotozero-dev, and build again)"});
#endif
  all.push_back({"toml++", fmt::format("{}.{}.{}", TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH)});
  return all;
}

}  // namespace veldt::app
