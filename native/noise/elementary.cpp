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

// 2 atanh(s) / s as a polynomial in s^2 has the coefficients 2 / (2k + 1); |s| <= 0.172 needs 21 of them for 100
// bits, and those from the 11th on count for less than the last bit of a double.
constexpr int pair_terms = 11, all_terms = 22;

struct Coefficients {
    std::array<Pair, pair_terms> odd{};
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

}  // namespace

double logarithm(double x) noexcept {
    int exponent = 0;
    double mantissa = std::frexp(x, &exponent);
    if (mantissa < 0x1.6a09e667f3bcdp-1) {  // below the root of 1/2: keep the argument of the series small
        mantissa *= 2.0;
        --exponent;
    }
    const Pair s = divide({mantissa - 1.0, 0.0}, exact_sum(mantissa, 1.0));
    const Pair square = multiply(s, s);
    double tail = 0.0;
    for (int k = all_terms - 1; k >= pair_terms; --k) tail = tail * square.high + 2.0 / (2 * k + 1);
    Pair sum{tail, 0.0};
    for (std::size_t k = pair_terms; k-- > 0;) sum = add(multiply(sum, square), coefficients.odd[k]);
    const Pair series = multiply(sum, s);
    const Pair shift = multiply(ln2, {static_cast<double>(exponent), 0.0});
    const Pair result = add(shift, series);
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
