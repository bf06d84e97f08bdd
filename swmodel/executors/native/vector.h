// Vectors of numbers, as wide as those of the processor, with the operations that generated loops use.
//
// Each lane is computed by the same expression, whatever its position. Products and sums are fused where mad says so and
// nowhere else (-ffp-contract=off), so vectors of any width give the same bits on processors with fused multiply-add; others
// round the product, too.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace swmodel {

#if defined(__AVX512F__) && defined(__AVX512VL__)
constexpr int VECTOR_BYTES = 64;
#elif defined(__AVX2__)
constexpr int VECTOR_BYTES = 32;
#else
constexpr int VECTOR_BYTES = 16;
#endif

#define SWMODEL_INLINE static inline __attribute__((always_inline))

template <class T>
struct Pack {
  typedef T Vector __attribute__((vector_size(VECTOR_BYTES)));
  typedef T Unaligned __attribute__((vector_size(VECTOR_BYTES), aligned(alignof(T)), may_alias));
  using Integer = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef Integer Integers __attribute__((vector_size(VECTOR_BYTES)));
};
template <class V>
using Number = std::remove_reference_t<decltype(V{}[0])>;
template <class V>
constexpr int LANES = sizeof(V) / sizeof(Number<V>);

template <class V>
SWMODEL_INLINE V load(const Number<V>* p) {
  return *reinterpret_cast<const typename Pack<Number<V>>::Unaligned*>(p);
}
template <class V>
SWMODEL_INLINE void store(Number<V>* p, V v) {
  *reinterpret_cast<typename Pack<Number<V>>::Unaligned*>(p) = v;
}
// A streaming (non-temporal) store if streaming is set and the processor has one; p must then be aligned to a vector.
template <class V>
SWMODEL_INLINE void store(Number<V>* p, V v, bool streaming) {
  if (!streaming) return store(p, v);
#if defined(__AVX512F__) && defined(__AVX512VL__)
  _mm512_stream_si512((__m512i*)p, (__m512i)v);
#elif defined(__AVX2__)
  _mm256_stream_si256((__m256i*)p, (__m256i)v);
#elif defined(__x86_64__)
  _mm_stream_si128((__m128i*)p, (__m128i)v);
#else
  store(p, v);
#endif
}
SWMODEL_INLINE void fence_streaming_stores() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}
template <class V>
SWMODEL_INLINE V broadcast(Number<V> x) {
  return V{} + x;
}
template <int FOR_WRITE, class T>
SWMODEL_INLINE void prefetch(const T* p) {
  __builtin_prefetch(p, FOR_WRITE);
}

// a b + c, rounded once where the processor can.
template <class V>
SWMODEL_INLINE V mad(V a, V b, V c) {
#if defined(__AVX512F__) && defined(__AVX512VL__)
  if constexpr (sizeof(Number<V>) == 4) return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
  else return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__AVX2__) && defined(__FMA__)
  if constexpr (sizeof(Number<V>) == 4) return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
  else return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
  V r;
  for (int i = 0; i < LANES<V>; ++i) r[i] = std::fma(a[i], b[i], c[i]);
  return r;
#else
  return a * b + c;
#endif
}

template <class V>
SWMODEL_INLINE V sqrt(V a) {
#if defined(__AVX512F__) && defined(__AVX512VL__)
  if constexpr (sizeof(Number<V>) == 4) return (V)_mm512_sqrt_ps((__m512)a);
  else return (V)_mm512_sqrt_pd((__m512d)a);
#elif defined(__AVX2__)
  if constexpr (sizeof(Number<V>) == 4) return (V)_mm256_sqrt_ps((__m256)a);
  else return (V)_mm256_sqrt_pd((__m256d)a);
#else
  V r;
  for (int i = 0; i < LANES<V>; ++i) r[i] = std::sqrt(a[i]);
  return r;
#endif
}

// One vector, from lane FIRST on, of a followed by b.
template <int FIRST, class V>
SWMODEL_INLINE V shifted(V a, V b) {
#if defined(__AVX512F__) && defined(__AVX512VL__)
  if constexpr (sizeof(Number<V>) == 4) return (V)_mm512_alignr_epi32((__m512i)b, (__m512i)a, FIRST);
  else return (V)_mm512_alignr_epi64((__m512i)b, (__m512i)a, FIRST);
#else
  static_assert(0 <= FIRST && FIRST <= LANES<V>);
#if defined(__clang__)
  V r;
  for (int i = 0; i < LANES<V>; ++i) r[i] = i + FIRST < LANES<V> ? a[i + FIRST] : b[i + FIRST - LANES<V>];
  return r;
#else
  typename Pack<Number<V>>::Integers at;
  for (int i = 0; i < LANES<V>; ++i) at[i] = FIRST + i;
  return __builtin_shuffle(a, b, at);
#endif
#endif
}
// The same from several vectors in a row, for FIRST beyond the first vector.
template <int FIRST, class V, class... More>
SWMODEL_INLINE V shifted(V a, V b, V c, More... more) {
  if constexpr (FIRST < LANES<V>) return shifted<FIRST>(a, b);
  else return shifted<FIRST - LANES<V>>(b, c, more...);
}

