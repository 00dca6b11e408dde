#include "bench/peers.h"

#include <fmt/format.h>

#include <stdexcept>

#ifdef BENCH_CUBLAS_ROOT

#include <cublasLt.h>

#include <array>
#include <cstdlib>
#include <utility>
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
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;

  bool find_all() {
    return library.find("cublasLtGetVersion", version) && library.find("cublasLtCreate", create) &&
           library.find("cublasLtMatmul", multiply) &&
           library.find("cublasLtMatmulAlgoGetHeuristic", heuristic) &&
           library.find("cublasLtMatmulDescCreate", desc_create) &&
           library.find("cublasLtMatmulDescDestroy", desc_destroy) &&
           library.find("cublasLtMatmulDescSetAttribute", desc_set) &&
           library.find("cublasLtMatrixLayoutCreate", layout_create) &&
           library.find("cublasLtMatrixLayoutDestroy", layout_destroy) &&
           library.find("cublasLtMatrixLayoutSetAttribute", layout_set) &&
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
  bool whole = false;  ///< factors are integers
  std::vector<cublasLtMatmulHeuristicResult_t> algorithms;
  Array workspace{Device::cuda(0), {static_cast<int64_t>(kWorkspaceBytes)}, DType::u8};

  ~State() {
    const Library& lt = library();
    for (cublasLtMatrixLayout_t layout : {a, b, c})
      if (layout != nullptr) lt.layout_destroy(layout);
    if (desc != nullptr) lt.desc_destroy(desc);
  }
};

namespace {

cudaDataType_t data_type(DType dtype) {
  constexpr std::pair<DType, cudaDataType_t> types[] = {
      {DType::f32, CUDA_R_32F}, {DType::f16, CUDA_R_16F}, {DType::bf16, CUDA_R_16BF},
      {DType::i8, CUDA_R_8I},   {DType::i32, CUDA_R_32I}, {DType::f8e4m3, CUDA_R_8F_E4M3},
  };
  for (const auto& [ours, theirs] : types)
    if (ours == dtype) return theirs;
  throw std::runtime_error(fmt::format("cuBLASLt is not asked for {}", to_string(dtype)));
}

cublasComputeType_t compute_type(const ProductSpec& spec) {
  if (spec.input == DType::i8) return CUBLAS_COMPUTE_32I;
  if (spec.input != DType::f32) return CUBLAS_COMPUTE_32F;
  return spec.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F_PEDANTIC;
}

// The layout of a row-major matrix, which is the library's column-major one transposed.
cublasLtMatrixLayout_t layout(const ProductSpec& spec, DType dtype, int64_t rows, int64_t columns) {
  const Library& lt = library();
  cublasLtMatrixLayout_t made = nullptr;
  check(lt.layout_create(&made, data_type(dtype), static_cast<uint64_t>(columns),
                         static_cast<uint64_t>(rows), columns),
        "cublasLtMatrixLayoutCreate");
  if (spec.batch == 1) return made;
  const auto count = static_cast<int32_t>(spec.batch);
  const int64_t distance = rows * columns;
  check(lt.layout_set(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
        "cublasLtMatrixLayoutSetAttribute");
  check(
      lt.layout_set(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &distance, sizeof distance),
      "cublasLtMatrixLayoutSetAttribute");
  return made;
}

// The library computes c' = b' . a', so that its first operand is b.
cublasLtMatmulDesc_t describe(const ProductSpec& spec) {
  const Library& lt = library();
  cublasLtMatmulDesc_t desc = nullptr;
  check(
      lt.desc_create(&desc, compute_type(spec), spec.input == DType::i8 ? CUDA_R_32I : CUDA_R_32F),
      "cublasLtMatmulDescCreate");
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check(lt.desc_set(desc, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  };
  const auto operation = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(CUBLASLT_MATMUL_DESC_TRANSA, operation(spec.b_transposed));
  set(CUBLASLT_MATMUL_DESC_TRANSB, operation(spec.a_transposed));
  if (spec.fast_accumulation) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1});
  return desc;
}

}  // namespace

MatrixProduct::MatrixProduct(const ProductSpec& spec) : state_(std::make_unique<State>()) {
  const Library& lt = library();
  if (!lt.problem.empty()) throw std::runtime_error(lt.problem);
  State& state = *state_;
  state.whole = spec.input == DType::i8;
  state.desc = describe(spec);
  const auto operand = [&](int64_t rows, int64_t columns, bool transposed) {
    return transposed ? layout(spec, spec.input, columns, rows)
                      : layout(spec, spec.input, rows, columns);
  };
  state.a = operand(spec.m, spec.k, spec.a_transposed);
  state.b = operand(spec.k, spec.n, spec.b_transposed);
  state.c = layout(spec, spec.output, spec.m, spec.n);

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
  const float one = 1, zero = 0;
  const int32_t whole_one = 1, whole_zero = 0;
  const void* alpha = state.whole ? static_cast<const void*>(&whole_one) : &one;
  const void* beta = state.whole ? static_cast<const void*>(&whole_zero) : &zero;
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

MatrixProduct::MatrixProduct(const ProductSpec&) { throw std::runtime_error(cublas_problem()); }
MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;
MatrixProduct::~MatrixProduct() = default;
int MatrixProduct::algorithms() const { return 0; }
void MatrixProduct::enqueue(int, const void*, const void*, void*, const Stream&) const {}

}  // namespace tilewright::bench

#endif
