// The part of HiGHS's C interface that Cobre uses, found in the library that an imported highspy has mapped.
//
// The wheel of highspy brings no header, so the signatures are declared here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace cobre::lp {

using HighsInt = std::int32_t;

constexpr HighsInt count(std::size_t n) noexcept { return static_cast<HighsInt>(n); }

// What `get_model_status` answers, as far as it matters here.
struct ModelStatus {
    static constexpr HighsInt model_empty = 6;
    static constexpr HighsInt optimal = 7;
    static constexpr HighsInt infeasible = 8;
    static constexpr HighsInt unbounded_or_infeasible = 9;
    static constexpr HighsInt unbounded = 10;
};

class HighsLibrary {
public:
    // Never maps a second copy: two would have two sets of global state.
    // Throws std::runtime_error that says what is missing.
    static std::shared_ptr<const HighsLibrary> from_mapped();

    HighsLibrary(const HighsLibrary&) = delete;
    HighsLibrary& operator=(const HighsLibrary&) = delete;
    ~HighsLibrary();

    std::string path;
    std::string version_text;

    void* (*create)() = nullptr;
    void (*destroy)(void*) = nullptr;
    const char* (*version)() = nullptr;
    HighsInt (*sizeof_int)(const void*) = nullptr;
    HighsInt (*set_bool_option)(void*, const char*, HighsInt) = nullptr;
    HighsInt (*set_int_option)(void*, const char*, HighsInt) = nullptr;
    HighsInt (*set_double_option)(void*, const char*, double) = nullptr;
    HighsInt (*set_string_option)(void*, const char*, const char*) = nullptr;
    HighsInt (*pass_lp)(void*, HighsInt columns, HighsInt rows, HighsInt nonzeros, HighsInt format, HighsInt sense,
                        double offset, const double* cost, const double* column_lower, const double* column_upper,
                        const double* row_lower, const double* row_upper, const HighsInt* starts,
                        const HighsInt* indices, const double* values) = nullptr;
    HighsInt (*add_rows)(void*, HighsInt count, const double* lower, const double* upper, HighsInt nonzeros,
                         const HighsInt* starts, const HighsInt* indices, const double* values) = nullptr;
    HighsInt (*delete_rows)(void*, HighsInt count, const HighsInt* set) = nullptr;
    HighsInt (*change_row_bounds)(void*, HighsInt count, const HighsInt* set, const double* lower,
                                  const double* upper) = nullptr;
    HighsInt (*change_column_bounds)(void*, HighsInt count, const HighsInt* set, const double* lower,
                                     const double* upper) = nullptr;
    HighsInt (*change_column_costs)(void*, HighsInt count, const HighsInt* set, const double* cost) = nullptr;
    HighsInt (*clear_solver)(void*) = nullptr;
    HighsInt (*set_basis)(void*, const HighsInt* column_status, const HighsInt* row_status) = nullptr;
    HighsInt (*get_basis)(const void*, HighsInt* column_status, HighsInt* row_status) = nullptr;
    HighsInt (*run)(void*) = nullptr;
    HighsInt (*get_model_status)(const void*) = nullptr;
    HighsInt (*get_solution)(const void*, double* column_value, double* column_dual, double* row_value,
                             double* row_dual) = nullptr;
    HighsInt (*get_int_info)(const void*, const char*, HighsInt*) = nullptr;
    double (*get_run_time)(const void*) = nullptr;

private:
    HighsLibrary() = default;
    void* handle_ = nullptr;
};

}  // namespace cobre::lp
