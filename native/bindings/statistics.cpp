#include "bindings/statistics.hpp"

namespace nb = nanobind;

namespace cobre::bindings {

nb::dict as_dict(const comm::Statistics& statistics) {
    nb::dict result;
    for (std::size_t i = 0; i < comm::operation_names.size(); ++i) {
        const comm::OperationStatistics& entry = statistics.entries()[i];
        nb::dict row;
        row["calls"] = entry.calls.get();
        row["bytes"] = entry.bytes.get();
        row["wait_s"] = entry.wait_s.get();
        row["move_s"] = entry.move_s.get();
        result[comm::operation_names[i]] = row;
    }
    return result;
}

}  // namespace cobre::bindings
