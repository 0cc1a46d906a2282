# Third parties, found in one place. The build includes this file, and so does the installed
# VeldtConfig.cmake, because whoever links a static libveldt needs the same libraries.
#
# In:  VELDT_ONEDNN VELDT_BUILD_APP; VELDT_GLOBAL_DEPENDENCIES: make the targets known in the folders
#      above too.
# Out: Threads::Threads PNG::PNG JPEG::JPEG ZLIB::ZLIB fmt::fmt nlohmann_json::nlohmann_json
#      veldt_dep::{hwy,xxhash,webp,pcre2-8,utf8proc,dnnl},
#      and VELDT_MISSING, a message that is empty when all were found.

set(VELDT_MISSING "")

macro(veldt_missing what package)
  string(APPEND VELDT_MISSING "${what} was not found\n"
    "  why: Veldt links it, and no copy is where CMake looks\n"
    "  fix: run ./dev setup, or apt-get install ${package}\n")
endmacro()

macro(veldt_share target)
  if(VELDT_GLOBAL_DEPENDENCIES)
    set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL TRUE)
  endif()
endmacro()

# What is there already was found by a folder above, where it is known.
macro(veldt_find_package name target package)
  if(NOT TARGET ${target})
    find_package(${name} QUIET)
    if(TARGET ${target})
      veldt_share(${target})
    else()
      veldt_missing(${name} ${package})
    endif()
  endif()
endmacro()

