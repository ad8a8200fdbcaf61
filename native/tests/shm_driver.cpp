// Ranks as threads over one mapping, so that a sanitizer sees every access of all of them: each collective, over
// lengths around every internal limit, over all kinds of elements, contents verified.
//
//   shm_driver [rounds of random calls per group [ranks of the largest group]]
//
// Under ThreadSanitizer nearly all of the time goes into making and comparing contents, not into waiting. So
// payloads are no longer than it takes to fill a ring, and only a group of two ranks has rings of the usual size.
#include <algorithm>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "comm/fold.hpp"
#include "shm/communicator.hpp"
#include "shm/registration.hpp"
#include "shm/segment.hpp"

namespace {

using namespace cobre;
using Bytes = std::vector<std::byte>;

class Quiet final : public comm::Caller {};

[[noreturn]] void give_up(const char* what, int rank, int size, std::size_t count) {
    std::fprintf(stderr, "wrong result: %s on rank %d of %d, %zu elements\n", what, rank, size, count);
    std::exit(1);
}

// Random words that every contribution is copied from: under ThreadSanitizer, drawing new ones for each call takes
// longer than the call. They are written before the ranks start and only read by them, so they order nothing
// between ranks. Their number is prime, so that a chunk copied to the wrong place does not find the same words
// there again.
const std::vector<std::uint64_t> random_words = [] {
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> words(100'003);
    for (std::uint64_t& word : words) word = random() & 0x3F3F3F3F3F3F3F3FULL;  // no NaN in any floating type
    return words;
}();

// A rank's contribution to step `step`, the same wherever it is computed. Each begins at another word.
Bytes contribution(int rank, std::uint64_t step, std::size_t bytes) {
    const auto words = std::as_bytes(std::span(random_words));
    std::size_t at = (step * 64 + static_cast<std::uint64_t>(rank)) * 37'813 % random_words.size() * 8;
    Bytes data;
    data.reserve(bytes);
    while (data.size() < bytes) {
        const auto part = words.subspan(at, std::min(bytes - data.size(), words.size() - at));
        data.insert(data.end(), part.begin(), part.end());
        at = 0;
    }
    return data;
}

// By memcmp, which ThreadSanitizer checks once for the whole range: == on Bytes is checked for each byte.
bool are_equal(const std::byte* data, const Bytes& expected) {
    return expected.empty() || std::memcmp(data, expected.data(), expected.size()) == 0;
}

comm::Buffer over(Bytes& data, const comm::DType& dtype) {
    return {data.data(), static_cast<std::int64_t>(data.size() / dtype.itemsize), dtype, false};
}

const std::vector<comm::DType> dtypes = {{comm::Kind::floating, false, 8},     {comm::Kind::signed_int, false, 1},
                                         {comm::Kind::unsigned_int, false, 4}, {comm::Kind::floating, false, 2},
                                         {comm::Kind::complex, false, 16},     {comm::Kind::boolean, false, 1}};

// What one rank does; every rank draws the same calls from the same seed.
class Rank {
public:
    Rank(shm::Communicator& communicator, std::uint64_t seed)
        : communicator_(communicator), group_(communicator.group()), random_(seed) {}

    void gather(const comm::DType& dtype, std::size_t count, bool in_place) {
        std::vector<std::int64_t> counts;
        for (int r = 0; r < group_.size; ++r)
            counts.push_back(static_cast<std::int64_t>(r % 3 == 2 ? 0 : count + static_cast<std::size_t>(r)));
        gather_parts(dtype, counts, in_place);
    }

    // One rank contributes much more than the others, some of which contribute nothing.
    void gather_unevenly(std::size_t count, int heavy) {
        std::vector<std::int64_t> counts;
        for (int r = 0; r < group_.size; ++r) {
            const std::size_t few = r % 3 == 0 ? 0 : r % 3 == 1 ? 1 : count / 7;
            counts.push_back(static_cast<std::int64_t>(r == heavy ? count : few));
        }
        gather_parts(dtypes[0], counts, heavy % 2 == 1);
    }
    void reduce(const comm::DType& dtype, std::size_t count, comm::ReduceOp op, bool in_place) {
        ++step_;
        std::vector<Bytes> inputs;
        std::vector<const std::byte*> rows;
        for (int r = 0; r < group_.size; ++r) inputs.push_back(contribution(r, step_, count * dtype.itemsize));
        for (const Bytes& input : inputs) rows.push_back(input.data());
        Bytes expected(count * dtype.itemsize);
        comm::fold_in_rank_order(rows, count, dtype, op, expected.data());
        Bytes send = inputs[static_cast<std::size_t>(group_.rank)];
        Bytes recv(in_place ? 0 : send.size());
        communicator_.allreduce(over(send, dtype), over(in_place ? send : recv, dtype), op, quiet_);
        if (!are_equal((in_place ? send : recv).data(), expected))
            give_up("allreduce", group_.rank, group_.size, count);
    }

    void broadcast(const comm::DType& dtype, std::size_t count, int root) {
        ++step_;
        const Bytes expected = contribution(root, step_, count * dtype.itemsize);
        Bytes buf = group_.rank == root ? expected : Bytes(expected.size());
        communicator_.broadcast(over(buf, dtype), root, quiet_);
        if (!are_equal(buf.data(), expected)) give_up("broadcast", group_.rank, group_.size, count);
    }

    // The result of each collective left in a region that all ranks share.
    void share(std::size_t count) {
        const comm::DType dtype = dtypes[0];
        const auto size = static_cast<std::size_t>(group_.size);
        const shm::Region region = communicator_.create_region(count * size, dtype, {}, quiet_);
        const comm::Buffer whole{region.memory->data(), static_cast<std::int64_t>(count * size), dtype, false};
        std::vector<std::int64_t> counts(size, static_cast<std::int64_t>(count));
        std::vector<std::int64_t> displs;
        for (std::size_t r = 0; r < size; ++r) displs.push_back(static_cast<std::int64_t>(r * count));
        for (int round = 0; round < 3; ++round) {
            ++step_;
            Bytes expected;
            for (int r = 0; r < group_.size; ++r) {
                const Bytes part = contribution(r, step_, count * dtype.itemsize);
                expected.insert(expected.end(), part.begin(), part.end());
            }
            Bytes send = contribution(group_.rank, step_, count * dtype.itemsize);
            communicator_.allgatherv(over(send, dtype), whole, {counts, displs}, quiet_);
            if (!are_equal(whole.data, expected))
                give_up("allgatherv in a region", group_.rank, group_.size, count);
            communicator_.fence(region.id, quiet_);
            reduce_into(whole, count);
        }
    }

    void random_call() {
        const std::size_t count = std::uniform_int_distribution<std::size_t>(1, 3000)(random_);
        const comm::DType dtype = dtypes[random_() % dtypes.size()];
        const int root = static_cast<int>(random_() % static_cast<std::uint64_t>(group_.size));
        const bool in_place = random_() % 2 == 0;
        switch (random_() % 5) {
            case 0: return communicator_.barrier(quiet_);
            case 1: return gather(dtype, count % 700, in_place);
            case 2: return broadcast(dtype, count, root);
            case 3: return reduce(dtype, 1 + count % 6, comm::ReduceOp::sum, in_place);
            default: return reduce(dtype, count, comm::ReduceOp::sum, in_place);
        }
    }

private:
    void gather_parts(const comm::DType& dtype, const std::vector<std::int64_t>& counts, bool in_place) {
        ++step_;
        std::vector<std::int64_t> displs;
        std::int64_t end = 1;  // a gap in front and between
        for (const std::int64_t count : counts) {
            displs.push_back(end);
            end += count + 1;
        }
        Bytes recv(static_cast<std::size_t>(end) * dtype.itemsize, std::byte{0xEE});
        Bytes expected = recv;
        for (int r = 0; r < group_.size; ++r) {
            const auto at = static_cast<std::size_t>(r);
            const Bytes part = contribution(r, step_, static_cast<std::size_t>(counts[at]) * dtype.itemsize);
            if (!part.empty())
                std::memcpy(expected.data() + static_cast<std::size_t>(displs[at]) * dtype.itemsize, part.data(),
                            part.size());
        }
        const auto me = static_cast<std::size_t>(group_.rank);
        Bytes send = contribution(group_.rank, step_, static_cast<std::size_t>(counts[me]) * dtype.itemsize);
        comm::Buffer from = over(send, dtype);
        if (in_place) {
            from.data = recv.data() + static_cast<std::size_t>(displs[me]) * dtype.itemsize;
            if (!send.empty()) std::memcpy(from.data, send.data(), send.size());
        }
        communicator_.allgatherv(from, over(recv, dtype), {counts, displs}, quiet_);
        if (!are_equal(recv.data(), expected)) give_up("allgatherv", group_.rank, group_.size, recv.size());
    }

    void reduce_into(comm::Buffer region, std::size_t count) {
        ++step_;
        region.count = static_cast<std::int64_t>(count);
        std::vector<Bytes> inputs;
        std::vector<const std::byte*> rows;
        for (int r = 0; r < group_.size; ++r)
            inputs.push_back(contribution(r, step_, count * region.dtype.itemsize));
        for (const Bytes& input : inputs) rows.push_back(input.data());
        Bytes expected(count * region.dtype.itemsize);
        comm::fold_in_rank_order(rows, count, region.dtype, comm::ReduceOp::sum, expected.data());
        Bytes send = inputs[static_cast<std::size_t>(group_.rank)];
        communicator_.allreduce(over(send, region.dtype), region, comm::ReduceOp::sum, quiet_);
        if (!are_equal(region.data, expected)) give_up("allreduce in a region", group_.rank, group_.size, count);
        communicator_.barrier(quiet_);  // before anybody writes there again
    }

    shm::Communicator& communicator_;
    comm::Group group_;
    std::mt19937_64 random_;
    std::uint64_t step_ = 0;
    Quiet quiet_;
};

// Long enough for the copies by vector code, a 32nd of the usual. With longer chunks only lengths just past each
// limit are tried.
constexpr std::size_t long_chunk = 4096;

// How many cores the ranks assume: those of this machine, or one for each.
enum class Cores { real, plenty };

void run_rank(const std::shared_ptr<shm::Mapping>& segment, comm::Group group, const shm::Limits& limits,
              Cores cores, std::barrier<>& all_joined, int rounds) {
    Quiet quiet;
    const shm::Layout layout(segment->data());
    shm::register_rank(layout, group);
    shm::await_all(layout, "of the driver", group, comm::Deadline(60.0), quiet);
    if (cores == Cores::plenty) {
        all_joined.arrive_and_wait();  // whoever still looked for others has found them
        shm::RankEntry& entry = layout.entry(group.rank);
        std::memset(static_cast<void*>(&entry.cpus), 0xFF, sizeof entry.cpus);
        entry.cpu_quota = shm::largest_group;
        all_joined.arrive_and_wait();
    }
    shm::Communicator communicator(segment, group, 60.0, shm::PackedCall(comm::Call::of(comm::Verb::attach)),
                                   shm::TimeLimit::of_call(60.0), quiet);
    Rank rank(communicator, static_cast<std::uint64_t>(group.size));
    const std::size_t chunk = limits.chunk_bytes;
    std::vector<std::size_t> lengths = {1, 2, 5, 6, 7, 97};
    const std::size_t ring = limits.ring_bytes;
    for (const std::size_t bytes : {chunk, ring, std::min(3 * ring, ring + 4 * chunk)})
        for (const std::size_t count : {bytes / 8 - 1, bytes / 8, bytes / 8 + 1})
            if (chunk <= long_chunk || count * 8 > bytes) lengths.push_back(count);
    for (const std::size_t count : lengths) {
        for (const bool in_place : {false, true}) {
            rank.gather(dtypes[0], count, in_place);
            rank.reduce(dtypes[0], count, comm::ReduceOp::sum, in_place);
        }
        for (int root = 0; root < group.size; ++root) rank.broadcast(dtypes[0], count, root);
        if (chunk <= long_chunk)
            for (const int heavy : {0, group.size - 1}) rank.gather_unevenly(count, heavy);
        rank.share(count);
    }
    for (const comm::DType& dtype : dtypes) {
        rank.reduce(dtype, 331, comm::ReduceOp::sum, false);
        if (dtype.kind != comm::Kind::complex) rank.reduce(dtype, 331, comm::ReduceOp::max, true);
    }
    for (int i = 0; i < rounds; ++i) rank.random_call();
}

void run_group(int size, shm::Limits limits, int rounds, Cores cores = Cores::real) {
    limits = shm::sane(limits, size);
    const auto segment = shm::make_private_segment(size, limits);
    std::vector<std::thread> threads;
    std::barrier<> all_joined(size);
    for (int rank = 0; rank < size; ++rank)
        threads.emplace_back([&, rank] {
            try {
                run_rank(segment, {rank, size}, limits, cores, all_joined, rounds);
            } catch (const std::exception& error) {
                std::fprintf(stderr, "rank %d of %d: %s\n", rank, size, error.what());
                std::exit(1);
            }
        });
    for (std::thread& thread : threads) thread.join();
    std::printf("%d ranks, chunks of %llu bytes: every result right\n", size,
                static_cast<unsigned long long>(limits.chunk_bytes));
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    const int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
    const int largest = argc > 2 ? std::atoi(argv[2]) : 8;
    for (const int size : {1, 2, 3, 4, 8}) {
        if (size > largest) break;
        run_group(size, {.chunk_bytes = 64, .ring_bytes = 64, .slice_bytes = 128, .vm_read_bytes = 4096}, rounds);
        run_group(size, {.chunk_bytes = 1000, .ring_bytes = 3000, .inline_bytes = 8, .slice_bytes = 1}, rounds);
        run_group(
            size,
            {.chunk_bytes = long_chunk, .ring_bytes = 8 * long_chunk, .slice_bytes = 1024, .vm_read_bytes = 8192},
            rounds);
        if (size == 2) run_group(size, {}, rounds);
        for (const std::uint64_t chunks : {4U, 16U})  // fewer and more than a writer likes to be ahead
            run_group(size, {.chunk_bytes = 64, .ring_bytes = 64 * chunks, .slice_bytes = 128}, rounds,
                      Cores::plenty);
    }
    return 0;
}
