#include "shm/temporary_name.hpp"

#include <array>
#include <cstdio>

#include "shm/file.hpp"

namespace cobre::shm {

TemporaryName::TemporaryName(std::uint64_t nonce, std::uint64_t number, const comm::ProcessIdentity& maker) {
    std::array<char, 160> text;
    std::snprintf(text.data(), text.size(), "/cobre_comm_region_%016llx_%llu_%lld_%llu_%llu",
                  static_cast<unsigned long long>(nonce), static_cast<unsigned long long>(number),
                  static_cast<long long>(maker.pid), static_cast<unsigned long long>(maker.start),
                  static_cast<unsigned long long>(maker.pid_namespace));
    name_ = text.data();
}

TemporaryName::~TemporaryName() { unlink_name(name_); }

comm::ProcessIdentity maker_in(const std::string& name) noexcept {
    long long pid = 0;
    unsigned long long start = 0;
    unsigned long long pid_namespace = 0;
    int used = 0;
    const int found = std::sscanf(name.c_str(), "/cobre_comm_region_%*16[0-9a-f]_%*20[0-9]_%20lld_%20llu_%20llu%n",
                                  &pid, &start, &pid_namespace, &used);
    if (found != 3 || static_cast<std::size_t>(used) != name.size() || pid <= 0) return {};
    return {pid, start, pid_namespace, comm::own_identity().boot};  // no file of /dev/shm outlives the boot
}

}  // namespace cobre::shm
