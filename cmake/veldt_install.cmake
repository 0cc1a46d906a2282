# What `cmake --install` puts where, so that find_package(Veldt) and pkg-config work in a user's project wherever
# the tree is moved to; and what `cpack -G DEB` makes of it: veldt (the command), libveldt-dev, and
# veldt-cuda, veldt-openmpi and veldt-mpich where their libraries are built.
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Veldt)
get_target_property(veldt_type veldt TYPE)

install(TARGETS veldt EXPORT veldt_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime NAMELINK_COMPONENT development)
if(veldt_type STREQUAL "STATIC_LIBRARY" AND CMAKE_STRIP AND CMAKE_BUILD_TYPE STREQUAL "Release")
  # Names of functions that only their own file calls: a fourteenth of the archive.
  install(CODE "execute_process(COMMAND ${CMAKE_STRIP} --strip-unneeded
    \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/$<TARGET_FILE_NAME:veldt>\")" COMPONENT development)
endif()
if(TARGET veldt_app)
  install(TARGETS veldt_app RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT runtime)
  install(FILES assets/prior.safetensors assets/prior_two_tone.safetensors
    DESTINATION ${CMAKE_INSTALL_DATADIR}/veldt COMPONENT runtime)
endif()
if(TARGET veldt_cuda)
  # Optional: ./dev paint does not build it.
  install(TARGETS veldt_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cuda OPTIONAL)
endif()
foreach(mpi openmpi mpich)
  if(TARGET veldt_${mpi})
    install(TARGETS veldt_${mpi} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT ${mpi} OPTIONAL)
  endif()
endforeach()
# Public is veldt.h, and what it includes, in any depth.
set(headers veldt/veldt.h veldt/core/guarded.h)  # with the latter backends are written
set(unread ${headers})
while(unread)
  list(POP_FRONT unread header)
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${PROJECT_SOURCE_DIR}/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder}
    COMPONENT development)
  file(STRINGS ${PROJECT_SOURCE_DIR}/${header} lines REGEX "^#include \"veldt/")
  foreach(line ${lines})
    string(REGEX REPLACE "^#include \"([^\"]*)\".*" "\\1" included ${line})
    if(NOT included IN_LIST headers)
      list(APPEND headers ${included})
      list(APPEND unread ${included})
    endif()
  endforeach()
endwhile()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${headers})
install(EXPORT veldt_targets NAMESPACE veldt:: DESTINATION ${package_dir} COMPONENT development)

configure_package_config_file(cmake/VeldtConfig.cmake.in ${PROJECT_BINARY_DIR}/VeldtConfig.cmake
  INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break an interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/VeldtConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/VeldtConfig.cmake ${PROJECT_BINARY_DIR}/VeldtConfigVersion.cmake
  cmake/veldt_dependencies.cmake DESTINATION ${package_dir} COMPONENT development)

# For programs built without CMake: g++ main.cpp $(pkg-config --cflags --libs veldt). Whoever links a static
# libveldt links what it stands on as well.
set(veldt_pc_private "")
set(veldt_pc_requires "")
if(veldt_type STREQUAL "STATIC_LIBRARY")
  set(veldt_pc_requires "libpng libjpeg libwebp zlib libxxhash fmt libpcre2-8 libutf8proc")
  set(veldt_pc_private "-pthread -ldl")
  if(VELDT_ONEDNN)
    string(PREPEND veldt_pc_private "-ldnnl ")  # Debian has no .pc of it
  endif()
endif()
file(RELATIVE_PATH veldt_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/veldt.pc.in ${PROJECT_BINARY_DIR}/veldt.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/veldt.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT development)

# ---- packages ----

set(packages veldt:runtime libveldt-dev:development)
set(CPACK_COMPONENTS_ALL runtime development)
if(TARGET veldt_cuda)
  list(APPEND packages veldt-cuda:cuda)
  list(APPEND CPACK_COMPONENTS_ALL cuda)
endif()
foreach(mpi openmpi mpich)
  if(TARGET veldt_${mpi})
    list(APPEND packages veldt-${mpi}:${mpi})
    list(APPEND CPACK_COMPONENTS_ALL ${mpi})
    string(TOUPPER ${mpi} component)
    set(CPACK_DEBIAN_${component}_PACKAGE_NAME veldt-${mpi})
    set(CPACK_DEBIAN_${component}_PACKAGE_SHLIBDEPS ON)
    set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS "veldt (= ${PROJECT_VERSION})")
  endif()
endforeach()
foreach(package ${packages})
  string(REPLACE ":" ";" package ${package})
  list(GET package 0 name)
  list(GET package 1 component)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} RENAME copyright
    COMPONENT ${component})
endforeach()

set(CPACK_PACKAGE_NAME veldt)
set(CPACK_PACKAGE_VENDOR Veldt)
set(CPACK_PACKAGE_CONTACT "The Veldt developers <veldt@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME veldt)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
# Opened when the first sound or picture of a kind is read, the first file downloaded.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "libsndfile1, libcurl4, libssl3")
foreach(library tiff avif heif jxl)
  if(VELDT_${library}_PACKAGE)
    string(APPEND CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS ", ${VELDT_${library}_PACKAGE}")
  endif()
endforeach()
set(CPACK_DEBIAN_CUDA_PACKAGE_NAME veldt-cuda)
set(CPACK_DEBIAN_CUDA_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_CUDA_PACKAGE_DEPENDS "veldt (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libveldt-dev)
if(veldt_type STREQUAL "STATIC_LIBRARY")
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libpng-dev, libjpeg-dev, libwebp-dev, \
zlib1g-dev, libxxhash-dev, libfmt-dev, libpcre2-dev, libutf8proc-dev")
  if(VELDT_ONEDNN)
    string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libdnnl-dev")
  endif()
else()
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "veldt (= ${PROJECT_VERSION})")
endif()
include(CPack)
