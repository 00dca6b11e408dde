#include "bench/peers.h"

#include <fmt/format.h>

#include <stdexcept>

#ifdef BENCH_CUBLAS_ROOT

#include <cublasLt.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "tilewright/runtime/array.h"
#include "tilewright/runtime/shared_library.h"

namespace tilewright::bench {
namespace {

constexpr int kMostAlgorithms = 8;
constexpr size_t kWorkspaceBytes = 32 << 20;

struct Library {
  runtime::SharedLibrary library;
  std::string problem;
  cublasLtHandle_t handle = nullptr;
  decltype(&cublasLtGetVersion) version = nullptr;
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtMatmul) multiply = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;

  bool find_all() {
    return library.find("cublasLtGetVersion", version) && library.find("cublasLtCreate", create) &&
           library.find("cublasLtMatmul", multiply) &&
           library.find("cublasLtMatmulAlgoGetHeuristic", heuristic) &&
           library.find("cublasLtMatmulDescCreate", desc_create) &&
           library.find("cublasLtMatmulDescDestroy", desc_destroy) &&
           library.find("cublasLtMatrixLayoutCreate", layout_create) &&
           library.find("cublasLtMatrixLayoutDestroy", layout_destroy) &&
           library.find("cublasLtMatmulPreferenceCreate", preference_create) &&
           library.find("cublasLtMatmulPreferenceDestroy", preference_destroy) &&
           library.find("cublasLtMatmulPreferenceSetAttribute", preference_set);
  }
};

// Where the library may be: the loader's path first, then the CUDA folders, last where the header
// was.
std::vector<std::string> candidates() {
  const std::array names = {fmt::format("libcublasLt.so.{}", CUBLAS_VER_MAJOR),
                            std::string("libcublasLt.so")};
  std::vector<std::string> found(names.begin(), names.end());
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_PATH", "CUDA_HOME"})
    if (const char* root = std::getenv(variable)) roots.emplace_back(root);
  roots.emplace_back("/usr/local/cuda");
  roots.emplace_back(BENCH_CUBLAS_ROOT);
  for (const std::string& root : roots)
    for (const char* folder : {"lib64", "lib", "targets/x86_64-linux/lib"})
      for (const std::string& name : names)
        found.push_back(fmt::format("{}/{}/{}", root, folder, name));
  return found;
}

void open(Library& all) {
  std::string first_problem;
  for (const std::string& name : candidates()) {
    std::string problem;
    all.library = runtime::SharedLibrary::open(name, problem);
    if (all.library) break;
    if (first_problem.empty()) first_problem = problem;
  }
  if (!all.library)
    all.problem = "cuBLASLt was not found: " + first_problem;
  else if (!all.find_all())
    all.problem = all.library.path() + " lacks functions of cublasLt.h";
  else if (const cublasStatus_t code = all.create(&all.handle); code != CUBLAS_STATUS_SUCCESS)
    all.problem = fmt::format("cublasLtCreate failed with {}", static_cast<int>(code));
}

// Lives as long as the process: destroying its handle when the driver shuts down is not worth it.
Library& library() {
  static Library* all = [] {
    auto* made = new Library;
    open(*made);
    return made;
  }();
  return *all;
}

void check(cublasStatus_t code, const char* call) {
  if (code != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error(fmt::format("{} failed with {}", call, static_cast<int>(code)));
}

}  // namespace

const std::string& cublas_problem() { return library().problem; }

std::string cublas_version() {
  if (!cublas_problem().empty()) return {};
  const size_t version = library().version();  // 130002 for 13.0.2; 120800 for 12.8.0
  return fmt::format("cuBLASLt {}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

struct MatrixProduct::State {
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  DType dtype = DType::f32;
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms;
  Array workspace{Device::cuda(0), {static_cast<int64_t>(kWorkspaceBytes)}, DType::u8};

  ~State() {
    const Library& lt = library();
    for (cublasLtMatrixLayout_t layout : {a, b, c})
      if (layout != nullptr) lt.layout_destroy(layout);
    if (desc != nullptr) lt.desc_destroy(desc);
  }
};

// The library's matrices are column-major, so that it is asked for c' = b' . a'.
MatrixProduct::MatrixProduct(int64_t m, int64_t n, int64_t k, DType dtype)
    : state_(std::make_unique<State>()) {
  const Library& lt = library();
  if (!lt.problem.empty()) throw std::runtime_error(lt.problem);
  const bool wide = dtype == DType::f64;
  const cudaDataType_t type = wide ? CUDA_R_64F : CUDA_R_32F;
  State& state = *state_;
  state.dtype = dtype;
  check(lt.desc_create(&state.desc, wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F_PEDANTIC, type),
        "cublasLtMatmulDescCreate");
  const auto rows = [](int64_t x) { return static_cast<uint64_t>(x); };
  check(lt.layout_create(&state.a, type, rows(k), rows(m), k), "cublasLtMatrixLayoutCreate");
  check(lt.layout_create(&state.b, type, rows(n), rows(k), n), "cublasLtMatrixLayoutCreate");
  check(lt.layout_create(&state.c, type, rows(n), rows(m), n), "cublasLtMatrixLayoutCreate");

  cublasLtMatmulPreference_t preference = nullptr;
  check(lt.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  const std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, decltype(lt.preference_destroy)> owner(
      preference, lt.preference_destroy);
  check(lt.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspaceBytes,
                          sizeof kWorkspaceBytes),
        "cublasLtMatmulPreferenceSetAttribute");
  state.algorithms.resize(kMostAlgorithms);
  int found = 0;
  check(lt.heuristic(lt.handle, state.desc, state.b, state.a, state.c, state.c, preference,
                     kMostAlgorithms, state.algorithms.data(), &found),
        "cublasLtMatmulAlgoGetHeuristic");
  state.algorithms.resize(static_cast<size_t>(found));
  std::erase_if(state.algorithms,
                [](const auto& result) { return result.state != CUBLAS_STATUS_SUCCESS; });
  if (state.algorithms.empty()) throw std::runtime_error("cuBLASLt offers no algorithm");
}

MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;
MatrixProduct::~MatrixProduct() = default;

int MatrixProduct::algorithms() const { return static_cast<int>(state_->algorithms.size()); }

void MatrixProduct::enqueue(int algorithm, const void* a, const void* b, void* c,
                            const Stream& stream) const {
  const State& state = *state_;
  const float one_f32 = 1, zero_f32 = 0;
  const double one_f64 = 1, zero_f64 = 0;
  const bool wide = state.dtype == DType::f64;
  const void* alpha = wide ? static_cast<const void*>(&one_f64) : &one_f32;
  const void* beta = wide ? static_cast<const void*>(&zero_f64) : &zero_f32;
  const Library& lt = library();
  check(lt.multiply(lt.handle, state.desc, alpha, b, state.b, a, state.a, beta, c, state.c, c,
                    state.c, &state.algorithms.at(static_cast<size_t>(algorithm)).algo,
                    state.workspace.data(), kWorkspaceBytes,
                    reinterpret_cast<cudaStream_t>(stream.handle())),
        "cublasLtMatmul");
}

}  // namespace tilewright::bench

#else  // built without cublasLt.h

namespace tilewright::bench {

struct MatrixProduct::State {};

const std::string& cublas_problem() {
  static const std::string problem = "device_bench was built without cublasLt.h";
  return problem;
}
std::string cublas_version() { return {}; }

MatrixProduct::MatrixProduct(int64_t, int64_t, int64_t, DType) {
  throw std::runtime_error(cublas_problem());
}
MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;
MatrixProduct::~MatrixProduct() = default;
int MatrixProduct::algorithms() const { return 0; }
void MatrixProduct::enqueue(int, const void*, const void*, void*, const Stream&) const {}

}  // namespace tilewright::bench

#endif
