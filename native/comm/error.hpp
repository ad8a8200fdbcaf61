// What the core throws. The bindings turn each into the Python exception of the same name.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace cobre::comm {

enum class ErrorClass : std::uint8_t {
    type_error,            // TypeError
    value_error,           // ValueError
    invalid_buffer_size,   // cobre.InvalidBufferSize(operation, expected, actual)
    invalid_root,          // cobre.InvalidRoot(root, size): expected holds the size, actual the root
    invalid_communicator,  // cobre.InvalidCommunicator
    collective_failed,     // cobre.CollectiveFailed(operation)
    allocation_failed,     // cobre.AllocationFailed(requested_bytes): expected holds them
    initialization_failed  // cobre.InitializationFailed(backend): operation holds its name
};

class Error : public std::exception {
public:
    Error(ErrorClass error_class, std::string message, std::string fix)
        : error_class_(error_class), message_(std::move(message)), fix_(std::move(fix)) {}

    Error(ErrorClass error_class, const char* operation, std::int64_t expected, std::int64_t actual,
          std::string message, std::string fix)
        : error_class_(error_class),
          operation_(operation),
          expected_(expected),
          actual_(actual),
          message_(std::move(message)),
          fix_(std::move(fix)) {}

    const char* what() const noexcept override { return message_.c_str(); }

    ErrorClass error_class() const noexcept { return error_class_; }
    const char* operation() const noexcept { return operation_; }
    std::int64_t expected() const noexcept { return expected_; }
    std::int64_t actual() const noexcept { return actual_; }
    const std::string& message() const noexcept { return message_; }
    const std::string& fix() const noexcept { return fix_; }

private:
    ErrorClass error_class_;
    const char* operation_ = "";
    std::int64_t expected_ = 0;
    std::int64_t actual_ = 0;
    std::string message_;
    std::string fix_;
};

}  // namespace cobre::comm
