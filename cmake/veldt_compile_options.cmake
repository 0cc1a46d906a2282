# Flags for every C++ target of Veldt.

# The engine is measured at -O2: -O3 and -march=native change sizes and bits more than they change
# speed here, because the hot loops choose their instruction set at run time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g0 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O1 -g")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1 -fno-omit-frame-pointer")

function(veldt_compile_options target)
  # The same source must give the same bits whichever compiler and level builds it, so the compiler
  # may not fuse a*b+c on its own; kernels that want FMA say so through Highway.
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off;-Wall;-Wextra;-Wshadow;-Wnon-virtual-dtor;-Woverloaded-virtual>")
  # What kernels are compiled for: SSE4, which every processor has had since 2011, AVX2, and AVX-512 of 2017 (Highway's
  # AVX3). Later sets have nothing that a kernel uses, and each costs a quarter of the kernels' time to build. The
  # sanitizers, to which each is dear, have the one that this machine would use. Highway's own checks would want its
  # library.
  if(target STREQUAL "veldt_cpu")
    target_compile_definitions(${target} PRIVATE HWY_IS_DEBUG_BUILD=0)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
      set(best AVX2)
      if(EXISTS /proc/cpuinfo)
        file(STRINGS /proc/cpuinfo wide REGEX "^flags.* avx512f .*avx512dq .*avx512bw .*avx512vl " LIMIT_COUNT 1)
        if(wide)
          set(best AVX3)
        endif()
      endif()
      target_compile_definitions(${target} PRIVATE HWY_DISABLED_TARGETS=HWY_AVX3-1
        HWY_BASELINE_TARGETS=HWY_$<IF:$<CONFIG:Debug>,${best},SSE4>)
    else()  # what the compiler takes for granted, like NEON: cpu/dispatch.h knows no others
      target_compile_definitions(${target} PRIVATE HWY_COMPILE_ONLY_STATIC)
    endif()
  endif()
  # g++ spends a tenth of its time on looking for garbage in its memory; with 600 MB before it begins, next to none.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=600000;--param=ggc-min-expand=100>)
  endif()
  # g++ takes four times as long over ASan's marks at every scope of an inlined vector; a kernel hands out
  # no reference to a local.
  if(target STREQUAL "veldt_cpu" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE $<$<CONFIG:Debug>:-fno-sanitize-address-use-after-scope>)
  endif()
  # Kernels read no files, and are dear to instrument.
  if(VELDT_BUILD_FUZZ AND target MATCHES "^veldt_(cpu|kernels)$")
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
  endif()
  # g++ 12 sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
  endif()
  # g++ 13 and later suspect any function that returns a reference and is given a temporary, like a name to look up.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-reference>)
  endif()
  if(VELDT_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror>)
  endif()
endfunction()
