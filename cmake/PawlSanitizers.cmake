# PAWL_SANITIZE=address,undefined or thread, for every target alike: half-instrumented programs
# report errors that are not there.

add_library(pawl_sanitizers INTERFACE)
if(PAWL_SANITIZE)
  target_compile_options(pawl_sanitizers INTERFACE
    -fsanitize=${PAWL_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(pawl_sanitizers INTERFACE -fsanitize=${PAWL_SANITIZE})
endif()
if(PAWL_FUZZ)
  # Coverage for every module; the fuzz programs themselves add the driver (pawl_fuzz).
  target_compile_options(pawl_sanitizers INTERFACE -fsanitize=fuzzer-no-link)
endif()
target_link_libraries(pawl_flags INTERFACE pawl_sanitizers)
