#include "noise/elementary.hpp"

#include <array>
#include <cmath>

namespace cobre::noise {

namespace {

// An unevaluated sum of two doubles, |low| <= half a unit in the last place of high.
struct Pair {
    double high;
    double low;
};

// a + b exactly, |a| >= |b| or a = 0.
constexpr Pair join(double a, double b) noexcept {
    const double sum = a + b;
    return {sum, b - (sum - a)};
}

constexpr Pair exact_sum(double a, double b) noexcept {
    const double sum = a + b;
    const double part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

// a into two halves of 26 bits (Veltkamp), so that their products are exact without fused multiply-add.
constexpr Pair split(double a) noexcept {
    const double scaled = 0x1p27 * a + a;
    const double high = scaled - (scaled - a);
    return {high, a - high};
}

constexpr Pair exact_product(double a, double b) noexcept {
    const double product = a * b;
    const Pair x = split(a), y = split(b);
    return {product, ((x.high * y.high - product) + x.high * y.low + x.low * y.high) + x.low * y.low};
}

constexpr Pair add(Pair a, Pair b) noexcept {
    const Pair sum = exact_sum(a.high, b.high);
    return join(sum.high, sum.low + (a.low + b.low));
}

constexpr Pair multiply(Pair a, Pair b) noexcept {
    const Pair product = exact_product(a.high, b.high);
    return join(product.high, product.low + (a.high * b.low + a.low * b.high));
}

constexpr Pair divide(Pair a, Pair b) noexcept {
    const double first = a.high / b.high;
    const Pair taken = multiply(b, {first, 0.0});
    const Pair rest = add(a, {-taken.high, -taken.low});
    return join(first, rest.high / b.high);
}

// 1 / n in a pair.
constexpr Pair reciprocal(double n) noexcept { return divide({1.0, 0.0}, {n, 0.0}); }

constexpr Pair ln2{0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};

// 2 / (2k + 1), the coefficients of 2 atanh(s) / s in powers of s^2, and 1 / k!, those of e^x.
struct Coefficients {
    std::array<Pair, 24> odd{};
    std::array<Pair, 11> factorial{};

    constexpr Coefficients() noexcept {
        for (std::size_t k = 0; k < odd.size(); ++k) {
            const Pair inverse = reciprocal(static_cast<double>(2 * k + 1));
            odd[k] = {2.0 * inverse.high, 2.0 * inverse.low};
        }
        double product = 1.0;
        for (std::size_t k = 0; k < factorial.size(); ++k) {
            product *= k == 0 ? 1.0 : static_cast<double>(k);
            factorial[k] = reciprocal(product);
        }
    }
};

constexpr Coefficients coefficients;

// log((1 + s) / (1 - s)) = 2 atanh(s) from `terms` terms, of which the first `pairs` count beyond a double's bits.
constexpr Pair log_ratio(Pair s, std::size_t pairs, std::size_t terms) noexcept {
    const Pair square = multiply(s, s);
    double tail = 0.0;
    for (std::size_t k = terms; k-- > pairs;) tail = tail * square.high + coefficients.odd[k].high;
    Pair sum{tail, 0.0};
    for (std::size_t k = pairs; k-- > 0;) sum = add(multiply(sum, square), coefficients.odd[k]);
    return multiply(sum, s);
}

// Logarithms of 11/16 .. 23/16: every mantissa is within 1/32 of one of these, so that its series is short.
constexpr std::size_t first_centre = 11;

struct Centres {
    std::array<Pair, 13> logarithms{};

    constexpr Centres() noexcept {
        for (std::size_t i = 0; i < logarithms.size(); ++i) {
            const auto k = static_cast<double>(first_centre + i);
            logarithms[i] = log_ratio(divide({k - 16.0, 0.0}, {k + 16.0, 0.0}), 24, 24);
        }
    }
};

constexpr Centres centres;

}  // namespace

double logarithm(double x) noexcept {
    int exponent = 0;
    double mantissa = std::frexp(x, &exponent);
    if (mantissa < 0x1.6a09e667f3bcdp-1) {  // below the root of 1/2
        mantissa *= 2.0;
        --exponent;
    }
    const auto nearest = static_cast<std::size_t>(mantissa * 16.0 + 0.5);
    const double centre = static_cast<double>(nearest) * 0.0625;
    const Pair s = divide({mantissa - centre, 0.0}, exact_sum(mantissa, centre));
    const Pair local = add(centres.logarithms[nearest - first_centre], log_ratio(s, 6, 12));
    const Pair result = add(multiply(ln2, {static_cast<double>(exponent), 0.0}), local);
    return result.high + result.low;
}

double exponential(double x) noexcept {
    const double turns = std::nearbyint(x * 0x1.71547652b82fep+0);
    const Pair shift = multiply(ln2, {turns, 0.0});
    Pair rest = add({x, 0.0}, {-shift.high, -shift.low});
    constexpr int halvings = 8;
    rest = {rest.high * 0x1p-8, rest.low * 0x1p-8};
    // e^r - 1 rather than e^r, so that squaring (1 + y)^2 - 1 = 2y + y^2 loses no bits.
    Pair sum = coefficients.factorial.back();
    for (std::size_t k = coefficients.factorial.size() - 1; k-- > 1;) {
        sum = add(multiply(sum, rest), coefficients.factorial[k]);
    }
    Pair excess = multiply(sum, rest);
    for (int i = 0; i < halvings; ++i) {
        excess = add({2.0 * excess.high, 2.0 * excess.low}, multiply(excess, excess));
    }
    const Pair result = add({1.0, 0.0}, excess);
    return std::ldexp(result.high + result.low, static_cast<int>(turns));
}

}  // namespace cobre::noise
