# Compiler launcher, linker and the flags that belong to a build type.

find_program(PAWL_CCACHE ccache)
if(PAWL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without this sloppiness ccache never hits where a precompiled header is in use.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${PAWL_CCACHE})
endif()

find_program(PAWL_LLD NAMES ld.lld-19 ld.lld)
if(PAWL_LLD)
  # GCC looks for the plain name, which Debian's lld-19 does not install.
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/linker)
  file(CREATE_LINK ${PAWL_LLD} ${CMAKE_BINARY_DIR}/linker/ld.lld SYMBOLIC)
  add_link_options(-fuse-ld=lld -B${CMAKE_BINARY_DIR}/linker)
endif()

# -Og: statistics and simulations are tested in the debug build and crawl at -O0.
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g -DNDEBUG")

add_library(pawl_flags INTERFACE)
target_compile_definitions(pawl_flags INTERFACE _GLIBCXX_ASSERTIONS)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND PAWL_CCACHE)
  target_compile_options(pawl_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()

# Hardening belongs to optimised builds: FORTIFY needs the optimiser, sanitizers replace it.
if(NOT PAWL_SANITIZE AND NOT PAWL_FUZZ)
  target_compile_options(pawl_flags INTERFACE
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo,Release>>:-fstack-protector-strong>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo,Release>>:-D_FORTIFY_SOURCE=2>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:RelWithDebInfo,Release>>:-fPIE>)
  target_link_options(pawl_flags INTERFACE
    $<$<CONFIG:RelWithDebInfo,Release>:LINKER:-z,relro,-z,now>)
endif()
