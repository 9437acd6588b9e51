# The GPU kernels of src/direct: nvcc makes one fat binary of them, which the library carries as bytes.
# Without nvcc the library is built all the same and says that it has no kernels.
find_program(AUTOCCL_NVCC nvcc HINTS /usr/local/cuda/bin ENV CUDA_HOME PATH_SUFFIXES bin)
option(AUTOCCL_CUDA "Compile the GPU kernels where nvcc is found" ON)

set(image_source ${CMAKE_CURRENT_BINARY_DIR}/direct/embedded_image.cc)
if(AUTOCCL_NVCC AND AUTOCCL_CUDA)
  # Machine code for the data centre's GPUs that this nvcc knows; PTX of its oldest for all others.
  execute_process(COMMAND ${AUTOCCL_NVCC} --list-gpu-arch OUTPUT_VARIABLE known COMMAND_ERROR_IS_FATAL ANY
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" ";" known "${known}")
  set(code)
  foreach(arch 70 80 90 100)
    if(compute_${arch} IN_LIST known)
      list(APPEND code -gencode arch=compute_${arch},code=sm_${arch})
    endif()
  endforeach()
  set(oldest 75)
  if(compute_70 IN_LIST known)
    set(oldest 70)
  endif()
  list(APPEND code -gencode arch=compute_${oldest},code=compute_${oldest})
  set(kernels ${CMAKE_CURRENT_BINARY_DIR}/direct/kernels.fatbin)
  file(GLOB kernel_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/direct/kernels/*.h)
  add_custom_command(
    OUTPUT ${kernels}
    COMMAND ${AUTOCCL_NVCC} -std=c++20 -O3 -fatbin ${code} -I${CMAKE_SOURCE_DIR}/src -o ${kernels}
            ${CMAKE_SOURCE_DIR}/src/direct/kernels/kernels.cu
    DEPENDS ${CMAKE_SOURCE_DIR}/src/direct/kernels/kernels.cu ${kernel_headers}
            ${CMAKE_SOURCE_DIR}/src/model/types.h
    COMMENT "Compiling the GPU kernels" VERBATIM)
else()
  message(STATUS "No nvcc: the GPU engine is built without its kernels")
  set(kernels)
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_custom_command(
  OUTPUT ${image_source}
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/embed_image.py ${image_source} ${kernels}
  DEPENDS ${kernels} ${CMAKE_SOURCE_DIR}/scripts/embed_image.py
  VERBATIM)
add_library(direct_image STATIC EXCLUDE_FROM_ALL ${image_source})
target_link_libraries(direct_image PRIVATE autoccl_flags)
target_link_libraries(room_direct PUBLIC direct_image ${CMAKE_DL_LIBS})
