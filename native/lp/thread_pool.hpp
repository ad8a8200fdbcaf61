// Threads that help their caller with one job at a time, wait a moment for the next one, and then sleep.
//
// A job takes its work from a counter of its own, so that it is complete whoever takes part: the caller alone is
// enough. That is what happens while another thread uses the pool, and in the child of a fork, which has no
// threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace cobre::lp {

class ThreadPool {
public:
    // The caller counts as one of `threads`.
    explicit ThreadPool(std::size_t threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    std::size_t threads() const noexcept { return threads_; }

    // Calls job(0) here and job(1), job(2), ... in the other threads; returns when all have returned. What the
    // caller has to look at while it waits for them, such as signals, it does in `look`, whenever another thread
    // calls `wake_caller`. A job that throws ends the process, and so does `look`.
    void run(const std::function<void(std::size_t)>& job, const std::function<void()>& look);
    // For the other threads.
    void wake_caller() noexcept;

private:
    struct Helpers;

    const std::size_t threads_;
    const int process_;
    std::mutex busy_;
    std::unique_ptr<Helpers> helpers_;
};

}  // namespace cobre::lp
