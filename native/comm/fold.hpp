// Reductions in rank order, and what NaN, ties and overflow mean in them.
//
//   SUM   integers wrap, bool is "or", every floating step rounds to the element type. A NaN operand
//         stays, quiet; of two the lower rank's. inf - inf gives the machine's own NaN.
//   MIN   the lower rank's operand unless the other is smaller; the first NaN sticks, bit for bit.
//   MAX   likewise.
//
// Never pairwise: floating-point addition does not associate, and every rank, backend and run must
// agree in the last bit.
#pragma once

#include <cstddef>
#include <span>

#include "comm/arguments.hpp"

namespace cobre::comm {

// out[i] = op(... op(op(rows[0][i], rows[1][i]), rows[2][i]) ...), `count` elements of `dtype`.
// `dtype` and `op` have passed `check_allreduce`. Rows and `out` may be unaligned; `out` may be exactly
// one of the rows, and otherwise overlaps none.
// `around_cache` is for a result that the caches cannot keep, or that other cores read next: see copy.hpp.
void fold_in_rank_order(std::span<const std::byte* const> rows, std::size_t count, const DType& dtype, ReduceOp op,
                        std::byte* out, bool around_cache = false) noexcept;

}  // namespace cobre::comm
