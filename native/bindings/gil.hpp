// Releasing the GIL and taking it back, also while Python ends.
//
// Python makes a thread exit that wants the GIL once it has begun to end. That unwinds the thread's frames, C++
// ones included, and aborts the whole process where one of them cannot be unwound, after all its work was done. So
// from the last exit handlers on only the thread that ends Python takes the GIL; daemon threads that come back
// from a call wait for the end of the process.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace cobre::bindings {

class Gil {
public:
    static void take_back(PyThreadState* state) {
        const Taking taking;
        PyEval_RestoreThread(state);
    }
    static PyGILState_STATE take() {
        const Taking taking;
        return PyGILState_Ensure();
    }

    // To be called by an exit handler: who is about to take the GIL gets it first.
    static void begin_end() {
        ending_thread_ = std::this_thread::get_id();
        is_ending_.store(true);
        for (int i = 0; i < 200 && takers_.load() != 0; ++i) {
            const nanobind::gil_scoped_release released;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

private:
    // Sequentially consistent, both: a taker sees that Python ends, or the end sees the taker.
    class Taking {
    public:
        Taking() {
            takers_.fetch_add(1);
            if (is_ending_.load() && std::this_thread::get_id() != ending_thread_) [[unlikely]]
                wait_for_the_end();
        }
        ~Taking() { takers_.fetch_sub(1); }
        Taking(const Taking&) = delete;
        Taking& operator=(const Taking&) = delete;
    };

    [[noreturn]] static void wait_for_the_end() {
        takers_.fetch_sub(1);
        for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }

    inline static std::atomic<int> takers_ = 0;
    inline static std::atomic<bool> is_ending_ = false;
    inline static std::thread::id ending_thread_;
};

// Releases the GIL for as long as the object exists.
class WithoutGil {
public:
    WithoutGil() : state_(PyEval_SaveThread()) {}
    ~WithoutGil() { Gil::take_back(state_); }
    WithoutGil(const WithoutGil&) = delete;
    WithoutGil& operator=(const WithoutGil&) = delete;

private:
    PyThreadState* state_;
};

// Inside a `WithoutGil`: takes the GIL again for as long as the object exists.
class WithGil {
public:
    WithGil() : state_(Gil::take()) {}
    ~WithGil() { PyGILState_Release(state_); }
    WithGil(const WithGil&) = delete;
    WithGil& operator=(const WithGil&) = delete;

private:
    PyGILState_STATE state_;
};

}  // namespace cobre::bindings
