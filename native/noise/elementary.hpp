// Logarithm and exponential with the same bits on every machine.
//
// The C library's own differ in the last bit between versions and even between processors under one version (it
// picks another routine where fused multiply-add exists). These use nothing but IEEE additions, multiplications
// and divisions, carry about 100 bits, and so give the correctly rounded result in all but one of some 2^45 cases.
#pragma once

namespace cobre::noise {

// Natural logarithm of a positive, finite x.
double logarithm(double x) noexcept;
// e^x for -700 < x < 700.
double exponential(double x) noexcept;

}  // namespace cobre::noise
