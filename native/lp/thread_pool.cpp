#include "lp/thread_pool.hpp"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "lp/stop_watch.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace cobre::lp {

namespace {

// Signals are the main thread's: Python looks at them there.
class SignalsHeld {
public:
    SignalsHeld() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsHeld(const SignalsHeld&) = delete;
    SignalsHeld& operator=(const SignalsHeld&) = delete;

private:
    sigset_t before_{};
};

// Between two steps of a pass some 20 us go by. To wake a thread that sleeps takes longer.
constexpr std::int64_t spin_ns = 100'000;

void pause() noexcept {
#if defined(__x86_64__)
    _mm_pause();
#else
    std::this_thread::yield();
#endif
}

// Whether each thread can have a processor of its own: otherwise one that spins keeps another from its work.
bool has_processors_for(std::size_t threads) noexcept {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 &&
           static_cast<std::size_t>(CPU_COUNT(&allowed)) >= threads;
}

}  // namespace

struct ThreadPool::Helpers {
    explicit Helpers(std::size_t count) : is_spinning(has_processors_for(count + 1)) {
        const SignalsHeld held;
        try {
            for (std::size_t k = 0; k < count; ++k) threads.emplace_back([this, k] { serve(k + 1); });
        } catch (...) {
            stop();
            throw;
        }
    }

    void serve(std::size_t number) {
        std::uint32_t seen = 0;
        for (;;) {
            // Pairs with the release in `begin` and `stop`: the job, or the end, is visible once the round is.
            spin_while([&] { return round.load(std::memory_order_acquire) == seen; });
            round.wait(seen, std::memory_order_acquire);
            seen = round.load(std::memory_order_acquire);
            if (is_ending.load(std::memory_order_relaxed)) return;
            (*job)(number);
            // Pairs with the acquire in `finish`: what the job wrote is visible to the caller.
            if (working.fetch_sub(1, std::memory_order_release) == 1) wake_caller();
        }
    }

    void begin(const std::function<void(std::size_t)>& work) {
        job = &work;
        working.store(static_cast<std::uint32_t>(threads.size()), std::memory_order_relaxed);
        round.fetch_add(1, std::memory_order_release);
        round.notify_all();
    }

    // Gives up after a while: then it is time to sleep.
    template <class Condition>
    void spin_while(Condition&& is_to_wait) const noexcept {
        if (!is_spinning) return;
        for (const std::int64_t end = now_ns() + spin_ns; now_ns() < end;) {
            for (int k = 0; k < 16; ++k) {
                if (!is_to_wait()) return;
                pause();
            }
            std::this_thread::yield();  // to whoever has work
        }
    }

    void finish(const std::function<void()>& look) {
        spin_while([&] { return working.load(std::memory_order_acquire) != 0; });
        for (;;) {
            const std::uint32_t seen = news.load(std::memory_order_acquire);
            if (working.load(std::memory_order_acquire) == 0) return;
            news.wait(seen, std::memory_order_acquire);
            if (working.load(std::memory_order_acquire) != 0) look();
        }
    }

    void wake_caller() noexcept {
        news.fetch_add(1, std::memory_order_release);
        news.notify_one();
    }

    void stop() {
        is_ending.store(true, std::memory_order_relaxed);
        round.fetch_add(1, std::memory_order_release);
        round.notify_all();
        for (std::thread& thread : threads) thread.join();
    }

    const bool is_spinning;
    std::vector<std::thread> threads;
    const std::function<void(std::size_t)>* job = nullptr;
    std::atomic<std::uint32_t> round{0};
    std::atomic<std::uint32_t> working{0};
    std::atomic<std::uint32_t> news{0};  // grows when the caller is to look at `working` and at what it has to
    std::atomic<bool> is_ending{false};
};

ThreadPool::ThreadPool(std::size_t threads)
    : threads_(threads),
      process_(getpid()),
      helpers_(threads > 1 ? std::make_unique<Helpers>(threads - 1) : nullptr) {}

ThreadPool::~ThreadPool() {
    if (helpers_ == nullptr) return;
    if (getpid() == process_) helpers_->stop();
    else static_cast<void>(helpers_.release());  // a copy of threads that this process does not have
}

void ThreadPool::run(const std::function<void(std::size_t)>& job, const std::function<void()>& look) {
    if (helpers_ == nullptr || getpid() != process_ || !busy_.try_lock()) {
        job(0);
        return;
    }
    const std::lock_guard<std::mutex> turn(busy_, std::adopt_lock);
    helpers_->begin(job);
    job(0);
    helpers_->finish(look);
}

void ThreadPool::wake_caller() noexcept { helpers_->wake_caller(); }

}  // namespace cobre::lp
