// The equations, one row of cells at a time: the terms of dynamics.py, friction.py, vorticity_flux.py and timestep.py.
//
// A row is a pointer indexed by the column. A field whose row holds one value is a Uniform, indexed the same way, so that
// each function below is written once and costs nothing where a field does not vary. Suffixes n, s, e, w: the value one
// place to the north, south, east, west. Every cell is computed by the same expression wherever it lies, and products are
// never contracted with sums (-ffp-contract=off), so vectorised and remaining columns, threads and layouts, and machines
// with and without wide vectors all give the same bits.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace swmodel {

using Index = std::ptrdiff_t;

// Columns first <= i < last. Iterations are independent: a row is written at i from what is read at i, or from other rows.
#define FOR_COLUMNS(i, columns) _Pragma("GCC ivdep") for (Index i = (columns).first; i < (columns).last; ++i)

struct Columns {
  Index first, last;
};

template <class T>
struct Uniform {
  T value;
  T operator[](Index) const { return value; }
};

// A row of ones, which the compiler removes: the masks where everything is water.
template <class T>
struct Ones {
  constexpr T operator[](Index) const { return T(1); }
};

// Rows of one quantity: the one being computed (c) and its neighbours.
template <class Row>
struct Around {
  Row s, c, n;
};

// Masks and boundary conditions of a row, as in grid.py. R is const T*, Uniform<T> or Ones<T>.
template <class R>
struct Masks {
  R wet, open_u, open_v, slip, share, dry;
};

template <class T>
struct Constants {
  T rdx, rdy, gravity, density, viscosity, biharmonic_viscosity, quadratic_drag, slip;
};

// Means of two and of four values. Halving is exact: a half may be taken before or after a product or a sum, with the same
// bits, and is taken where there are fewest.
template <class T>
inline T mean(T a, T b) {
  return T(0.5) * (a + b);
}

template <class T>
inline T mean(T a, T b, T c, T d) {
  return T(0.25) * ((a + b) + (c + d));
}

// ---- masks -----------------------------------------------------------------------------------------------------------

// One byte a cell: wet, open_u and open_v in the bits 0 to 2, the number of wet cells around the corner above them.
constexpr std::uint8_t ALL_WATER = 1 + 2 + 4 + 8 * 4;

template <class T>
struct Unpacked {
  T wet, open_u, open_v, slip, share, dry;
  Unpacked(std::uint8_t code, T boundary_slip) {
    const int around = code >> 3;
    wet = T(code & 1);
    open_u = T(code >> 1 & 1);
    open_v = T(code >> 2 & 1);
    slip = around == 4 ? T(1) : boundary_slip;
    share = around == 4 ? T(1) : around == 3 ? T(4.0 / 3) : around == 2 ? T(2) : around == 1 ? T(4) : T(0);
    dry = around == 0 ? T(1) : T(0);
  }
};

template <class T>
void unpack(const Masks<T*>& m, const std::uint8_t* code, T boundary_slip, Columns columns) {
  FOR_COLUMNS(i, columns) {
    const Unpacked<T> cell(code[i], boundary_slip);
    m.wet[i] = cell.wet;
    m.open_u[i] = cell.open_u;
    m.open_v[i] = cell.open_v;
    m.slip[i] = cell.slip;
    m.share[i] = cell.share;
    m.dry[i] = cell.dry;
  }
}

template <class T, class M>
void close_faces(T* u, T* v, const Masks<M>& m, Columns columns) {
  FOR_COLUMNS(i, columns) {
    u[i] = m.open_u[i] * u[i];
    v[i] = m.open_v[i] * v[i];
  }
}

// ---- fluxes of thickness, Bernoulli function, potential vorticity ------------------------------------------------------

// U = h^x u on east faces, m2 s-1.
template <class T>
void thickness_flux_u(T* __restrict U, const T* h, const T* u, Columns columns) {
  FOR_COLUMNS(i, columns) U[i] = mean(h[i], h[i + 1]) * u[i];
}

// V = h^y v on north faces, m2 s-1.
template <class T>
void thickness_flux_v(T* __restrict V, const T* h, const T* h_n, const T* v, Columns columns) {
  FOR_COLUMNS(i, columns) V[i] = mean(h[i], h_n[i]) * v[i];
}

// P = g (h - H) + K with K = ((u²)^x + (v²)^y) / 2, at centres, m2 s-2.
template <class T, class D>
void bernoulli(T* __restrict P, const T* h, D depth, const T* u, const T* v, const T* v_s, T gravity, Columns columns) {
  FOR_COLUMNS(i, columns) {
    const T K = mean(u[i] * u[i], u[i - 1] * u[i - 1], v[i] * v[i], v_s[i] * v_s[i]);
    P[i] = gravity * (h[i] - depth[i]) + K;
  }
}

