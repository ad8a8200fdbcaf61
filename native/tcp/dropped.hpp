// Connections that rank 0 has dropped while the group formed: logged at once, and counted by reason.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "comm/caller.hpp"

namespace cobre::tcp {

class Dropped {
public:
    explicit Dropped(comm::Caller& caller) : caller_(caller) {}

    // The other side has closed it, or the group does not need it any more.
    void count_lost(const std::string& address, const std::string& reason);
    // Rank 0 has ended it.
    void refuse(const std::string& address, const std::string& reason);
    // Logs how many more there were than have been logged one by one. Once, at the end.
    void log_rest();

    // "; it refused 2 connections: 2 from 10.0.0.7:5001, 10.0.0.7:5002 (its secret is not rank 0's)", or
    // nothing. Short, however many connections there were.
    std::string refused_text() const;

private:
    struct Reason {
        std::string text;
        std::vector<std::string> addresses;  // the first ones
        std::size_t count = 0;
    };

    comm::Caller& caller_;
    std::size_t told_ = 0;
    std::size_t untold_ = 0;
    std::size_t refused_ = 0;
    std::vector<Reason> reasons_;  // the first ones
};

}  // namespace cobre::tcp
