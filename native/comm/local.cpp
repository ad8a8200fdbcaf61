#include "comm/local.hpp"

#include <cstring>

namespace cobre::comm {

void LocalCommunicator::allgatherv(const Buffer& send, const Buffer& recv, const Layout& layout) {
    copy(Operation::allgatherv, send,
         recv.data + layout.displs[0] * static_cast<std::int64_t>(recv.dtype.itemsize));
}

void LocalCommunicator::allreduce(const Buffer& send, const Buffer& recv) {
    copy(Operation::allreduce, send, recv.data);
}

void LocalCommunicator::broadcast(const Buffer& buf) noexcept {
    OperationStatistics& entry = statistics_[Operation::broadcast];
    const TraceScope traced(track_, entry, Operation::broadcast);
    entry.calls += 1;
    entry.bytes += buf.bytes();
}

void LocalCommunicator::barrier() noexcept {
    OperationStatistics& entry = statistics_[Operation::barrier];
    const TraceScope traced(track_, entry, Operation::barrier);
    entry.calls += 1;
}

void LocalCommunicator::copy(Operation operation, const Buffer& from, std::byte* to) noexcept {
    const std::size_t bytes = from.bytes();
    OperationStatistics& entry = statistics_[operation];
    const TraceScope traced(track_, entry, operation);
    entry.calls += 1;
    entry.bytes += bytes;
    if (bytes == 0 || from.data == to) return;
    if (bytes < timed_move_bytes) {
        std::memcpy(to, from.data, bytes);
        return;
    }
    const Stopwatch watch;
    std::memcpy(to, from.data, bytes);
    entry.move_s += watch.seconds();
}

}  // namespace cobre::comm
