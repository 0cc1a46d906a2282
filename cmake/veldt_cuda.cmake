# Whether the CUDA backend is built (VELDT_WITH_CUDA), and the flags of its library.
set(VELDT_WITH_CUDA OFF)
if(VELDT_CUDA)
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Code for Ampere, and what a driver compiles on from for every later device; each architecture more takes half as
    # long again. ./dev build and ./dev gpu ask for Hopper's own besides.
    set(CMAKE_CUDA_ARCHITECTURES 80 CACHE STRING "Devices to compile for")
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc has it
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    endif()
    find_package(CUDAToolkit REQUIRED)
    set(VELDT_WITH_CUDA ON)
  elseif(NOT VELDT_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "VELDT_CUDA is ON, and no nvcc was found\n"
      "  why: neither CUDACXX nor the path names one\n"
      "  fix: install the CUDA toolkit, 12.8 or later, or set -DVELDT_CUDA=OFF\n")
  endif()
endif()

# Constexpr functions may be called in kernels. A kernel that spills its registers to memory is a bug: it fails
# the build.
function(veldt_cuda_options target)
  veldt_compile_options(${target})
  target_compile_options(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xptxas=-warn-spills,-Werror;-Xcompiler=-Wall,-Wextra>")
endfunction()