// h_q from the mean of h over the four cells around a corner, of which only the wet ones have contributed, m.
template <class T, class M>
inline T corner_thickness(T h_wet, const Masks<M>& m, Index i) {
  return m.share[i] * h_wet + m.dry[i];
}

template <class T>
inline T corner_thickness(T h_wet, const Masks<Ones<T>>&, Index) {
  return h_wet;
}

// q = (f + zeta) / h_q at corners, m-1 s-1: zeta = s (d_x v - d_y u), h_q the mean of h over the wet cells around.
template <class T, class F, class M>
void potential_vorticity(T* __restrict q, const T* h, const T* h_n, const T* u, const T* u_n, const T* v, F f,
                         const Masks<M>& m, M wet_n, const Constants<T>& k, Columns columns) {
  FOR_COLUMNS(i, columns) {
    const T zeta = m.slip[i] * ((v[i + 1] - v[i]) * k.rdx - (u_n[i] - u[i]) * k.rdy);
    const T h_wet = mean(m.wet[i] * h[i], m.wet[i + 1] * h[i + 1], wet_n[i] * h_n[i], wet_n[i + 1] * h_n[i + 1]);
    q[i] = (f[i] + zeta) / corner_thickness(h_wet, m, i);
  }
}

// ---- flux of potential vorticity: QV on u faces, QU on v faces, m s-2 --------------------------------------------------

// (q V^x)^y and (q U^y)^x. Reference: Sadourny (1975).
struct Energy {
  template <class T>
  static T QV(Index i, Around<const T*> q, Around<const T*>, Around<const T*> V, const Constants<T>&) {
    return T(0.25) * (q.c[i] * (V.c[i] + V.c[i + 1]) + q.s[i] * (V.s[i] + V.s[i + 1]));
  }
  template <class T>
  static T QU(Index i, Around<const T*> q, Around<const T*> U, Around<const T*>, const Constants<T>&) {
    return T(0.25) * (q.c[i] * (U.c[i] + U.n[i]) + q.c[i - 1] * (U.c[i - 1] + U.n[i - 1]));
  }
};

// q^y (V^x)^y and q^x (U^y)^x. Reference: Sadourny (1975).
struct Enstrophy {
  template <class T>
  static T QV(Index i, Around<const T*> q, Around<const T*>, Around<const T*> V, const Constants<T>&) {
    return mean(q.c[i], q.s[i]) * mean(V.c[i], V.c[i + 1], V.s[i], V.s[i + 1]);
  }
  template <class T>
  static T QU(Index i, Around<const T*> q, Around<const T*> U, Around<const T*>, const Constants<T>&) {
    return mean(q.c[i], q.c[i - 1]) * mean(U.c[i], U.n[i], U.c[i - 1], U.n[i - 1]);
  }
};

// Reference: Arakawa and Lamb (1981), eqs 3.33 and 3.34. The coefficients at (j, i) take the rows j and j-1 of q.
struct ArakawaLamb {
  template <class T>
  static T alpha(const T* q, const T* q_s, Index i) {
    return (2 * q[i + 1] + q[i] + 2 * q_s[i] + q_s[i + 1]) * T(1.0 / 24);
  }
  template <class T>
  static T beta(const T* q, const T* q_s, Index i) {
    return (q[i] + 2 * q[i - 1] + q_s[i - 1] + 2 * q_s[i]) * T(1.0 / 24);
  }
  template <class T>
  static T gamma(const T* q, const T* q_s, Index i) {
    return (2 * q[i] + q[i - 1] + 2 * q_s[i - 1] + q_s[i]) * T(1.0 / 24);
  }
  template <class T>
  static T delta(const T* q, const T* q_s, Index i) {
    return (q[i + 1] + 2 * q[i] + q_s[i] + 2 * q_s[i + 1]) * T(1.0 / 24);
  }
  template <class T>
  static T eps(const T* q, const T* q_s, Index i, const Constants<T>& k) {
    return (q[i] + q[i - 1] - q_s[i - 1] - q_s[i]) * (k.rdx / k.rdy * T(1.0 / 24));
  }
  template <class T>
  static T phi(const T* q, const T* q_s, Index i, const Constants<T>& k) {
    return (q[i - 1] - q[i] + q_s[i - 1] - q_s[i]) * (k.rdy / k.rdx * T(1.0 / 24));
  }
  template <class T>
  static T QV(Index i, Around<const T*> q, Around<const T*> U, Around<const T*> V, const Constants<T>& k) {
    return alpha(q.c, q.s, i) * V.c[i + 1] + beta(q.c, q.s, i) * V.c[i] + gamma(q.c, q.s, i) * V.s[i] +
           delta(q.c, q.s, i) * V.s[i + 1] - eps(q.c, q.s, i + 1, k) * U.c[i + 1] + eps(q.c, q.s, i, k) * U.c[i - 1];
  }
  template <class T>
  static T QU(Index i, Around<const T*> q, Around<const T*> U, Around<const T*> V, const Constants<T>& k) {
    return gamma(q.n, q.c, i) * U.n[i] + delta(q.n, q.c, i - 1) * U.n[i - 1] + alpha(q.c, q.s, i - 1) * U.c[i - 1] +
           beta(q.c, q.s, i) * U.c[i] + phi(q.n, q.c, i, k) * V.n[i] - phi(q.c, q.s, i, k) * V.s[i];
  }
};

