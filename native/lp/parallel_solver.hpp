// Several solvers of one template that share the chains of a batch, one per thread, and one copy of the cuts.
//
// The unit of work is a block of consecutive solves of a chain: every block begins from the start basis of its
// chain. So a result depends on the template, the active cuts, the parameters of its block and that basis alone,
// to the last bit: not on the number of threads, nor on which of them took the block.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include "lp/solver.hpp"
#include "lp/thread_pool.hpp"

namespace cobre::lp {

class ParallelSolver {
public:
    // The others are siblings of `first`, made when first needed. Without a pool there is but one solver.
    ParallelSolver(std::unique_ptr<Solver> first, std::shared_ptr<ThreadPool> pool);

    // The solver whose program, as patched last, is that of the last solve of the batch, or of the one that
    // failed.
    const Solver& last() const noexcept { return *solvers_[last_]; }
    const CutPool& cuts() const noexcept { return solvers_[0]->cuts(); }
    Counters counters() const;                                                         // of all threads
    const Counters& own_counters() const noexcept { return solvers_[0]->counters(); }  // of the calling thread
    std::int64_t waiting_ns() const noexcept { return waiting_ns_; }  // of the calling thread for the others
    void reset_counters() noexcept;

    void append_cuts(std::span<const double> intercepts, std::span<const double> coefficients);
    void share_cuts(std::span<const double> rows);
    void set_active(std::span<const std::uint8_t> active);
    void clear_cuts();

    // Blocks have `block_length` solves, the last one of a chain maybe fewer. Of the solves without an optimum the
    // first one, in the order of the chains and of the solves in them, is told, and all before it are solved.
    Outcome solve(const BatchInput& input, std::size_t block_length, const BatchOutput& output,
                  const std::function<bool()>& is_interrupted);

    // For work that is shared out in another way (`follow_paths`): the pool, if there is one, the solver of each
    // of its threads, which thread solved last, and how long the caller waited.
    ThreadPool* pool() const noexcept { return pool_.get(); }
    Solver& solver_of(std::size_t thread);
    void set_last(std::size_t thread) noexcept {
        last_ = thread < solvers_.size() && solvers_[thread] != nullptr ? thread : 0;
    }
    void add_waiting(std::int64_t ns) noexcept { waiting_ns_ += ns; }

private:
    class Batch;

    std::shared_ptr<ThreadPool> pool_;
    std::vector<std::unique_ptr<Solver>> solvers_;  // by thread; one that was never needed is not there
    std::size_t last_ = 0;
    std::int64_t waiting_ns_ = 0;
};

}  // namespace cobre::lp
