// A user's library of kernels, for --load.
#include <tilewright/tilewright.h>

namespace tw = tilewright;

namespace {

auto scale = tw::kernel("scale", [](tw::Tensor x, tw::Scalar<float> factor) {
  tw::Tensor y = tw::empty_like(x);
  for (auto i : tw::tile(x.size(0))) {
    y[i] = x[i] * factor;
  }
  return y;
});

auto apply = tw::kernel("apply", [](tw::Tensor x, tw::Fn<tw::Tile(tw::Tile)> function) {
  tw::Tensor y = tw::empty_like(x);
  for (auto i : tw::tile(x.size(0))) {
    y[i] = function(x[i]);
  }
  return y;
});

// Its result depends on the tile size, which no kernel's should.
auto tile_numbers = tw::kernel("tile_numbers", [](tw::Tensor x) {
  tw::Tensor y = tw::empty_like(x);
  for (auto i : tw::tile(x.size(0))) {
    y[i] = x[i] * 0 + i.id();
  }
  return y;
});

// Wants other data than random, but makes too little of it.
auto picky = [] {
  auto made = tw::kernel("picky", [](tw::Tensor x) {
    tw::Tensor y = tw::empty_like(x);
    for (auto i : tw::tile(x.size(0))) {
      y[i] = x[i];
    }
    return y;
  });
  made.tune_inputs([](std::span<const tw::TensorSpec> specs) {
    std::vector<tw::Array> arrays;
    arrays.push_back(tw::Array::zeros(tw::Device::cpu(), {specs[0].sizes[0] - 1}, specs[0].dtype));
    return arrays;
  });
  return made;
}();

const tw::RegisterKernel registered[] = {tw::RegisterKernel(scale), tw::RegisterKernel(apply),
                                         tw::RegisterKernel(tile_numbers),
                                         tw::RegisterKernel(picky)};

}  // namespace
