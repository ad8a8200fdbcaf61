// What a rank calls: compared between the ranks before data moves, and told to the user when ranks disagree.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "comm/arguments.hpp"

namespace cobre::comm {

// The numbers travel in frames of tcp (docs/guides/tcp-wire-protocol.md).
enum class Verb : std::uint8_t {
    barrier = 1,
    allgatherv,
    allreduce,
    broadcast,
    create_region,
    split_local,
    fence,
    attach
};

const char* name_of(Verb verb) noexcept;

struct Call {
    static constexpr std::uint64_t unknown = UINT64_MAX;

    // Those without a loop are inline: a call is made of every short collective.
    static Call of(Verb verb) noexcept {  // barrier, split_local, attach
        Call call;
        call.verb = verb;
        return call;
    }
    static Call allgatherv(const Buffer& send, std::span<const std::int64_t> counts) noexcept;
    static Call allreduce(const Buffer& send, ReduceOp op) noexcept {
        Call call = of(Verb::allreduce);
        call.dtype = send.dtype;
        call.op = op;
        call.count = static_cast<std::uint64_t>(send.count);
        return call;
    }
    static Call broadcast(const Buffer& buf, int root) noexcept {
        Call call = of(Verb::broadcast);
        call.dtype = buf.dtype;
        call.root = static_cast<std::uint32_t>(root);
        call.count = static_cast<std::uint64_t>(buf.count);
        return call;
    }
    static Call create_region(std::uint64_t count, const DType& dtype) noexcept;
    static Call fence(std::uint64_t region) noexcept;

    // Arguments in the order of the Python call, as far as they are known: "allreduce(4 x float64, sum)",
    // "broadcast(4 x float64, root 0)", "allgatherv(6 x float64, counts [1, 2, 3])".
    std::string describe() const;
    // The same without this rank's own part of an allgatherv: equal on all ranks that agree.
    std::string describe_common() const;
    // Differs, but for chance, unless two ranks mean the same call.
    std::uint64_t signature() const noexcept;

    Verb verb = Verb::barrier;
    ReduceOp op = ReduceOp::sum;
    DType dtype;
    std::uint32_t root = 0;
    std::uint64_t count = 0;             // elements: this rank's part, or the whole where all have the same
    std::uint64_t total = 0;             // allgatherv: elements of all parts together
    std::uint64_t counts_hash = 0;       // allgatherv: of the list of counts
    std::span<const std::int64_t> list;  // allgatherv: the counts themselves, where they are at hand
    std::uint64_t region = 0;            // fence: number of the region
};

// The same on every machine. Not a cryptographic hash.
std::uint64_t mix(std::uint64_t hash, std::uint64_t value) noexcept;

}  // namespace cobre::comm
