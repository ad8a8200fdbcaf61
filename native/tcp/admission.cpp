#include "tcp/admission.hpp"

#include <algorithm>
#include <vector>

namespace cobre::tcp {

namespace {

// Sorted, each source as often as it has connections.
std::vector<std::uint64_t> sources_of(std::span<const Connection> waiting, bool with_proved) {
    std::vector<std::uint64_t> sources;
    for (const Connection& each : waiting)
        if (with_proved || !each.has_proved) sources.push_back(each.source);
    std::sort(sources.begin(), sources.end());
    return sources;
}

// Only those that occur most often stay, each once.
void keep_largest(std::vector<std::uint64_t>& sources) {
    std::size_t most = 0;
    std::vector<std::uint64_t> largest;
    for (auto from = sources.begin(); from != sources.end();) {
        const auto end = std::upper_bound(from, sources.end(), *from);
        const auto count = static_cast<std::size_t>(end - from);
        if (count > most) largest.clear();
        if (count >= most) largest.push_back(*from);
        most = std::max(most, count);
        from = end;
    }
    sources = std::move(largest);
}

}  // namespace

std::size_t choose_eviction(std::span<const Connection> waiting, std::minstd_rand& random) {
    const bool have_all_proved =
        std::all_of(waiting.begin(), waiting.end(), [](const Connection& each) { return each.has_proved; });
    std::vector<std::uint64_t> sources = sources_of(waiting, have_all_proved);
    keep_largest(sources);
    std::vector<std::size_t> candidates;
    for (std::size_t i = 0; i < waiting.size(); ++i)
        if (have_all_proved == waiting[i].has_proved &&
            std::binary_search(sources.begin(), sources.end(), waiting[i].source))
            candidates.push_back(i);
    return candidates[std::uniform_int_distribution<std::size_t>(0, candidates.size() - 1)(random)];
}

}  // namespace cobre::tcp
