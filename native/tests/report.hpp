// Counts what a driver checks and prints what failed.
#pragma once

#include <cstdio>

namespace cobre::tests {

class Report {
public:
    void expect(bool holds, const char* promise) {
        ++checked_;
        if (holds) return;
        ++failed_;
        std::printf("FAILED: %s\n", promise);
    }
    int finish() const {
        std::printf("%d passed, %d failed\n", checked_ - failed_, failed_);
        return failed_ == 0 ? 0 : 1;
    }

private:
    int checked_ = 0;
    int failed_ = 0;
};

}  // namespace cobre::tests
