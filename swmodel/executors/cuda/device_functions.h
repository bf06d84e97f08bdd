// Functions that generated kernels call for one cell: in CUDA, and in C++ for CPUs, so that tests run the same source.
//
// Each operation is rounded as in vector.h of the native step (on CPUs with fused multiply-add), so both give the same
// bits; exp, log, sin, cos and power come from the device's own library and differ in the last digits.
#pragma once

#if !defined(__CUDACC__)
#include <cmath>
#include <cstring>
#endif

#include "kernel_arguments.h"

#if defined(__CUDACC__)
#define DEVICE static __device__ __forceinline__
#define CONSTANT(TYPE, NAME) extern "C" { __constant__ TYPE NAME; }
#define KERNEL(NAME) extern "C" __global__ void __launch_bounds__(swmodel::HALO_THREADS) NAME(const swmodel::KernelArguments args)
#else
#define DEVICE static inline
#define __restrict__
#define CONSTANT(TYPE, NAME)                                     \
  extern "C" {                                                   \
  __attribute__((visibility("default"))) TYPE NAME;              \
  __attribute__((visibility("default"))) long NAME##_bytes = sizeof(TYPE); \
  }
// On a CPU a kernel runs its threads one after another.
#define KERNEL(NAME)                                                                            \
  static void NAME##_of_thread(const swmodel::KernelArguments& args);                           \
  extern "C" __attribute__((visibility("default"))) void NAME(                                  \
      const swmodel::KernelArguments* args, int grid_x, int grid_y, int block_x, int block_y) { \
    gridDim = {grid_x, grid_y};                                                                 \
    for (blockIdx.y = 0; blockIdx.y < grid_y; ++blockIdx.y)                                     \
      for (blockIdx.x = 0; blockIdx.x < grid_x; ++blockIdx.x)                                   \
        for (threadIdx.y = 0; threadIdx.y < block_y; ++threadIdx.y)                             \
          for (threadIdx.x = 0; threadIdx.x < block_x; ++threadIdx.x) NAME##_of_thread(*args);  \
  }                                                                                             \
  static void NAME##_of_thread(const swmodel::KernelArguments& args)
static thread_local struct { int x, y; } blockIdx, threadIdx, gridDim;
#endif

namespace swmodel {

using Int64 = long long;

static_assert(BLOCK_COLUMNS * BLOCK_ROWS == HALO_THREADS, "the launch bounds hold for blocks of both kinds");

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
DEVICE To bit_cast(From x) {
  To to;
  std::memcpy(&to, &x, sizeof to);
  return to;
}
DEVICE int bits_of(float x) { return bit_cast<int>(x); }
DEVICE Int64 bits_of(double x) { return bit_cast<Int64>(x); }
DEVICE float float_from_bits(int bits) { return bit_cast<float>(bits); }
DEVICE double float_from_bits(Int64 bits) { return bit_cast<double>(bits); }
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
DEVICE T* field_plane(const KernelArguments& args, int number) {
  return static_cast<T*>(args.memory) + number * args.plane_size + args.origin;
}
template <class T>
DEVICE T* temporary_plane(const KernelArguments& args, int number) {
  return static_cast<T*>(args.temporaries) + number * args.plane_size + args.origin;
}
// j, at most the last row of static fields: threads at the north edge also compute cells beyond it, which are not written.
DEVICE int clamped_row(const KernelArguments& args, int j) {
  const int beyond = args.static_rows - args.static_halo;
  return j < beyond ? j : beyond - 1;
}
template <class T>
DEVICE T static_field(const KernelArguments& args, int number, int j, int i) {
  const Int64 first = Int64(number) * args.static_rows * args.static_stride + args.static_origin;
  return static_cast<const T*>(args.statics)[first + clamped_row(args, j) * args.static_stride + i];
}
template <class T>
DEVICE T row_static(const KernelArguments& args, int number, int j) {
  return static_cast<const T*>(args.row_statics)[number * args.static_rows + args.static_halo + clamped_row(args, j)];
}
DEVICE int mask_bits_of(const KernelArguments& args, int j, int i) {
  return args.mask_bits[args.static_origin + clamped_row(args, j) * args.static_stride + i];
}

// Fills the halo of field f, which is number exchange_index of the exchanged fields. Each thread copies one value: the first
// 2 halo row_cells threads the rows to the south and north with their corners, the others the columns to the west and east.
template <class T>
DEVICE void fill_halo(const KernelArguments& args, int exchange_index, int f) {
  const int halo = args.halo, ny = args.extent[0], nx = args.extent[1], row_cells = nx + 2 * halo;
  const int thread = blockIdx.x * HALO_THREADS + threadIdx.x, side_cell = thread - 2 * halo * row_cells;
  if (side_cell >= 2 * halo * ny) return;
  const int row = side_cell < 0 ? thread / row_cells : side_cell / (2 * halo);
  const int column = side_cell < 0 ? thread % row_cells : side_cell % (2 * halo);
  const int j = side_cell >= 0 ? row : row < halo ? row - halo : ny + row - halo;
  const int i = side_cell < 0 ? column - halo : column < halo ? column - halo : nx + column - halo;
  T* const field = field_plane<T>(args, args.planes[f]);
  const int strip_columns = args.columns + 2 * halo;
  T value;
  if (args.is_own_neighbour) {
    value = field[(j < 0 ? j + ny : j < ny ? j : j - ny) * args.stride + (i < 0 ? i + nx : i < nx ? i : i - nx)];
  } else if (j < 0) {
    value = static_cast<const T*>(args.south)[(exchange_index * halo + j + halo) * strip_columns + i + halo];
  } else if (j >= ny) {
    value = static_cast<const T*>(args.north)[(exchange_index * halo + j - ny) * strip_columns + i + halo];
  } else if (i < 0) {
    value = static_cast<const T*>(args.west)[(exchange_index * args.rows + j) * halo + i + halo];
  } else {
    value = static_cast<const T*>(args.east)[(exchange_index * args.rows + j) * halo + i - nx];
  }
  field[j * args.stride + i] = value;
}

// Copies the outermost rows and columns of field f into the edges for the neighbours; threads are assigned as in
// fill_halo, without corners.
template <class T>
DEVICE void pack_edges(const KernelArguments& args, int exchange_index, int f) {
  const int halo = args.halo, ny = args.extent[0], nx = args.extent[1];
  const int thread = blockIdx.x * HALO_THREADS + threadIdx.x, side_cell = thread - 2 * halo * nx;
  if (side_cell >= 2 * halo * ny) return;
  const T* const field = field_plane<T>(args, args.planes[2 * args.n_fields + f]);
  if (side_cell < 0) {
    const int row = thread / nx, i = thread % nx, j = row < halo ? row : ny - 2 * halo + row;
    T* const edge = static_cast<T*>(row < halo ? args.edge_south : args.edge_north);
    edge[(exchange_index * halo + row % halo) * args.columns + i] = field[j * args.stride + i];
  } else {
    const int j = side_cell / (2 * halo), column = side_cell % (2 * halo), i = column < halo ? column : nx - 2 * halo + column;
    T* const edge = static_cast<T*>(column < halo ? args.edge_west : args.edge_east);
    edge[(exchange_index * args.rows + j) * halo + column % halo] = field[j * args.stride + i];
  }
}

}  // namespace swmodel
