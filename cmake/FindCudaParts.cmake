# Finds the two parts of CUDA that Tilewright uses:
#   TILEWRIGHT_CUDA_INCLUDE  the folder of cuda.h, needed to build (types only; nothing is linked)
#   TILEWRIGHT_NVRTC_DIR     the folder of libnvrtc.so, needed to compile kernels; it is found again at
#                            run time, and this folder is where the library looks last
# Both come from TILEWRIGHT_CUDA_ROOT, an installed toolkit, or the PyPI wheels that `./run build`
# puts into <build>/cuda. Without cuda.h the build stops and says what to install.

set(TILEWRIGHT_CUDA_ROOT "" CACHE PATH "Where CUDA is; empty: look in the usual places")

# The version of the wheels, for messages; `run` downloads the same.
set(TILEWRIGHT_CUDA_WHEELS "nvidia-cuda-runtime==13.0.* nvidia-cuda-nvrtc==13.0.*")

set(cuda_roots)
if(TILEWRIGHT_CUDA_ROOT)
  set(cuda_roots ${TILEWRIGHT_CUDA_ROOT})
else()
  find_package(CUDAToolkit QUIET)
  list(APPEND cuda_roots $ENV{CUDA_PATH} $ENV{CUDA_HOME} /usr/local/cuda)
  if(CUDAToolkit_FOUND)
    list(APPEND cuda_roots ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR})
  endif()
  list(APPEND cuda_roots ${PROJECT_BINARY_DIR}/cuda/nvidia/cu13 /usr)
endif()

# A cuda.h of the running system is only looked for where no root was named.
unset(TILEWRIGHT_CUDA_INCLUDE CACHE)
unset(TILEWRIGHT_NVRTC_LIBRARY CACHE)
find_path(TILEWRIGHT_CUDA_INCLUDE cuda.h HINTS ${cuda_roots}
          PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include NO_DEFAULT_PATH)
find_file(TILEWRIGHT_NVRTC_LIBRARY NAMES libnvrtc.so.13 libnvrtc.so libnvrtc.so.12 HINTS ${cuda_roots}
          PATH_SUFFIXES lib64 lib lib/x86_64-linux-gnu targets/x86_64-linux/lib targets/sbsa-linux/lib
          NO_DEFAULT_PATH)
mark_as_advanced(TILEWRIGHT_CUDA_INCLUDE TILEWRIGHT_NVRTC_LIBRARY)

if(NOT TILEWRIGHT_CUDA_INCLUDE)
  message(FATAL_ERROR
    "Tilewright needs the header cuda.h. Either install a CUDA toolkit (12.8 or newer) and set CUDA_PATH, or\n"
    "  python3 -m pip install --no-deps --target ${PROJECT_BINARY_DIR}/cuda ${TILEWRIGHT_CUDA_WHEELS}\n"
    "and configure again (this is what `./run build` does).")
endif()
set(TILEWRIGHT_NVRTC_DIR "")
if(TILEWRIGHT_NVRTC_LIBRARY)
  get_filename_component(TILEWRIGHT_NVRTC_DIR ${TILEWRIGHT_NVRTC_LIBRARY} DIRECTORY)
else()
  message(STATUS "NVRTC not found: kernels run in the interpreter until it is installed "
                 "(python3 -m pip install nvidia-cuda-nvrtc)")
endif()
message(STATUS "CUDA headers: ${TILEWRIGHT_CUDA_INCLUDE}; NVRTC: ${TILEWRIGHT_NVRTC_LIBRARY}")
