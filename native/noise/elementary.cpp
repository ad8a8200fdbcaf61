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

// x = mantissa 2^exponent with a mantissa between the roots of 1/2 and 2.
struct Scaled {
    double mantissa;
    int exponent;
};

Scaled scaled(double x) noexcept {
    Scaled result{};
    result.mantissa = std::frexp(x, &result.exponent);
    if (result.mantissa < 0x1.6a09e667f3bcdp-1) {
        result.mantissa *= 2.0;
        --result.exponent;
    }
    return result;
}

// Factors c of 11 bits near 1 / m for mantissas m from a 128th to the next, and -log c.
constexpr std::size_t first_step = 90;  // of the root of 1/2

struct Reciprocals {
    std::array<double, 92> factors{};
    std::array<Pair, 92> logarithms{};

    constexpr Reciprocals() noexcept {
        for (std::size_t i = 0; i < factors.size(); ++i) {
            const double middle = (static_cast<double>(first_step + i) + 0.5) / 128.0;
            const double c = static_cast<double>(static_cast<int>(1024.0 / middle + 0.5)) / 1024.0;
            const Pair log = log_ratio(divide({c - 1.0, 0.0}, {c + 1.0, 0.0}), 24, 24);
            factors[i] = c;
            logarithms[i] = {-log.high, -log.low};
        }
    }
};

constexpr Reciprocals reciprocals;

// log x with an absolute error below 2^-72: enough for the last bit unless x is near 1 or the result near a tie.
// log x = e log 2 - log c + log(1 + r), r = m c - 1 exactly and below 2^-7.
Pair quick_logarithm(Scaled x) noexcept {
    constexpr double ln2_high = 0x1.62e42fefa38p-1, ln2_low = 0x1.ef35793c7673p-45;  // 42 bits and the rest
    const std::size_t step = static_cast<std::size_t>(x.mantissa * 128.0) - first_step;
    const double c = reciprocals.factors[step], e = x.exponent;
    const Pair halves = split(x.mantissa);
    const Pair r = exact_sum(halves.high * c - 1.0, halves.low * c);
    const double q = r.high;
    double series = q * (1.0 / 9.0) - 1.0 / 8.0;
    series = series * q + 1.0 / 7.0;
    series = series * q - 1.0 / 6.0;
    series = series * q + 1.0 / 5.0;
    series = series * q - 1.0 / 4.0;
    series = series * q + 1.0 / 3.0;
    const Pair square = exact_product(q, q);
    const Pair with_factor = exact_sum(e * ln2_high, reciprocals.logarithms[step].high);
    const Pair with_r = exact_sum(with_factor.high, r.high);
    const Pair with_square = exact_sum(with_r.high, -0.5 * square.high);
    double low = e * ln2_low + reciprocals.logarithms[step].low + with_factor.low + with_r.low + r.low;
    low += with_square.low - (0.5 * square.low + q * r.low);
    low += square.high * q * series;
    return {with_square.high, low};
}

double accurate_logarithm(Scaled x) noexcept {
    const auto [mantissa, exponent] = x;
    const auto nearest = static_cast<std::size_t>(mantissa * 16.0 + 0.5);
    const double centre = static_cast<double>(nearest) * 0.0625;
    const Pair s = divide({mantissa - centre, 0.0}, exact_sum(mantissa, centre));
    const Pair local = add(centres.logarithms[nearest - first_centre], log_ratio(s, 6, 12));
    const Pair result = add(multiply(ln2, {static_cast<double>(exponent), 0.0}), local);
    return result.high + result.low;
}

}  // namespace

double logarithm(double x) noexcept {
    constexpr double error = 0x1p-70;
    const Scaled parts = scaled(x);
    const Pair quick = quick_logarithm(parts);
    const double least = quick.high + (quick.low - error), most = quick.high + (quick.low + error);
    return least == most ? least : accurate_logarithm(parts);
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