# Found by header and library: Debian has no CMake file for xxHash, oneDNN's asks for OpenCL, and
# Highway's differs between releases.
macro(veldt_find_library name header package)
  find_path(VELDT_${name}_INCLUDE ${header})
  find_library(VELDT_${name}_LIBRARY ${name})
  mark_as_advanced(VELDT_${name}_INCLUDE VELDT_${name}_LIBRARY)
  if(NOT VELDT_${name}_INCLUDE OR NOT VELDT_${name}_LIBRARY)
    veldt_missing(${name} ${package})
  elseif(NOT TARGET veldt_dep::${name})
    add_library(veldt_dep::${name} UNKNOWN IMPORTED)
    set_target_properties(veldt_dep::${name} PROPERTIES
      IMPORTED_LOCATION ${VELDT_${name}_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${VELDT_${name}_INCLUDE})
    veldt_share(veldt_dep::${name})
  endif()
endmacro()

veldt_find_library(xxhash xxhash.h libxxhash-dev)
veldt_find_library(webp webp/encode.h libwebp-dev)
veldt_find_library(pcre2-8 pcre2.h libpcre2-dev)
veldt_find_library(utf8proc utf8proc.h libutf8proc-dev)
if(VELDT_ONEDNN)
  veldt_find_library(dnnl dnnl.hpp libdnnl-dev)
endif()
veldt_find_package(Threads Threads::Threads libc6-dev)
veldt_find_package(PNG PNG::PNG libpng-dev)
veldt_find_package(JPEG JPEG::JPEG libjpeg-dev)
veldt_find_package(ZLIB ZLIB::ZLIB zlib1g-dev)
veldt_find_package(fmt fmt::fmt libfmt-dev)
if(NOT VELDT_LINK_ONLY)  # headers, and for Veldt's own sources alone
  find_path(VELDT_hwy_INCLUDE hwy/highway.h)
  mark_as_advanced(VELDT_hwy_INCLUDE)
  if(NOT VELDT_hwy_INCLUDE)
    veldt_missing(Highway libhwy-dev)
  elseif(NOT TARGET veldt_dep::hwy)
    add_library(veldt_dep::hwy INTERFACE IMPORTED)
    set_target_properties(veldt_dep::hwy PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${VELDT_hwy_INCLUDE})
    veldt_share(veldt_dep::hwy)
  endif()
  # Where a release says what it is: highway.h until 1.0, then base.h. The kernels want functions of 1.0.
  if(VELDT_hwy_INCLUDE)
    file(GLOB hwy_headers ${VELDT_hwy_INCLUDE}/hwy/highway.h ${VELDT_hwy_INCLUDE}/hwy/base.h)
    set(hwy_version "")
    foreach(header ${hwy_headers})
      file(STRINGS ${header} hwy_lines REGEX "^#define HWY_(MAJOR|MINOR|PATCH) ")
      string(REGEX REPLACE "[^0-9;]" "" hwy_lines "${hwy_lines}")
      list(APPEND hwy_version ${hwy_lines})
    endforeach()
    list(JOIN hwy_version "." hwy_version)
    if(hwy_version AND hwy_version VERSION_LESS 1.0.3)  # a release that says it elsewhere is a later one
      string(APPEND VELDT_MISSING "Highway is too old\n"
        "  why: ${VELDT_hwy_INCLUDE} has ${hwy_version}, and Veldt needs 1.0.3 or later\n"
        "  fix: install a later one, or take Debian 12 or Ubuntu 24.04, which have it\n")
    endif()
  endif()
  veldt_find_package(nlohmann_json nlohmann_json::nlohmann_json nlohmann-json3-dev)
  find_path(VELDT_tomlplusplus_INCLUDE toml++/toml.h)
  mark_as_advanced(VELDT_tomlplusplus_INCLUDE)
  if(NOT VELDT_tomlplusplus_INCLUDE)
    veldt_missing(toml++ libtomlplusplus-dev)
  elseif(NOT TARGET veldt_dep::tomlplusplus)
    add_library(veldt_dep::tomlplusplus INTERFACE IMPORTED)
    target_include_directories(veldt_dep::tomlplusplus INTERFACE ${VELDT_tomlplusplus_INCLUDE})
    veldt_share(veldt_dep::tomlplusplus)
  endif()
  # Optional, and headers alone: the wire format of ONNX.
  find_path(VELDT_protozero_INCLUDE protozero/pbf_reader.hpp)
  mark_as_advanced(VELDT_protozero_INCLUDE)
  if(NOT VELDT_protozero_INCLUDE)
    message(STATUS "protozero was not found: Veldt will not read or write ONNX (apt-get install libprotozero-dev)")
  elseif(NOT TARGET veldt_dep::protozero)
    add_library(veldt_dep::protozero INTERFACE IMPORTED)
    target_include_directories(veldt_dep::protozero SYSTEM INTERFACE ${VELDT_protozero_INCLUDE})
    veldt_share(veldt_dep::protozero)
  endif()
  # Optional, and not linked: sounds are read through it, and it is opened when the first one is.
  find_path(VELDT_sndfile_INCLUDE sndfile.h)
  mark_as_advanced(VELDT_sndfile_INCLUDE)
  if(NOT VELDT_sndfile_INCLUDE)
    message(STATUS "libsndfile was not found: Veldt will not read sounds (apt-get install libsndfile1-dev)")
  endif()
  # The same of pictures. What is opened is the very library whose header was read: its name is asked of it.
  macro(veldt_find_opened name header package does)
    find_path(VELDT_${name}_INCLUDE ${header})
    find_library(VELDT_${name}_LIBRARY ${name})
    mark_as_advanced(VELDT_${name}_INCLUDE VELDT_${name}_LIBRARY)
    set(veldt_dynamic "")
    if(VELDT_${name}_INCLUDE AND VELDT_${name}_LIBRARY AND CMAKE_READELF)
      execute_process(COMMAND ${CMAKE_READELF} -d ${VELDT_${name}_LIBRARY} OUTPUT_VARIABLE veldt_dynamic)
    endif()
    if(veldt_dynamic MATCHES "\\(SONAME\\)[^[]*\\[([^]]+)\\]")
      set(VELDT_${name}_SONAME ${CMAKE_MATCH_1})  # libtiff.so.6
      string(REPLACE ".so." "" VELDT_${name}_PACKAGE ${VELDT_${name}_SONAME})
    else()
      message(STATUS "lib${name} was not found: Veldt will not ${does} (apt-get install ${package})")
    endif()
  endmacro()
  veldt_find_opened(tiff tiffio.h libtiff-dev "read TIFF")
  veldt_find_opened(avif avif/avif.h libavif-dev "read AVIF")
  veldt_find_opened(heif libheif/heif.h libheif-dev "read HEIC")
  veldt_find_opened(jxl jxl/decode.h libjxl-dev "read JPEG XL")
  # The same of the server of pages, and of pictures in terminals that know sixels.
  veldt_find_opened(microhttpd microhttpd.h libmicrohttpd-dev "serve pages")
  veldt_find_opened(sixel sixel/sixel.h libsixel-dev "draw sixels")
  # The same of libcurl and OpenSSL's libcrypto, for downloads.
  find_path(VELDT_curl_INCLUDE curl/curl.h)
  find_path(VELDT_crypto_INCLUDE openssl/evp.h)
  mark_as_advanced(VELDT_curl_INCLUDE VELDT_crypto_INCLUDE)
  if(NOT VELDT_curl_INCLUDE OR NOT VELDT_crypto_INCLUDE)
    message(STATUS "libcurl or libcrypto was not found: Veldt will not download data sets "
      "(apt-get install libcurl4-openssl-dev libssl-dev)")
  endif()
  # MPI, for a library of its own: where Debian puts it, then Fedora. Elsewhere: -DVELDT_openmpi_INCLUDE and _LIBRARY.
  foreach(mpi openmpi mpich)
    set(veldt_mpi_name mpi)
    if(mpi STREQUAL "mpich")
      set(veldt_mpi_name mpich mpi)
    endif()
    find_path(VELDT_${mpi}_INCLUDE mpi.h NO_DEFAULT_PATH
      PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${mpi}/include
            /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}/${mpi} /usr/include/${mpi}-${CMAKE_SYSTEM_PROCESSOR})
    find_library(VELDT_${mpi}_LIBRARY NAMES ${veldt_mpi_name} NO_DEFAULT_PATH
      PATHS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${mpi}/lib /usr/lib64/${mpi}/lib
            /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
    mark_as_advanced(VELDT_${mpi}_INCLUDE VELDT_${mpi}_LIBRARY)
  endforeach()
  if(NOT VELDT_openmpi_LIBRARY AND NOT VELDT_mpich_LIBRARY)
    message(STATUS "MPI was not found: Veldt will train in one process (apt-get install libopenmpi-dev)")
  endif()
endif()
# The command's alone: an installed library is used without them.
if(VELDT_BUILD_APP)
  veldt_find_package(CLI11 CLI11::CLI11 libcli11-dev)
endif()
