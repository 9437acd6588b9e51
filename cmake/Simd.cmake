# Instruction sets of the reduction kernels. Each variant is a source of its own; everything it
# instantiates carries that variant's type, so no code built here is shared with another source.
# Products are never fused into sums: all variants must give the same bits.
set(kernels ${CMAKE_SOURCE_DIR}/src/engine)
set_source_files_properties(${kernels}/kernels_plain.cc PROPERTIES COMPILE_OPTIONS "-ffp-contract=off")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${kernels}/kernels_avx2.cc PROPERTIES COMPILE_OPTIONS
    "-mavx2;-mf16c;-ffp-contract=off")
  set_source_files_properties(${kernels}/kernels_avx512.cc PROPERTIES COMPILE_OPTIONS
    "-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mf16c;-mprefer-vector-width=512;-ffp-contract=off")
endif()
