// Where the payload of one connection goes to and comes from: the caller's own memory, piece by piece.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace cobre::tcp {

// Bytes that arrive: into their final places one after the other, or into a ring that its reader empties.
class Inflow {
public:
    void clear() noexcept {
        parts_.clear();
        at_ = offset_ = received_ = expected_ = released_ = 0;
        ring_ = {};
    }
    void add(std::byte* data, std::size_t bytes) {
        if (bytes == 0) return;
        parts_.push_back({data, bytes});
        expected_ += bytes;
    }
    void use_ring(std::span<std::byte> ring, std::size_t bytes) noexcept {
        ring_ = ring;
        expected_ = bytes;
    }

    // Where the next bytes go; empty when all are there, or while the ring is full.
    std::span<std::byte> room() const noexcept {
        if (!ring_.empty()) {
            const std::size_t place = received_ % ring_.size();
            const std::size_t vacant = ring_.size() - (received_ - released_);
            return ring_.subspan(place, std::min({ring_.size() - place, vacant, expected_ - received_}));
        }
        if (at_ == parts_.size()) return {};
        return std::span(parts_[at_].data, parts_[at_].bytes).subspan(offset_);
    }
    void advance(std::size_t bytes) noexcept {
        received_ += bytes;
        if (!ring_.empty()) return;
        offset_ += bytes;
        if (offset_ < parts_[at_].bytes) return;
        ++at_;
        offset_ = 0;
    }

    // The oldest bytes in the ring that lie side by side.
    std::span<const std::byte> oldest() const noexcept {
        const std::size_t place = released_ % ring_.size();
        return ring_.subspan(place, std::min(ring_.size() - place, received_ - released_));
    }
    void release(std::size_t bytes) noexcept { released_ += bytes; }

    std::size_t remaining() const noexcept { return expected_ - received_; }
    std::size_t received() const noexcept { return received_; }
    // Stays valid, and current, until the object moves.
    const std::size_t* progress() const noexcept { return &received_; }

private:
    struct Part {
        std::byte* data;
        std::size_t bytes;
    };
    std::vector<Part> parts_;
    std::size_t at_ = 0;
    std::size_t offset_ = 0;
    std::size_t received_ = 0;
    std::size_t expected_ = 0;
    std::span<std::byte> ring_;
    std::size_t released_ = 0;
};

// Bytes that leave: from the caller's memory, as far as they are there already.
class Outflow {
public:
    void clear() noexcept {
        parts_.clear();
        at_ = offset_ = sent_ = total_ = 0;
    }
    // `ready` counts the bytes of this part that may be sent; without it all may.
    void add(const std::byte* data, std::size_t bytes, const std::size_t* ready = nullptr) {
        if (bytes == 0) return;
        parts_.push_back({data, bytes, ready});
        total_ += bytes;
    }

    std::size_t sent() const noexcept { return sent_; }
    std::size_t remaining() const noexcept { return total_ - sent_; }
    // How many bytes in a row could go now; counts no further than `limit`.
    std::size_t ready(std::size_t limit) const noexcept {
        std::size_t bytes = 0;
        for (std::size_t i = at_; i < parts_.size() && bytes < limit; ++i) {
            const Part& part = parts_[i];
            const std::size_t there = part.ready == nullptr ? part.bytes : *part.ready;
            bytes += there - (i == at_ ? offset_ : 0);
            if (there < part.bytes) break;
        }
        return std::min(bytes, limit);
    }
    // Points `vectors` at the next `bytes` bytes, or fewer if there are not enough vectors; returns how many it
    // used.
    std::size_t gather(std::span<iovec> vectors, std::size_t bytes) const noexcept {
        std::size_t used = 0;
        for (std::size_t i = at_; i < parts_.size() && bytes > 0 && used < vectors.size(); ++i) {
            const std::size_t skip = i == at_ ? offset_ : 0;
            const std::size_t taken = std::min(parts_[i].bytes - skip, bytes);
            vectors[used++] = {const_cast<std::byte*>(parts_[i].data) + skip, taken};
            bytes -= taken;
        }
        return used;
    }
    void advance(std::size_t bytes) noexcept {
        sent_ += bytes;
        offset_ += bytes;
        while (at_ < parts_.size() && offset_ >= parts_[at_].bytes) offset_ -= parts_[at_++].bytes;
    }

private:
    struct Part {
        const std::byte* data;
        std::size_t bytes;
        const std::size_t* ready;
    };
    std::vector<Part> parts_;
    std::size_t at_ = 0;
    std::size_t offset_ = 0;
    std::size_t sent_ = 0;
    std::size_t total_ = 0;
};

}  // namespace cobre::tcp
