#include "tcp/dropped.hpp"

#include <algorithm>

namespace cobre::tcp {

namespace {

// A flood must fill neither memory nor the log, and the summary must fit a frame beside the ranks that are
// missing.
constexpr std::size_t most_told = 200;
constexpr std::size_t most_reasons = 4;
constexpr std::size_t most_addresses = 3;

std::string connections(std::size_t count) {
    return std::to_string(count) + (count == 1 ? " connection" : " connections");
}

}  // namespace

void Dropped::count_lost(const std::string& address, const std::string& reason) {
    if (told_ == most_told) {
        ++untold_;
        return;
    }
    ++told_;
    caller_.log(comm::Level::warning, "dropped a connection from " + address + ": " + reason);
}

void Dropped::refuse(const std::string& address, const std::string& reason) {
    count_lost(address, reason);
    ++refused_;
    auto known =
        std::find_if(reasons_.begin(), reasons_.end(), [&](const Reason& other) { return other.text == reason; });
    if (known == reasons_.end()) {
        if (reasons_.size() == most_reasons) return;
        known = reasons_.insert(known, {reason, {}, 0});
    }
    ++known->count;
    if (known->addresses.size() < most_addresses) known->addresses.push_back(address);
}

void Dropped::log_rest() {
    if (untold_ > 0) caller_.log(comm::Level::warning, "dropped " + std::to_string(untold_) + " more connections");
    untold_ = 0;
}

std::string Dropped::refused_text() const {
    if (refused_ == 0) return {};
    std::string text = "; it refused " + connections(refused_) + ": ";
    std::size_t others = refused_;
    for (const Reason& reason : reasons_) {
        others -= reason.count;
        if (&reason != &reasons_.front()) text += ", ";
        text += std::to_string(reason.count) + " from ";
        for (const std::string& address : reason.addresses)
            text.append(&address == &reason.addresses.front() ? "" : ", ").append(address);
        if (reason.count > reason.addresses.size()) text += ", …";
        text += " (" + reason.text + ")";
    }
    if (others > 0) text += ", " + std::to_string(others) + " for other reasons";
    return text;
}

}  // namespace cobre::tcp
