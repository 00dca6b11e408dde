// Contents of the example rows, and the parts of their calls that the interpreter can do again
// where cutting along an axis would not give a call. Offsets, numbers and lengths are i64.
#pragma once

#include "bench/example_row.h"

namespace tilewright::bench {

/// count numbers in ascending order, from 0 to below limit.
Array ascending(int64_t count, int64_t limit);
/// 0 and the running sum of lengths.
Array offsets_of(const std::vector<int64_t>& lengths);
/// Bounds of sequences of random lengths, `total` together.
Array random_offsets(int64_t sequences, int64_t total);
/// f32: `rows` times `length` running sums of small negative steps.
Array falling(int64_t rows, int64_t length);

std::vector<RowSample> no_samples(const RowMemory& memory);
/// The beginnings of all four quarters, as one call with quarters of that length: of a kernel whose
/// results depend on the position in a quarter.
std::vector<RowSample> beginning_of_quarters(const RowMemory& memory);
std::vector<RowSample> tokens_of_embedding(const RowMemory& memory);
std::vector<RowSample> first_segments(const RowMemory& memory);
/// Of tensors (rows, .., offsets at position `offsets`), groups as calls with one group each.
/// `matrices` and `bias` are the positions of tensors with one slice for each group, or -1.
std::vector<RowSample> rows_of_groups(const RowMemory& memory, int matrices, int offsets, int bias);
/// The first token of a mixture of experts.
std::vector<RowSample> one_token(const RowMemory& memory);

/// Compares a sum of all elements.
Verdict total_is_right(const RowMemory& memory, const DeviceKernels& kernels);
/// Compares some columns of the gradients of a norm's weights (and bias), which are sums over rows.
Verdict column_sums_are_right(const RowMemory& memory, bool layer, const DeviceKernels& kernels);

}  // namespace tilewright::bench
