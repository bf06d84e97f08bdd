// The equations, one row of cells at a time: the terms of dynamics.py, terms/, vorticity_flux.py and timestep.py.
//
// A row is a pointer indexed by the column. Suffixes n, s, e, w: the value one place to the north, south, east, west.
// Every cell is computed by the same expression wherever it lies. The compiler does not contract products with sums
// (-ffp-contract=off); where they are to be fused, `fma` says so. So vectorised and remaining columns, threads and
// layouts, and machines with vectors of any width that have fused multiply-adds, all give the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace swmodel {

using Index = std::ptrdiff_t;

// Iterations are independent: a row is written at i from what is read at i, or from other rows.
#define FOR_COLUMNS(i, columns) \
  _Pragma("GCC ivdep") for (Index i = (columns).first, end_of_##i = (columns).end(); i < end_of_##i; ++i)

// Columns first <= i < last.
struct Columns {
  Index first, last;
  Index end() const { return last; }
};

// The same as whole lines of the cache, for rows in the workspace, which are padded: loops without a remainder.
template <class T>
struct Lines {
  static constexpr Index LENGTH = 64 / sizeof(T);
  Index first, number;
  Index end() const { return first + number * LENGTH; }
};

template <class T>
struct Uniform {
  T value;
  T operator[](Index) const { return value; }
};

template <class R, class T>
R row_as(const T* row) {
  if constexpr (std::is_same_v<R, Uniform<T>>) {
    return {*row};
  } else {
    return row;
  }
}

// Rows of one quantity: the one being computed (c) and its neighbours.
template <class T>
struct Around {
  const T *s, *c, *n;
};

template <class T>
struct Constants {
  T rdx, rdy, gravity, density, viscosity, biharmonic_viscosity, quadratic_drag, slip;
};

// Means of two and of four values. Halving is exact: a half may be taken before or after a product or a sum, with the
// same bits, and is taken where there are fewest.
template <class T>
inline T mean(T a, T b) {
  return T(0.5) * (a + b);
}

template <class T>
inline T mean(T a, T b, T c, T d) {
  return T(0.25) * ((a + b) + (c + d));
}

// a b + c, rounded once where the processor can. It is written out: left to the compiler, the variants of a loop could
// differ in the last bit.
template <class T>
inline T fma(T a, T b, T c) {
#if defined(__FMA__) || defined(__aarch64__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

// ---- masks ----------------------------------------------------------------------------------------------------------

// One byte a cell: wet, open_u and open_v in the bits 0 to 2, the number of wet cells around the corner above them.
constexpr std::uint8_t ALL_WATER = 1 + 2 + 4 + 8 * 4;

// The byte of a cell as an integer as wide as T, so that loops over both have vectors of one length.
template <class T>
using Cell = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

// Masks and boundary conditions of a row, as in grid.py, made where they are needed from the bytes of its cells.
template <class T>
struct Coast {
  const Cell<T>* cells;
  T boundary_slip;
  T wet(Index i) const { return T(cells[i] & 1); }
  T open_u(Index i) const { return T(cells[i] >> 1 & 1); }
  T open_v(Index i) const { return T(cells[i] >> 2 & 1); }
  T slip(Index i) const { return cells[i] >> 3 == 4 ? T(1) : boundary_slip; }
  T share(Index i) const {
    // One of four is not zero: written as a chain of choices this would become a table, and the loop slow.
    const Cell<T> n = cells[i] >> 3;
    return (n == 4 ? T(1) : T(0)) + (n == 3 ? T(4.0 / 3) : T(0)) + (n == 2 ? T(2) : T(0)) + (n == 1 ? T(4) : T(0));
  }
  T dry(Index i) const { return cells[i] >> 3 == 0 ? T(1) : T(0); }
};

// The same where everything is water; the compiler removes it.
template <class T>
struct Water {
  constexpr T wet(Index) const { return T(1); }
  constexpr T open_u(Index) const { return T(1); }
  constexpr T open_v(Index) const { return T(1); }
  constexpr T slip(Index) const { return T(1); }
};

template <class T>
void close_faces(T* u, T* v, Coast<T> coast, Columns columns) {
  FOR_COLUMNS(i, columns) {
    u[i] = coast.open_u(i) * u[i];
    v[i] = coast.open_v(i) * v[i];
  }
}

// What lies around a row.
template <class T>
struct Place {
  Around<T> h, u, v, U, V, P, q;
  Coast<T> coast_s, coast, coast_n;
};

// The masks of a row and of its neighbours to the south and north.
template <class M, class T>
std::tuple<M, M, M> masks_of(const Place<T>& at) {
  if constexpr (std::is_same_v<M, Water<T>>) {
    return {};
  } else {
    return {at.coast, at.coast_s, at.coast_n};
  }
}

// ---- fluxes of thickness, Bernoulli function, potential vorticity ---------------------------------------------------

// Of two neighbouring rows of the state, c and n, with powers of two taken out, which saves products, changes no bit:
//   U = 2 h^x u on east faces of n, m2 s-1
//   V = 2 h^y v on north faces of c, m2 s-1
//   P = 4 (g (h - H) + K) with K = ((u²)^x + (v²)^y) / 2, at centres of n, m2 s-2
//   q = (f + zeta) / (8 h_q) at corners of c, m-1 s-1: zeta = s (d_x v - d_y u), h_q the mean of h over the wet cells
//       around; where there is none, q is finite and meets no flux
template <class T>
struct Derived {
  T *U, *V, *P, *q;
};

// Rows on their way from memory into the workspace: copied while something else is computed, which hides the memory.
template <class T>
struct Copy {
  const T* from[3];
  T* to[3];
  void operator()(Index i) const {
    for (int field = 0; field < 3; ++field) to[field][i] = from[field][i];
  }
};

template <class F, class M, bool Copies, class T>
void derive(const Place<T>& at, Derived<T> out, const T* depth_n, const T* f_row, const Copy<T>& copy,
            const Constants<T>& k, Lines<T> lines) {
  const auto [h, u, v] = std::tuple(at.h, at.u, at.v);
  const auto [m, m_s, m_n] = masks_of<M>(at);
  const F f = row_as<F>(f_row);
  const T gravity4 = 4 * k.gravity, half_rdx = T(0.5) * k.rdx, half_rdy = T(0.5) * k.rdy;
  FOR_COLUMNS(i, lines) {
    out.U[i] = (h.n[i] + h.n[i + 1]) * u.n[i];
    out.V[i] = (h.c[i] + h.n[i]) * v.c[i];
    const T K4 = fma(u.n[i - 1], u.n[i - 1], u.n[i] * u.n[i]) + fma(v.c[i], v.c[i], v.n[i] * v.n[i]);
    out.P[i] = fma(gravity4, h.n[i] - depth_n[i], K4);
    const T half_zeta = fma(v.c[i + 1] - v.c[i], half_rdx, (u.c[i] - u.n[i]) * half_rdy);
    const T half_vorticity = fma(T(0.5), f[i], m.slip(i) * half_zeta);
    const T h_wet = (m.wet(i) * h.c[i] + m.wet(i + 1) * h.c[i + 1]) + (m_n.wet(i) * h.n[i] + m_n.wet(i + 1) * h.n[i + 1]);
    if constexpr (std::is_same_v<M, Water<T>>) {
      out.q[i] = half_vorticity / h_wet;
    } else {
      out.q[i] = half_vorticity / (m.share(i) * h_wet + m.dry(i));
    }
    if constexpr (Copies) copy(i);
  }
}

// ---- flux of potential vorticity: QV on u faces, QU on v faces, m s-2 -----------------------------------------------

// (q V^x)^y and (q U^y)^x. Reference: Sadourny (1975).
struct Energy {
  template <class T>
  static T QV(Index i, Around<T> q, Around<T>, Around<T> V, const Constants<T>&) {
    return fma(q.c[i], V.c[i] + V.c[i + 1], q.s[i] * (V.s[i] + V.s[i + 1]));
  }
  template <class T>
  static T QU(Index i, Around<T> q, Around<T> U, Around<T>, const Constants<T>&) {
    return fma(q.c[i], U.c[i] + U.n[i], q.c[i - 1] * (U.c[i - 1] + U.n[i - 1]));
  }
};

// q^y (V^x)^y and q^x (U^y)^x. Reference: Sadourny (1975).
struct Enstrophy {
  template <class T>
  static T QV(Index i, Around<T> q, Around<T>, Around<T> V, const Constants<T>&) {
    return T(0.5) * (q.c[i] + q.s[i]) * ((V.c[i] + V.c[i + 1]) + (V.s[i] + V.s[i + 1]));
  }
  template <class T>
  static T QU(Index i, Around<T> q, Around<T> U, Around<T>, const Constants<T>&) {
    return T(0.5) * (q.c[i] + q.c[i - 1]) * ((U.c[i] + U.n[i]) + (U.c[i - 1] + U.n[i - 1]));
  }
};

// Reference: Arakawa and Lamb (1981), eqs 3.33 and 3.34. The coefficients at (j, i) take the rows j and j-1 of q.
struct ArakawaLamb {
  template <class T>
  static T alpha(const T* q, const T* q_s, Index i) {
    return (2 * q[i + 1] + q[i] + 2 * q_s[i] + q_s[i + 1]) * T(1.0 / 6);
  }
  template <class T>
  static T beta(const T* q, const T* q_s, Index i) {
    return (q[i] + 2 * q[i - 1] + q_s[i - 1] + 2 * q_s[i]) * T(1.0 / 6);
  }
  template <class T>
  static T gamma(const T* q, const T* q_s, Index i) {
    return (2 * q[i] + q[i - 1] + 2 * q_s[i - 1] + q_s[i]) * T(1.0 / 6);
  }
  template <class T>
  static T delta(const T* q, const T* q_s, Index i) {
    return (q[i + 1] + 2 * q[i] + q_s[i] + 2 * q_s[i + 1]) * T(1.0 / 6);
  }
  template <class T>
  static T eps(const T* q, const T* q_s, Index i, const Constants<T>& k) {
    return (q[i] + q[i - 1] - q_s[i - 1] - q_s[i]) * (k.rdx / k.rdy * T(1.0 / 6));
  }
  template <class T>
  static T phi(const T* q, const T* q_s, Index i, const Constants<T>& k) {
    return (q[i - 1] - q[i] + q_s[i - 1] - q_s[i]) * (k.rdy / k.rdx * T(1.0 / 6));
  }
  template <class T>
  static T QV(Index i, Around<T> q, Around<T> U, Around<T> V, const Constants<T>& k) {
    return alpha(q.c, q.s, i) * V.c[i + 1] + beta(q.c, q.s, i) * V.c[i] + gamma(q.c, q.s, i) * V.s[i] +
           delta(q.c, q.s, i) * V.s[i + 1] - eps(q.c, q.s, i + 1, k) * U.c[i + 1] + eps(q.c, q.s, i, k) * U.c[i - 1];
  }
  template <class T>
  static T QU(Index i, Around<T> q, Around<T> U, Around<T> V, const Constants<T>& k) {
    return gamma(q.n, q.c, i) * U.n[i] + delta(q.n, q.c, i - 1) * U.n[i - 1] + alpha(q.c, q.s, i - 1) * U.c[i - 1] +
           beta(q.c, q.s, i) * U.c[i] + phi(q.n, q.c, i, k) * V.n[i] - phi(q.c, q.s, i, k) * V.s[i];
  }
};

// ---- friction -------------------------------------------------------------------------------------------------------

// L(u) = d_x d_x u + d_y (s d_y u) and L(v) = d_x (s d_x v) + d_y d_y v, added to d with the weights x = a / dx² and
// y = a / dy².
template <class T, class M>
inline T add_laplacian_u(T d, Index i, Around<T> u, M m, M m_s, T x, T y) {
  d = fma(x, fma(T(-2), u.c[i], u.c[i + 1] + u.c[i - 1]), d);
  return fma(y, fma(-(m.slip(i) + m_s.slip(i)), u.c[i], m.slip(i) * u.n[i] + m_s.slip(i) * u.s[i]), d);
}

template <class T, class M>
inline T add_laplacian_v(T d, Index i, Around<T> v, M m, T x, T y) {
  d = fma(x, fma(-(m.slip(i) + m.slip(i - 1)), v.c[i], m.slip(i) * v.c[i + 1] + m.slip(i - 1) * v.c[i - 1]), d);
  return fma(y, fma(T(-2), v.c[i], v.n[i] + v.s[i]), d);
}

// L(u) and L(v) on open faces, m-1 s-1.
template <class T>
void laplacian(T* Lu, T* Lv, const Place<T>& at, const Constants<T>& k, Lines<T> lines) {
  const auto [u, v, m, m_s] = std::tuple(at.u, at.v, at.coast, at.coast_s);
  const T x = k.rdx * k.rdx, y = k.rdy * k.rdy;
  FOR_COLUMNS(i, lines) {
    Lu[i] = m.open_u(i) * add_laplacian_u(T(0), i, u, m, m_s, x, y);
    Lv[i] = m.open_v(i) * add_laplacian_v(T(0), i, v, m, x, y);
  }
}

// ---- forcing --------------------------------------------------------------------------------------------------------

// The tendencies of a row: m s-1, m s-2, m s-2.
template <class T>
struct Tendency {
  T *h, *u, *v;
};

// Wind, bottom drag: du = (wind_x^x / rho - C |u| u) / h^x - r^x u, dv likewise, |u| with the other component averaged
// to the face. Rows of what is not switched on are not read.
template <class T>
struct Stresses {
  Around<T> wind_x, wind_y, linear_drag;
};

template <bool Wind, bool Linear, bool Quadratic, class T>
void stress(Tendency<T> d, const Place<T>& at, Stresses<T> rows, const Constants<T>& constants, Lines<T> lines) {
  const Constants<T> k = constants;
  const auto [h, u, v] = std::tuple(at.h, at.u, at.v);
  const auto [wind_x, wind_y, r] = rows;
  const T half_volume = T(0.5) / k.density;
  FOR_COLUMNS(i, lines) {
    T on_u = 0, on_v = 0;
    if constexpr (Wind) {
      on_u += (wind_x.c[i] + wind_x.c[i + 1]) * half_volume;
      on_v += (wind_y.c[i] + wind_y.n[i]) * half_volume;
    }
    if constexpr (Quadratic) {
      const T v_there = mean(v.c[i], v.c[i + 1], v.s[i], v.s[i + 1]);
      const T u_there = mean(u.c[i], u.c[i - 1], u.n[i], u.n[i - 1]);
      on_u -= k.quadratic_drag * std::sqrt(u.c[i] * u.c[i] + v_there * v_there) * u.c[i];
      on_v -= k.quadratic_drag * std::sqrt(v.c[i] * v.c[i] + u_there * u_there) * v.c[i];
    }
    if constexpr (Wind || Quadratic) {
      on_u /= mean(h.c[i], h.c[i + 1]);
      on_v /= mean(h.c[i], h.n[i]);
    }
    if constexpr (Linear) {
      on_u -= mean(r.c[i], r.c[i + 1]) * u.c[i];
      on_v -= mean(r.c[i], r.n[i]) * v.c[i];
    }
    d.h[i] = 0;
    d.u[i] = on_u;
    d.v[i] = on_v;
  }
}

// Biharmonic friction: du -= nu4 L(L(u)), dv likewise.
template <class T>
void biharmonic(Tendency<T> d, Around<T> Lu, Around<T> Lv, const Place<T>& at, const Constants<T>& k, Lines<T> lines) {
  const auto [m, m_s] = std::tuple(at.coast, at.coast_s);
  const T x = -k.biharmonic_viscosity * k.rdx * k.rdx, y = -k.biharmonic_viscosity * k.rdy * k.rdy;
  FOR_COLUMNS(i, lines) {
    d.u[i] = add_laplacian_u(d.u[i], i, Lu, m, m_s, x, y);
    d.v[i] = add_laplacian_v(d.v[i], i, Lv, m, x, y);
  }
}

// Sponge: dh -= rate (h - H), du -= rate u, dv -= rate v, with the rate at each.
template <class T>
void sponge(Tendency<T> d, const T* rate_c, const T* rate_u, const T* rate_v, const T* depth, const T* h, const T* u,
            const T* v, Lines<T> lines) {
  FOR_COLUMNS(i, lines) {
    d.h[i] -= rate_c[i] * (h[i] - depth[i]);
    d.u[i] -= rate_u[i] * u[i];
    d.v[i] -= rate_v[i] * v[i];
  }
}

// ---- time steppers: of one field, y its present value, F the tendency -----------------------------------------------

template <class T>
struct Field {
  T* y_out;
  const T* in[4];  // what the stepper remembers or has computed
  T* out[4];
  // Have the processor bring the columns near, to be written.
  void call_for(Columns columns) const {
    for (Index i = columns.first; i < columns.last; i += Lines<T>::LENGTH) {
      __builtin_prefetch(y_out + i, 1);
      __builtin_prefetch(out[0] + i, 1);
    }
  }
};

// y' = y + (w0 F + w1 F1 [+ w2 F2]);  F2' = F1, F1' = F.
template <int Past, class T>
struct Multistep {
  T w0, w1, w2;
  explicit Multistep(const T* w) : w0(w[0]), w1(w[1]), w2(Past > 1 ? w[2] : T(0)) {}
  struct Result {
    T y, F, before;
    void write(const Field<T>& field, Index i) const {
      field.y_out[i] = y;
      field.out[0][i] = F;
      if constexpr (Past > 1) field.out[1][i] = before;
    }
  };
  Result operator()(const Field<T>& field, Index i, T y, T F) const {
    const T before = field.in[0][i];
    T change = fma(w0, F, w1 * before);
    if constexpr (Past > 1) change = fma(w2, field.in[1][i], change);
    return {y + change, F, before};
  }
};

// y' = x + w F,  x' = y + a (x - 2 y + y'), x the filtered state before y.
template <class T>
struct Leapfrog {
  T interval, filter;
  explicit Leapfrog(const T* w) : interval(w[0]), filter(w[1]) {}
  struct Result {
    T y, filtered;
    void write(const Field<T>& field, Index i) const {
      field.y_out[i] = y;
      field.out[0][i] = filtered;
    }
  };
  Result operator()(const Field<T>& field, Index i, T y, T F) const {
    const T before = field.in[0][i], after = fma(interval, F, before);
    return {after, fma(filter, before - 2 * y + after, y)};
  }
};

// y' = x + (w0 F0 + ... + wn F), x the state at the beginning of the step; F is kept.
template <int Past, class T>
struct RungeKutta {
  T w[Past + 1];
  explicit RungeKutta(const T* weights) { std::copy(weights, weights + Past + 1, w); }
  struct Result {
    T y, F;
    void write(const Field<T>& field, Index i) const {
      field.y_out[i] = y;
      field.out[0][i] = F;
    }
  };
  Result operator()(const Field<T>& field, Index i, T, T F) const {
    T change = w[Past] * F;
    for (int s = 0; s < Past; ++s) change = fma(w[s], field.in[1 + s][i], change);
    return {field.in[0][i] + change, F};
  }
};

// ---- the step -------------------------------------------------------------------------------------------------------

// F_h = - d_x U - d_y V,  F_u = + QV - d_x P + nu L(u),  F_v = - QU - d_y P + nu L(v), each with the forcing, on open
// faces; then a step on. U and V come doubled, P fourfold, QV and QU right, from U, V and q as `derive` leaves them.
template <class Flux, bool Viscous, bool Forced, class Step, class M, class T>
void advance(const Place<T>& at, Tendency<T> forcing, const Field<T>* fields, const T* weights, const Constants<T>& k,
             Columns columns) {
  const T half_rdx = T(0.5) * k.rdx, half_rdy = T(0.5) * k.rdy;
  const T quarter_rdx = T(0.25) * k.rdx, quarter_rdy = T(0.25) * k.rdy;
  const T nu_x = k.viscosity * k.rdx * k.rdx, nu_y = k.viscosity * k.rdy * k.rdy;
  const Constants<T> constants = k;
  const auto [h, u, v, U, V, P, q, coast_s, coast, coast_n] = at;
  const auto [m, m_s, m_n] = masks_of<M>(at);
  const Field<T> h_field = fields[0], u_field = fields[1], v_field = fields[2];
  const Step step(weights);
  // What is going to be written is called for a few lines ahead: 6.6 ms a step, not 7.2, at 3600 x 1800 in float32.
  constexpr Index PART = 4 * Lines<T>::LENGTH;
  for (Columns part{columns.first, columns.first}; part.last < columns.last; part.first = part.last) {
    part.last = std::min(part.first + PART, columns.last);
    for (int f = 0; f < 3; ++f) fields[f].call_for({part.last, part.last + PART});
    FOR_COLUMNS(i, part) {
      T dh = fma(U.c[i - 1] - U.c[i], half_rdx, (V.s[i] - V.c[i]) * half_rdy);
      T du = fma(P.c[i] - P.c[i + 1], quarter_rdx, Flux::QV(i, q, U, V, constants));
      T dv = fma(P.c[i] - P.n[i], quarter_rdy, -Flux::QU(i, q, U, V, constants));
      if constexpr (Viscous) {
        du = add_laplacian_u(du, i, u, m, m_s, nu_x, nu_y);
        dv = add_laplacian_v(dv, i, v, m, nu_x, nu_y);
      }
      if constexpr (Forced) {
        dh += forcing.h[i];
        du += forcing.u[i];
        dv += forcing.v[i];
      }
      // All is read before anything is written: arrays a whole number of pages apart would wait for each other.
      const auto h_new = step(h_field, i, h.c[i], m.wet(i) * dh);
      const auto u_new = step(u_field, i, u.c[i], m.open_u(i) * du);
      const auto v_new = step(v_field, i, v.c[i], m.open_v(i) * dv);
      h_new.write(h_field, i);
      u_new.write(u_field, i);
      v_new.write(v_field, i);
    }
  }
}

}  // namespace swmodel
