# What `cmake --install` puts where, so that find_package(Veldt) works in a user's project.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Veldt)
get_target_property(veldt_type veldt TYPE)

install(TARGETS veldt EXPORT veldt_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET veldt_app)
  install(TARGETS veldt_app RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# The public headers never include those of cpu and app.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/veldt/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/veldt
  FILES_MATCHING PATTERN "*.h" PATTERN app EXCLUDE PATTERN cpu EXCLUDE)
install(EXPORT veldt_targets NAMESPACE veldt:: DESTINATION ${package_dir})

configure_package_config_file(cmake/VeldtConfig.cmake.in ${PROJECT_BINARY_DIR}/VeldtConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/VeldtConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/VeldtConfig.cmake ${PROJECT_BINARY_DIR}/VeldtConfigVersion.cmake
  cmake/veldt_dependencies.cmake DESTINATION ${package_dir})
