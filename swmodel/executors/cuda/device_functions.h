// The functions that generated kernels call, for one cell: in CUDA, and in C++ for CPUs, so that tests run the same text.
//
// Each operation is rounded as in vector.h of the native step, so that both give the same bits. The functions exp, log,
// sin, cos and power are those of the library of the device, and differ in the last digits.
#pragma once

#if !defined(__CUDACC__)
#include <cmath>
#include <cstring>
#endif

#include "job.h"

#if defined(__CUDACC__)
#define DEVICE static __device__ __forceinline__
#define CONSTANT(TYPE, NAME) extern "C" { __constant__ TYPE NAME; }
#define KERNEL(NAME) extern "C" __global__ void __launch_bounds__(128) NAME(const swmodel::Job job)
#else
#define DEVICE static inline
#define __restrict__
#define CONSTANT(TYPE, NAME)                                     \
  extern "C" {                                                   \
  __attribute__((visibility("default"))) TYPE NAME;              \
  __attribute__((visibility("default"))) long NAME##_bytes = sizeof(TYPE); \
  }
// A kernel on a CPU runs thread after thread.
#define KERNEL(NAME)                                                                                        \
  static void NAME##_of_thread(const swmodel::Job& job);                                                    \
  extern "C" __attribute__((visibility("default"))) void NAME(const swmodel::Job* job, int across, int down, int x, int y) { \
    gridDim = {across, down};                                                                               \
    for (blockIdx.y = 0; blockIdx.y < down; ++blockIdx.y)                                                   \
      for (blockIdx.x = 0; blockIdx.x < across; ++blockIdx.x)                                               \
        for (threadIdx.y = 0; threadIdx.y < y; ++threadIdx.y)                                               \
          for (threadIdx.x = 0; threadIdx.x < x; ++threadIdx.x) NAME##_of_thread(*job);                     \
  }                                                                                                         \
  static void NAME##_of_thread(const swmodel::Job& job)
static thread_local struct { int x, y; } blockIdx, threadIdx, gridDim;
#endif

