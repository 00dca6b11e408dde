// The first thing to run: a product of two matrices whose sizes no tile divides, checked, timed and
// compiled. `demo FOLDER` leaves the generated CUDA there; else in the current folder.
#include <chrono>
#include <fstream>
#include <sstream>

#include "check.h"
#include "kernels/matmul.h"

namespace {

namespace tw = tilewright;

constexpr int64_t kM = 1000, kK = 999, kN = 1001;

// Milliseconds of one launch, the best of a few.
double time_of(const tw::TensorView& a, const tw::TensorView& b, const tw::Array& c) {
  double best = 1e30;
  for (int i = 0; i < (c.device().is_cuda() ? 20 : 1); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    examples::matmul.launch({.out = {c}}, a, b);
    tw::synchronize(c.device());
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

// The kernel itself: from its signature on, the first lines.
std::string piece_of(const std::string& cuda, int lines) {
  std::istringstream text(cuda.substr(std::min(cuda.find("extern \"C\" __global__"), cuda.size())));
  std::string piece, line;
  for (int i = 0; i < lines && std::getline(text, line); ++i) piece += "    " + line + "\n";
  return piece + (text.eof() ? "" : "    ...\n");
}

// Writes down the generated CUDA and compiles it, which needs no GPU. False when that fails.
bool show_cuda(const tw::TensorSpec& a, const tw::TensorSpec& b, const std::string& folder) {
  const auto compiled = examples::matmul.compile({a, b});
  const std::string path = folder + "/matmul.cu";
  std::ofstream(path) << compiled.cuda();
  fmt::print("\nThe generated CUDA is in {}. It begins:\n\n{}\n", path,
             piece_of(compiled.cuda(), 40));
  try {
    const size_t bytes = compiled.cubin().size();
    fmt::print("NVRTC compiles it to {} bytes of machine code: {} registers, {} bytes spilled.\n",
               bytes, compiled.resources().registers, compiled.resources().spill_bytes);
  } catch (const tw::Error& error) {
    fmt::print("It was not compiled: {}\n", error.what());
    return error.code() == tw::ErrorCode::missing_library;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const tw::Device device = tw::default_device();
  const std::vector<float> a = examples::random_values(kM * kK, 1);
  const std::vector<float> b = examples::random_values(kK * kN, 2);
  const tw::Array a_array = tw::Array::from_host(a, {kM, kK}, device);
  const tw::Array b_array = tw::Array::from_host(b, {kK, kN}, device);
  fmt::print(
      "C = A.B in f32: {}x{} by {}x{}, on {}\n", kM, kK, kK, kN,
      device.is_cpu() ? "the CPU, by the interpreter (there is no GPU to use)" : to_string(device));

  const tw::Array c = examples::matmul(a_array, b_array);
  examples::Check check;
  check.compare("compared with a product in double, the result", c,
                examples::product(
                    kM, kK, kN, [&](auto i, auto l) { return a[i * kK + l]; },
                    [&](auto l, auto j) { return b[l * kN + j]; }));
  const double ms = time_of(a_array, b_array, c);
  fmt::print("one product takes {:.3g} ms: {:.4g} GFLOP/s\n", ms, 2e-6 * kM * kK * kN / ms);

  const bool compiled = show_cuda(a_array.spec(), b_array.spec(), argc > 1 ? argv[1] : ".");
  return compiled ? check.exit_code() : 1;
}