template <class V>
SWMODEL_INLINE V abs(V a) {
  using I = typename Pack<Number<V>>::Integers;
  return (V)((I)a & ~(I)(-V{}));
}
// NaN is propagated.
template <class V>
SWMODEL_INLINE V maximum(V a, V b) {
  return (a > b) | (a != a) ? a : b;
}
template <class V>
SWMODEL_INLINE V minimum(V a, V b) {
  return (a < b) | (a != a) ? a : b;
}

// The cube root: a guess from the exponent, then Newton's iteration for 1 / root, which needs no division.
template <class V>
SWMODEL_INLINE V cbrt(V a) {
  using T = Number<V>;
  using I = typename Pack<T>::Integers;
  constexpr bool SINGLE = sizeof(T) == 4;
  const V x = abs(a);
  const I guess = (SINGLE ? I{} + 0x54a21d2a : I{} + static_cast<typename Pack<T>::Integer>(0x553ef0ff289dd796)) - (I)x / 3;
  V r = (V)guess;
  for (int n = 0; n < (SINGLE ? 3 : 4); ++n) r = r * mad(-x * r, r * r, broadcast<V>(4)) * broadcast<V>(T(1) / 3);
  const V root = x * (r * r), better = mad(mad(-root * root, root, x), r * r * broadcast<V>(T(1) / 3), root);
  return x == 0 ? a : a < 0 ? -better : better;
}

// Functions without a vector instruction, lane by lane: slow, with the accuracy of the mathematical library.
#define SWMODEL_LANES(NAME)                                        \
  template <class V>                                               \
  SWMODEL_INLINE V NAME(V a) {                                     \
    for (int i = 0; i < LANES<V>; ++i) a[i] = std::NAME(a[i]);     \
    return a;                                                      \
  }
SWMODEL_LANES(exp)
SWMODEL_LANES(log)
SWMODEL_LANES(sin)
SWMODEL_LANES(cos)
#undef SWMODEL_LANES
template <class V>
SWMODEL_INLINE V power(V a, V b) {
  for (int i = 0; i < LANES<V>; ++i) a[i] = std::pow(a[i], b[i]);
  return a;
}

// ---- masks: one byte per cell; wet, open_u and open_v in the bits 0 to 2, the number of wet cells around the corner in the bits 3
// to 5, plus 4 at corners on a boundary without stress; open_boundary_u and open_boundary_v in the bits 6 and 7 ----

template <class V>
SWMODEL_INLINE auto load_mask_bits(const std::uint8_t* p) {
  using I = typename Pack<Number<V>>::Integers;
#if defined(__AVX512F__) && defined(__AVX512VL__)
  if constexpr (sizeof(Number<V>) == 4) return (I)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i*)p));
  else return (I)_mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i*)p));
#else
  I cell;
  for (int i = 0; i < LANES<V>; ++i) cell[i] = p[i];
  return cell;
#endif
}
// x where cells have a bit, and 0 elsewhere.
template <int BIT, class V, class I>
SWMODEL_INLINE V masked(V x, I cell) {
  return (cell & BIT) != 0 ? x : V{};
}
// The entries of a table for the number of wet cells around each corner. The eight entries stand twice, because a shuffle of 16
// lanes takes its index modulo 16.
template <class V, class I>
SWMODEL_INLINE V lookup_corner(const Number<V>* table, I cell) {
  const I around = cell >> 3;
#if !defined(__clang__)
  if constexpr (LANES<V> >= 8) return __builtin_shuffle(load<V>(table), around);
#endif
  V r;
  for (int i = 0; i < LANES<V>; ++i) r[i] = table[around[i] & 7];
  return r;
}
template <class T>
constexpr T CORNER_WEIGHT[] = {0, 4, 2, T(4.0 / 3), 1, 4, 2, T(4.0 / 3), 0, 4, 2, T(4.0 / 3), 1, 4, 2, T(4.0 / 3)};
template <class T>
constexpr T DRY_CORNER[] = {1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};

}  // namespace swmodel