// ---- tendencies ---------------------------------------------------------------------------------------------------------

// The tendencies of a row, before its masks: m s-1, m s-2, m s-2.
template <class T>
struct Tendency {
  T *h, *u, *v;
};

// L(u) = d_x d_x u + d_y (s d_y u) on open u faces, m-1 s-1.
template <class T, class M>
inline T laplacian_u(Index i, Around<const T*> u, const Masks<M>& m, M slip_s, const Constants<T>& k) {
  const T stress_xx = (u.c[i] - u.c[i - 1]) * k.rdx, stress_xx_e = (u.c[i + 1] - u.c[i]) * k.rdx;
  const T stress_xy = m.slip[i] * ((u.n[i] - u.c[i]) * k.rdy), stress_xy_s = slip_s[i] * ((u.c[i] - u.s[i]) * k.rdy);
  return m.open_u[i] * ((stress_xx_e - stress_xx) * k.rdx + (stress_xy - stress_xy_s) * k.rdy);
}

// L(v) = d_x (s d_x v) + d_y d_y v on open v faces, m-1 s-1.
template <class T, class M>
inline T laplacian_v(Index i, Around<const T*> v, const Masks<M>& m, const Constants<T>& k) {
  const T stress_yx = m.slip[i] * ((v.c[i + 1] - v.c[i]) * k.rdx);
  const T stress_yx_w = m.slip[i - 1] * ((v.c[i] - v.c[i - 1]) * k.rdx);
  const T stress_yy = (v.c[i] - v.s[i]) * k.rdy, stress_yy_n = (v.n[i] - v.c[i]) * k.rdy;
  return m.open_v[i] * ((stress_yx - stress_yx_w) * k.rdx + (stress_yy_n - stress_yy) * k.rdy);
}

// nu L(u) and nu L(v); with nu = - nu4 and L(u), L(v) in place of u, v it is biharmonic friction.
template <class T, class M>
struct Friction {
  Around<const T*> u, v;
  Masks<M> m;
  M slip_s;
  T nu;
  Constants<T> k;
  T on_u(Index i) const { return nu * laplacian_u(i, u, m, slip_s, k); }
  T on_v(Index i) const { return nu * laplacian_v(i, v, m, k); }
};

struct Frictionless {};

// dh = - d_x U - d_y V,  du = + QV - d_x P + friction,  dv = - QU - d_y P + friction.
template <class Flux, class T, class F>
void motion(Tendency<T> d, Around<const T*> U, Around<const T*> V, Around<const T*> P, Around<const T*> q, F friction,
            const Constants<T>& constants, Columns columns) {
  const Constants<T> k = constants;
  FOR_COLUMNS(i, columns) {
    d.h[i] = -((U.c[i] - U.c[i - 1]) * k.rdx + (V.c[i] - V.s[i]) * k.rdy);
    T du = Flux::QV(i, q, U, V, k) - (P.c[i + 1] - P.c[i]) * k.rdx;
    T dv = -((P.n[i] - P.c[i]) * k.rdy) - Flux::QU(i, q, U, V, k);
    if constexpr (!std::is_same_v<F, Frictionless>) {
      du += friction.on_u(i);
      dv += friction.on_v(i);
    }
    d.u[i] = du;
    d.v[i] = dv;
  }
}

// du += wind_x^x / (rho h^x),  dv += wind_y^y / (rho h^y).
template <class T, class X, class Y>
void wind(Tendency<T> d, X wind_x, Y wind_y, Y wind_y_n, Around<const T*> h, T density, Columns columns) {
  FOR_COLUMNS(i, columns) {
    d.u[i] += mean(wind_x[i], wind_x[i + 1]) / (density * mean(h.c[i], h.c[i + 1]));
    d.v[i] += mean(wind_y[i], wind_y_n[i]) / (density * mean(h.c[i], h.n[i]));
  }
}