namespace swmodel {

using Int64 = long long;

// a b + c, rounded once.
#if defined(__CUDACC__)
DEVICE float mad(float a, float b, float c) { return __fmaf_rn(a, b, c); }
DEVICE double mad(double a, double b, double c) { return __fma_rn(a, b, c); }
DEVICE int bits_of(float x) { return __float_as_int(x); }
DEVICE Int64 bits_of(double x) { return __double_as_longlong(x); }
DEVICE float float_from_bits(int bits) { return __int_as_float(bits); }
DEVICE double float_from_bits(Int64 bits) { return __longlong_as_double(bits); }
#else
using std::sqrt, std::exp, std::log, std::sin, std::cos;
DEVICE float mad(float a, float b, float c) { return std::fma(a, b, c); }
DEVICE double mad(double a, double b, double c) { return std::fma(a, b, c); }
template <class To, class From>
DEVICE To as(From x) {
  To to;
  std::memcpy(&to, &x, sizeof to);
  return to;
}
DEVICE int bits_of(float x) { return as<int>(x); }
DEVICE Int64 bits_of(double x) { return as<Int64>(x); }
DEVICE float float_from_bits(int bits) { return as<float>(bits); }
DEVICE double float_from_bits(Int64 bits) { return as<double>(bits); }
#endif

DEVICE float abs(float a) { return float_from_bits(bits_of(a) & 0x7fffffff); }
DEVICE double abs(double a) { return float_from_bits(bits_of(a) & 0x7fffffffffffffffLL); }
// NaN is propagated.
template <class T>
DEVICE T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
DEVICE T minimum(T a, T b) {
  return a < b || a != a ? a : b;
}
template <class T>
DEVICE T power(T a, T b) {
#if defined(__CUDACC__)
  return pow(a, b);
#else
  return std::pow(a, b);
#endif
}

// The cube root: a guess from the exponent, then Newton's iteration for 1 / root, as in vector.h.
template <class T>
DEVICE T cbrt(T a) {
  constexpr bool SINGLE = sizeof(T) == 4;
  using Integer = decltype(bits_of(a));
  const T x = abs(a), third = T(1) / 3;
  T r = float_from_bits(Integer((SINGLE ? Int64(0x54a21d2a) : 0x553ef0ff289dd796LL) - bits_of(x) / 3));
  for (int n = 0; n < (SINGLE ? 3 : 4); ++n) r = r * mad(-x * r, r * r, T(4)) * third;
  const T root = x * (r * r), better = mad(mad(-root * root, root, x), r * r * third, root);
  return x == 0 ? a : a < 0 ? -better : better;
}

// x where a cell has a bit, and 0 elsewhere.
template <int BIT, class T>
DEVICE T masked(T x, int cell) {
  return cell & BIT ? x : T(0);
}
// Values at a corner, which depend on the wet cells around it; computed, because tables would be read from memory.
template <class T>
DEVICE T corner_weight_of(int cell, T) {
  const int n = cell >> 3 & 3;
  return n == 1 ? T(4) : n == 2 ? T(2) : n == 3 ? T(4.0 / 3) : cell >> 3 & 4 ? T(1) : T(0);
}
template <class T>
DEVICE T slip_of(int cell, T slip) {
  const int n = cell >> 3 & 7;
  return n == 4 ? T(1) : n > 4 ? T(0) : slip;
}
template <class T>
DEVICE T dry_corner_of(int cell, T) {
  return cell >> 3 & 7 ? T(0) : T(1);
}

template <class T>
DEVICE T* plane_of(const Job& job, int number) {
  return static_cast<T*>(job.memory) + number * job.plane_size + job.origin;
}
template <class T>
DEVICE T* temporary(const Job& job, int number) {
  return static_cast<T*>(job.temporaries) + number * job.plane_size + job.origin;
}
// Row j of static fields. The last row also serves threads whose last cells are beyond the block and not written.
DEVICE int row_of(const Job& job, int j) {
  const int beyond = job.static_rows - job.margin;
  return j < beyond ? j : beyond - 1;
}
template <class T>
DEVICE T static_field(const Job& job, int s, int j, int i) {
  const Int64 first = Int64(s) * job.static_rows * job.static_stride + job.static_origin;
  return static_cast<const T*>(job.statics)[first + row_of(job, j) * job.static_stride + i];
}
template <class T>
DEVICE T row_static(const Job& job, int l, int j) {
  return static_cast<const T*>(job.row_statics)[l * job.static_rows + job.margin + row_of(job, j)];
}
DEVICE int mask_bits_of(const Job& job, int j, int i) {
  return job.mask_bits[job.static_origin + row_of(job, j) * job.static_stride + i];
}

// Fills the halo of exchanged field number t, which is field f of all; each thread copies one value.
template <class T>
DEVICE void fill_halo(const Job& job, int t, int f) {
  const int e = job.halo, ny = job.extent[0], nx = job.extent[1], across = nx + 2 * e;
  const int n = blockIdx.x * 128 + threadIdx.x, beside = n - 2 * e * across;
  if (beside >= 2 * e * ny) return;
  const int r = beside < 0 ? n / across : beside / (2 * e), c = beside < 0 ? n % across : beside % (2 * e);
  const int j = beside >= 0 ? r : r < e ? r - e : ny + r - e, i = beside < 0 ? c - e : c < e ? c - e : nx + c - e;
  T* const field = plane_of<T>(job, job.planes[f]);
  const int strip = job.columns + 2 * e;
  T value;
  if (job.wraps) {
    value = field[(j < 0 ? j + ny : j < ny ? j : j - ny) * job.stride + (i < 0 ? i + nx : i < nx ? i : i - nx)];
  } else if (j < 0) {
    value = static_cast<const T*>(job.south)[(t * e + j + e) * strip + i + e];
  } else if (j >= ny) {
    value = static_cast<const T*>(job.north)[(t * e + j - ny) * strip + i + e];
  } else if (i < 0) {
    value = static_cast<const T*>(job.west)[(t * job.rows + j) * e + i + e];
  } else {
    value = static_cast<const T*>(job.east)[(t * job.rows + j) * e + i - nx];
  }
  field[j * job.stride + i] = value;
}

// Copies the outermost rows and columns of a field for the neighbours.
template <class T>
DEVICE void pack_edges(const Job& job, int t, int f) {
  const int e = job.halo, ny = job.extent[0], nx = job.extent[1];
  const int n = blockIdx.x * 128 + threadIdx.x, beside = n - 2 * e * nx;
  if (beside >= 2 * e * ny) return;
  const T* const field = plane_of<T>(job, job.planes[2 * job.fields + f]);
  if (beside < 0) {
    const int r = n / nx, i = n % nx, j = r < e ? r : ny - 2 * e + r;
    T* const edge = static_cast<T*>(r < e ? job.edge_south : job.edge_north);
    edge[(t * e + r % e) * job.columns + i] = field[j * job.stride + i];
  } else {
    const int j = beside / (2 * e), c = beside % (2 * e), i = c < e ? c : nx - 2 * e + c;
    T* const edge = static_cast<T*>(c < e ? job.edge_west : job.edge_east);
    edge[(t * job.rows + j) * e + c % e] = field[j * job.stride + i];
  }
}

}  // namespace swmodel
