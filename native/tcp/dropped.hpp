// Connections that rank 0 has dropped while the group formed: told to the user at once, and counted by reason.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "comm/caller.hpp"

namespace cobre::tcp {

class Dropped {
public:
    explicit Dropped(comm::Caller& caller) : caller_(caller) {}

    // The other side has ended it, or the group needs it no more.
    void lose(const std::string& address, const std::string& reason);
    // Rank 0 has ended it.
    void turn_away(const std::string& address, const std::string& reason);
    // Tells how many more there were than have been told one by one. Once, at the end.
    void tell_rest();

    // "; it turned away 2 connections: 2 from 10.0.0.7:5001, 10.0.0.7:5002 (its secret is not rank 0's)", or
    // nothing. Short, however many connections there were.
    std::string turned_away() const;

private:
    struct Reason {
        std::string text;
        std::vector<std::string> addresses;  // the first ones
        std::size_t count = 0;
    };

    comm::Caller& caller_;
    std::size_t told_ = 0;
    std::size_t untold_ = 0;
    std::size_t turned_away_ = 0;
    std::vector<Reason> reasons_;  // the first ones
};

}  // namespace cobre::tcp