// du -= r^x u,  dv -= r^y v.
template <class T, class R>
void linear_drag(Tendency<T> d, R r, R r_n, const T* u, const T* v, Columns columns) {
  FOR_COLUMNS(i, columns) {
    d.u[i] -= mean(r[i], r[i + 1]) * u[i];
    d.v[i] -= mean(r[i], r_n[i]) * v[i];
  }
}

// du -= C |u| u / h^x,  dv -= C |u| v / h^y, with the other component averaged to the face.
template <class T>
void quadratic_drag(Tendency<T> d, Around<const T*> h, Around<const T*> u, Around<const T*> v, T C, Columns columns) {
  FOR_COLUMNS(i, columns) {
    const T v_there = mean(v.c[i], v.c[i + 1], v.s[i], v.s[i + 1]);
    const T u_there = mean(u.c[i], u.c[i - 1], u.n[i], u.n[i - 1]);
    const T speed_u = std::sqrt(u.c[i] * u.c[i] + v_there * v_there);
    const T speed_v = std::sqrt(v.c[i] * v.c[i] + u_there * u_there);
    d.u[i] -= C * speed_u * u.c[i] / mean(h.c[i], h.c[i + 1]);
    d.v[i] -= C * speed_v * v.c[i] / mean(h.c[i], h.n[i]);
  }
}

template <class T, class M>
void laplacian(T* __restrict Lu, T* __restrict Lv, Around<const T*> u, Around<const T*> v, const Masks<M>& m, M slip_s,
               const Constants<T>& k, Columns columns) {
  FOR_COLUMNS(i, columns) {
    Lu[i] = laplacian_u(i, u, m, slip_s, k);
    Lv[i] = laplacian_v(i, v, m, k);
  }
}

template <class T, class F>
void add(Tendency<T> d, F friction, Columns columns) {
  FOR_COLUMNS(i, columns) {
    d.u[i] += friction.on_u(i);
    d.v[i] += friction.on_v(i);
  }
}

// d -= rate x, of one field.
template <class T, class R>
void relax(T* __restrict d, R rate, const T* x, Columns columns) {
  FOR_COLUMNS(i, columns) d[i] -= rate[i] * x[i];
}

// dh -= rate (h - H).
template <class T, class R, class D>
void relax_thickness(T* __restrict d, R rate, const T* h, D depth, Columns columns) {
  FOR_COLUMNS(i, columns) d[i] -= rate[i] * (h[i] - depth[i]);
}

// ---- time steppers, of one field: y its present value, F = mask d the tendency ------------------------------------------

// y' = y + (w0 F + w1 F1 [+ w2 F2]);  F2' = F1, F1' = F.
template <int Past, class T, class M>
void multistep(T* y_out, T* const* out, const T* y, const T* d, M mask, const T* const* in, const T* w, Columns columns) {
  const T *F1 = in[0], *F2 = Past > 1 ? in[1] : nullptr;
  T *out1 = out[0], *out2 = Past > 1 ? out[1] : nullptr;
  const T w0 = w[0], w1 = w[1], w2 = Past > 1 ? w[2] : T(0);
  FOR_COLUMNS(i, columns) {
    const T F = mask[i] * d[i], before = F1[i];
    T change = w0 * F + w1 * before;
    if constexpr (Past > 1) {
      change += w2 * F2[i];
      out2[i] = before;
    }
    out1[i] = F;
    y_out[i] = y[i] + change;
  }
}

// y' = x + w F,  x' = y + a (x - 2 y + y'), x the filtered state before y.
template <class T, class M>
void leapfrog(T* y_out, T* x_out, const T* y, const T* d, M mask, const T* x, const T* w, Columns columns) {
  const T interval = w[0], filter = w[1];
  FOR_COLUMNS(i, columns) {
    const T now = y[i], before = x[i];
    const T after = before + interval * (mask[i] * d[i]);
    x_out[i] = now + filter * (before - 2 * now + after);
    y_out[i] = after;
  }
}

// y' = x + (w0 F0 + ... + wn F), x the state at the beginning of the step; F is kept if there is a place for it.
template <int Past, bool Keep, class T, class M>
void runge_kutta(T* y_out, T* F_out, const T* x, const T* d, M mask, const T* const* in, const T* w, Columns columns) {
  FOR_COLUMNS(i, columns) {
    const T F = mask[i] * d[i];
    T change = w[Past] * F;
    if constexpr (Past == 1) change = w[0] * in[0][i] + w[1] * F;
    if constexpr (Past == 2) change = w[0] * in[0][i] + w[1] * in[1][i] + w[2] * F;
    if constexpr (Past == 3) change = w[0] * in[0][i] + w[1] * in[1][i] + w[2] * in[2][i] + w[3] * F;
    y_out[i] = x[i] + change;
    if constexpr (Keep) F_out[i] = F;
  }
}

}  // namespace swmodel
