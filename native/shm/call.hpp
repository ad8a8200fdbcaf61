// What a rank calls, packed so that comparing two calls costs two comparisons of words that are polled anyway.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "comm/arguments.hpp"

namespace cobre::shm {

enum class Verb : std::uint8_t {
    barrier,
    allgatherv,
    allreduce,
    broadcast,
    create_region,
    fence,
    split_local,
    attach
};

const char* name_of(Verb verb) noexcept;

class Call {
public:
    // Said about this step besides the signature; ranks may differ in these.
    static constexpr std::uint32_t is_inline = 1U << 29;  // the payload is in the slot
    static constexpr std::uint32_t is_placed = 1U << 30;  // the result lies in a shared region
    static constexpr std::uint32_t is_ready = 1U << 31;   // nothing of mine needs copying / my step went well
    static constexpr std::uint32_t signature = (1U << 29) - 1;

    static Call barrier() noexcept { return Call(Verb::barrier); }
    static Call attach() noexcept { return Call(Verb::attach); }
    static Call split_local() noexcept { return Call(Verb::split_local); }
    static Call fence(std::uint64_t region) noexcept;
    static Call create_region(std::uint64_t count, const comm::DType& dtype) noexcept;
    static Call allreduce(const comm::Buffer& send, comm::ReduceOp op) noexcept;
    static Call broadcast(const comm::Buffer& buf, int root) noexcept;
    static Call allgatherv(const comm::Buffer& send, std::span<const std::int64_t> counts) noexcept;

    Verb verb() const noexcept { return verb_; }
    std::uint32_t bits() const noexcept { return bits_; }
    std::uint64_t detail() const noexcept { return detail_; }

    // "allreduce(sum, 4 x float64)"
    std::string describe() const;
    // The same from the two words alone; counts of an allgatherv are not in them.
    static std::string describe(std::uint32_t bits, std::uint64_t detail);

private:
    explicit Call(Verb verb) noexcept : verb_(verb), bits_(static_cast<std::uint32_t>(verb)) {}
    void set_dtype(const comm::DType& dtype) noexcept;
    void set_count(const comm::DType& dtype, std::uint64_t count) noexcept;

    Verb verb_;
    std::uint32_t bits_;
    std::uint64_t detail_ = 0;
    std::uint64_t count_ = 0;
    comm::DType dtype_;
    std::span<const std::int64_t> counts_;
};

}  // namespace cobre::shm
