// The sweep: rows come in from the south, and the new rows go out where the old ones were.
//
// A block of rows is swept in tiles of columns, so that the few rows that a step needs at a time stay in the cache. A Level
// takes one time step: it keeps the last rows of the state and of what is computed from them in rings, and when it has taken
// row r it gives the new row r - width. Several Levels in a chain take several steps in one pass over memory.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "rows.h"

namespace swmodel {

constexpr int FIELDS = 3;  // h, u, v
constexpr int MOST_GROUPS = 5;  // the state, and what the time stepper remembers

enum class Flux { energy, enstrophy, arakawa_lamb };
enum class Stepper { multistep, leapfrog, runge_kutta };

struct Terms {
  Flux flux;
  bool wind, linear_drag, quadratic_drag, viscosity, biharmonic_viscosity, sponge;
};

// A static field with `margin` rows and columns around the block; an axis of length one holds one value for all.
template <class T>
struct Static {
  const T* data;
  Index rows, columns, margin;
  bool varies() const { return columns > 1; }
  const T* row(Index r) const { return data + (rows > 1 ? (r + margin) * columns : 0) + (varies() ? margin : 0); }
  // use(row r, row r + 1), with Uniforms where the values do not vary along the row.
  template <class Use>
  void visit(Index r, Use use) const {
    if (varies()) {
      use(row(r), row(r + 1));
    } else {
      use(Uniform<T>{*row(r)}, Uniform<T>{*row(r + 1)});
    }
  }
};

// What one call computes. `halo` = width times levels; fields [ny, nx]; strips as in native.py.
template <class T>
struct Job {
  Index ny, nx, width, levels, halo, travelling, tile;
  Terms terms;
  Stepper stepper;
  int past;
  Constants<T> k;
  const T* weights;
  Index weights_per_level;
  Index groups_in, groups_out;
  std::array<const T*, FIELDS * MOST_GROUPS> in;
  std::array<T*, FIELDS * MOST_GROUPS> out;
  const T *west, *east, *south, *north;
  T *edge_west, *edge_east, *edge_south, *edge_north;
  Static<T> f, depth, linear_drag, wind_x, wind_y, sponge_c, sponge_u, sponge_v;
  Static<std::uint8_t> masks;
};

// Memory of one thread, handed out in aligned rows that are indexed by the column.
template <class T>
class Workspace {
 public:
  static constexpr Index LINE = 64 / sizeof(T);
  // Rows of `columns`, of which `aligned` begins a line of the cache.
  Workspace(Columns columns, Index aligned, Index rows)
      : first_(aligned - (aligned - columns.first + LINE - 1) / LINE * LINE) {
    stride_ = (columns.last - first_ + LINE) / LINE * LINE + LINE;
    memory_.resize(std::max<std::size_t>(memory_.size(), rows * stride_ + LINE));
    next_ = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(memory_.data()) + 63) / 64 * 64);
  }
  T* rows(Index n) {
    T* start = next_;
    next_ += n * stride_;
    return start - first_;
  }
  Index stride() const { return stride_; }

 private:
  static inline thread_local std::vector<T> memory_;
  Index first_, stride_;
  T* next_;
};

// The last `depth` rows of one quantity.
template <class T>
class Ring {
 public:
  Ring() = default;
  Ring(Workspace<T>& space, Index depth) : rows_(space.rows(depth)), stride_(space.stride()), depth_(depth) {}
  T* operator()(Index r) const { return rows_ + (r + 64 * depth_) % depth_ * stride_; }
  Around<const T*> around(Index r) const { return {(*this)(r - 1), (*this)(r), (*this)(r + 1)}; }

 private:
  T* rows_ = nullptr;
  Index stride_ = 0, depth_ = 1;
};

// One time step of the rows that come in, from `first` on, in the given columns.
template <class T>
class Level {
 public:
  static Index rows_needed(const Job<T>& job) {
    const Index w = job.width, masks = job.masks.varies() ? 6 : 0, laplacians = job.terms.biharmonic_viscosity ? 6 : 0;
    return (2 * w + 1) * (FIELDS + masks) + (w + 1) * (4 + job.travelling - FIELDS) + laplacians + FIELDS;
  }

  Level(const Job<T>& job, Workspace<T>& space, Index number, Index first, Columns columns)
      : job_(job), weights_(job.weights + number * job.weights_per_level), first_(first), columns_(columns) {
    const Index w = job.width;
    for (auto& ring : state_) ring = Ring<T>(space, 2 * w + 1);
    for (auto* ring : {&U_, &V_, &P_, &q_}) *ring = Ring<T>(space, w + 1);
    for (Index f = FIELDS; f < job.travelling; ++f) memory_[f - FIELDS] = Ring<T>(space, w + 1);
    for (T** row : {&d_.h, &d_.u, &d_.v}) *row = space.rows(1);
    if (job.terms.biharmonic_viscosity) {
      Lu_ = Ring<T>(space, 3);
      Lv_ = Ring<T>(space, 3);
    }
    if (job.masks.varies()) {
      for (auto& ring : masks_) ring = Ring<T>(space, 2 * w + 1);
    }
  }

  // Where the incoming row r of a field is to be put.
  T* slot(Index field, Index r) const { return field < FIELDS ? state_[field](r) : memory_[field - FIELDS](r); }

  // Compute what row r, which is in its slots now, allows.
  void take(Index r) {
    const auto &[h, u, v] = state_;
    if (job_.masks.varies()) unpack(varying_masks(r), job_.masks.row(r), job_.k.slip, columns_);
    with_masks(r, [&](auto, auto m, auto) {
      if constexpr (!std::is_same_v<decltype(m), Masks<Ones<T>>>) close_faces(u(r), v(r), m, columns_);
    });
    thickness_flux_u(U_(r), h(r), u(r), within(0, 1));
    if (r == first_) return;
    job_.depth.visit(r, [&](auto depth, auto) {
      bernoulli(P_(r), h(r), depth, u(r), v(r), v(r - 1), job_.k.gravity, within(1, 0));
    });
    const Index s = r - 1;
    thickness_flux_v(V_(s), h(s), h(r), v(s), columns_);
    with_masks(s, [&](auto, auto m, auto m_n) {
      job_.f.visit(s, [&](auto f, auto) {
        potential_vorticity(q_(s), h(s), h(r), u(s), u(r), v(s), f, m, m_n.wet, job_.k, within(0, 1));
      });
    });
    if (job_.terms.biharmonic_viscosity && r >= first_ + 2) {
      with_masks(s, [&](auto m_s, auto m, auto) {
        laplacian(Lu_(s), Lv_(s), u.around(s), v.around(s), m, m_s.slip, job_.k, within(1, 1));
      });
    }
  }

  // Whether taking row r completes what the new row r - width needs.
  bool completes(Index r) const { return r >= first_ + 2 * job_.width; }

  // Compute the new row j: its fields into `out`, from those of the stepper's memory in `in` (rows, group by group).
  void give(Index j, T* const* out, const T* const* in) {
    const Columns columns = within(job_.width, job_.width);
    tendency(j, columns);
    with_masks(j, [&](auto, auto m, auto) {
      update(0, j, d_.h, m.wet, out, in, columns);
      update(1, j, d_.u, m.open_u, out, in, columns);
      update(2, j, d_.v, m.open_v, out, in, columns);
    });
  }

 private:
  // The columns of a quantity that needs `west` and `east` neighbours.
  Columns within(Index west, Index east) const { return {columns_.first + west, columns_.last - east}; }

  void tendency(Index j, Columns columns) {
    const auto h = state_[0].around(j), u = state_[1].around(j), v = state_[2].around(j);
    const auto U = U_.around(j), V = V_.around(j), P = P_.around(j), q = q_.around(j);
    const auto& k = job_.k;
    const auto& terms = job_.terms;
    with_masks(j, [&](auto m_s, auto m, auto) {
      const Friction<T, decltype(m.slip)> harmonic{u, v, m, m_s.slip, k.viscosity, k};
      const auto with_flux = [&](auto flux) {
        using F = decltype(flux);
        if (terms.viscosity) {
          motion<F>(d_, U, V, P, q, harmonic, k, columns);
        } else {
          motion<F>(d_, U, V, P, q, Frictionless{}, k, columns);
        }
      };
      switch (terms.flux) {
        case Flux::energy: with_flux(Energy{}); break;
        case Flux::enstrophy: with_flux(Enstrophy{}); break;
        case Flux::arakawa_lamb: with_flux(ArakawaLamb{}); break;
      }
      if (terms.biharmonic_viscosity) {
        using Biharmonic = Friction<T, decltype(m.slip)>;
        add(d_, Biharmonic{Lu_.around(j), Lv_.around(j), m, m_s.slip, -k.biharmonic_viscosity, k}, columns);
      }
    });
    if (terms.wind) {
      job_.wind_x.visit(j, [&](auto x, auto) {
        job_.wind_y.visit(j, [&](auto y, auto y_n) { wind(d_, x, y, y_n, h, k.density, columns); });
      });
    }
    if (terms.linear_drag) {
      job_.linear_drag.visit(j, [&](auto r, auto r_n) { linear_drag(d_, r, r_n, u.c, v.c, columns); });
    }
    if (terms.quadratic_drag) quadratic_drag(d_, h, u, v, k.quadratic_drag, columns);
    if (terms.sponge) {
      job_.sponge_c.visit(j, [&](auto rate, auto) {
        job_.depth.visit(j, [&](auto depth, auto) { relax_thickness(d_.h, rate, h.c, depth, columns); });
      });
      job_.sponge_u.visit(j, [&](auto rate, auto) { relax(d_.u, rate, u.c, columns); });
      job_.sponge_v.visit(j, [&](auto rate, auto) { relax(d_.v, rate, v.c, columns); });
    }
  }

  template <class M>
  void update(Index field, Index j, const T* d, M mask, T* const* out, const T* const* in, Columns columns) {
    const T* y = state_[field](j);
    std::array<const T*, MOST_GROUPS> past{};
    std::array<T*, MOST_GROUPS> kept{};
    for (Index g = 1; g < job_.groups_in; ++g) past[g - 1] = in[FIELDS * g + field];
    for (Index g = 1; g < job_.groups_out; ++g) kept[g - 1] = out[FIELDS * g + field];
    T* y_out = out[field];
    switch (job_.stepper) {
      case Stepper::multistep:
        if (job_.past == 1) {
          multistep<1>(y_out, kept.data(), y, d, mask, past.data(), weights_, columns);
        } else {
          multistep<2>(y_out, kept.data(), y, d, mask, past.data(), weights_, columns);
        }
        break;
      case Stepper::leapfrog: leapfrog(y_out, kept[0], y, d, mask, past[0], weights_, columns); break;
      case Stepper::runge_kutta: {
        const T* x = job_.groups_in > 1 ? past[0] : y;
        const T* const* F = past.data() + 1;
        switch (job_.past) {
          case 0: stage<0>(y_out, kept[0], x, d, mask, F, columns); break;
          case 1: stage<1>(y_out, kept[0], x, d, mask, F, columns); break;
          case 2: stage<2>(y_out, kept[0], x, d, mask, F, columns); break;
          default: stage<3>(y_out, kept[0], x, d, mask, F, columns);
        }
      }
    }
  }

  template <int Past, class M>
  void stage(T* y_out, T* F_out, const T* x, const T* d, M mask, const T* const* F, Columns columns) {
    if (F_out) {
      runge_kutta<Past, true>(y_out, F_out, x, d, mask, F, weights_, columns);
    } else {
      runge_kutta<Past, false>(y_out, F_out, x, d, mask, F, weights_, columns);
    }
  }

  Masks<T*> varying_masks(Index r) const {
    const auto& m = masks_;
    return {m[0](r), m[1](r), m[2](r), m[3](r), m[4](r), m[5](r)};
  }

  // use(masks of row r - 1, of row r, of row r + 1).
  template <class Use>
  void with_masks(Index r, Use use) const {
    if (job_.masks.varies()) {
      const auto row = [&](Index s) {
        const auto m = varying_masks(s);
        return Masks<const T*>{m.wet, m.open_u, m.open_v, m.slip, m.share, m.dry};
      };
      use(row(r - 1), row(r), row(r + 1));
    } else {
      const auto code = [&](Index s) { return *job_.masks.row(s); };
      if (code(r - 1) == ALL_WATER && code(r) == ALL_WATER && code(r + 1) == ALL_WATER) {
        const Masks<Ones<T>> ones{};
        return use(ones, ones, ones);
      }
      const auto row = [&](Index s) {
        const Unpacked<T> m(code(s), job_.k.slip);
        return Masks<Uniform<T>>{{m.wet}, {m.open_u}, {m.open_v}, {m.slip}, {m.share}, {m.dry}};
      };
      use(row(r - 1), row(r), row(r + 1));
    }
  }

  const Job<T>& job_;
  const T* weights_;
  Index first_;
  Columns columns_;
  std::array<Ring<T>, FIELDS> state_;
  std::array<Ring<T>, FIELDS*(MOST_GROUPS - 1)> memory_;
  std::array<Ring<T>, 6> masks_;
  Ring<T> U_, V_, P_, q_, Lu_, Lv_;
  Tendency<T> d_;
};

// Old rows that lie outside a block of rows: those of the neighbours in the halo, and of other threads, saved before any
// thread begins. Each is padded with the halo's columns and indexed by the column.
template <class T>
class Outside {
 public:
  Outside(const Job<T>& job, Index j0, Index j1) : job_(job), j0_(j0), j1_(j1), columns_(job.nx + 2 * job.halo) {
    for (Index r = j0 - job.halo; r < j0; ++r) save(r);
    for (Index r = j1; r < j1 + job.halo; ++r) save(r);
  }

  const T* row(Index field, Index r) const {
    const Index e = job_.halo;
    if (r < 0) return job_.south + (field * e + r + e) * columns_ + e;
    if (r >= job_.ny) return job_.north + (field * e + r - job_.ny) * columns_ + e;
    const Index number = r < j0_ ? r - std::max<Index>(j0_ - e, 0) : std::min(e, j0_) + r - j1_;
    return saved_.data() + (number * job_.travelling + field) * columns_ + e;
  }

 private:
  void save(Index r) {
    if (r < 0 || r >= job_.ny) return;
    const Index e = job_.halo;
    for (Index field = 0; field < job_.travelling; ++field) {
      const T* west = job_.west + (field * job_.ny + r) * e;
      const T* here = job_.in[field] + r * job_.nx;
      const T* east = job_.east + (field * job_.ny + r) * e;
      saved_.insert(saved_.end(), west, west + e);
      saved_.insert(saved_.end(), here, here + job_.nx);
      saved_.insert(saved_.end(), east, east + e);
    }
  }

  const Job<T>& job_;
  Index j0_, j1_, columns_;
  std::vector<T> saved_;
};

// The rows [j0, j1) of a block, tile after tile.
template <class T>
class Sweep {
 public:
  Sweep(const Job<T>& job, Index j0, Index j1) : job_(job), j0_(j0), j1_(j1), outside_(job, j0, j1) {}

  void run() {
    const Index tiles = std::max<Index>(1, std::min(job_.nx / job_.tile, job_.nx / std::max<Index>(job_.halo, 1)));
    if (tiles > 1) {
      for (auto& columns : passed_) columns.resize(job_.travelling * (j1_ - j0_) * job_.halo);
    }
    for (Index t = 0; t < tiles; ++t) sweep({t * job_.nx / tiles, (t + 1) * job_.nx / tiles}, t);
  }

 private:
  void sweep(Columns tile, Index number) {
    const Index e = job_.halo, w = job_.width, levels = job_.levels;
    Workspace<T> space({tile.first - e, tile.last + e}, tile.first, levels * Level<T>::rows_needed(job_));
    std::vector<Level<T>> level;
    for (Index s = 0; s < levels; ++s) {
      const Index reach = e - s * w;
      level.emplace_back(job_, space, s, j0_ - reach, Columns{tile.first - reach, tile.last + reach});
    }
    for (Index r = j0_ - e; r < j1_ + e; ++r) {
      Index row = r;
      for (Index s = 0; s < levels; ++s, row -= w) {
        std::array<T*, FIELDS * MOST_GROUPS> out{};
        std::array<const T*, FIELDS * MOST_GROUPS> in{};
        const bool gives = level[s].completes(row), last = s == levels - 1;
        if (gives) {
          for (Index field = FIELDS; field < FIELDS * job_.groups_in; ++field) {
            in[field] = levels > 1 ? level[s].slot(field, row - w) : job_.in[field] + (row - w) * job_.nx;
          }
          for (Index field = 0; field < FIELDS * job_.groups_out; ++field) {
            out[field] = last ? job_.out[field] + (row - w) * job_.nx : level[s + 1].slot(field, row - w);
          }
        }
        for (Index field = 0; s == 0 && field < job_.travelling; ++field) {
          load(level[0].slot(field, r), field, r, tile, number);
        }
        level[s].take(row);
        if (!gives) break;
        level[s].give(row - w, out.data(), in.data());
        if (last) copy_edges(row - w, tile);
      }
    }
  }

  // Put row r of a field, halo included, where the first level wants it. The tile to the west has overwritten the last
  // columns before this one, and left the old values behind; so does this tile.
  void load(T* to, Index field, Index r, Columns tile, Index number) {
    const Index e = job_.halo, nx = job_.nx;
    const auto copy = [to](const T* from, Index first, Index last) {
      std::copy(from + first, from + last, to + first);
    };
    if (r < j0_ || r >= j1_) return copy(outside_.row(field, r), tile.first - e, tile.last + e);
    const T* here = job_.in[field] + r * nx;
    const Index strip = (field * job_.ny + r) * e, passed = (field * (j1_ - j0_) + r - j0_) * e;
    const T* west = tile.first > 0 ? passed_[number % 2].data() + passed : job_.west + strip;
    copy(west - (tile.first - e), tile.first - e, tile.first);
    copy(here, tile.first, std::min(tile.last + e, nx));
    if (tile.last + e > nx) copy(job_.east + strip - nx, nx, tile.last + e);
    if (tile.last < nx) {
      std::copy(here + tile.last - e, here + tile.last, passed_[(number + 1) % 2].data() + passed);
    }
  }

  void copy_edges(Index j, Columns tile) {
    const Index e = job_.halo, nx = job_.nx, ny = job_.ny;
    for (Index field = 0; field < job_.travelling; ++field) {
      const T* row = job_.out[field] + j * nx;
      const Index strip = (field * ny + j) * e;
      for (Index i = tile.first; i < std::min(tile.last, e); ++i) job_.edge_west[strip + i] = row[i];
      for (Index i = std::max(tile.first, nx - e); i < tile.last; ++i) job_.edge_east[strip + i - nx + e] = row[i];
      if (j < e) std::copy(row + tile.first, row + tile.last, job_.edge_south + (field * e + j) * nx + tile.first);
      if (j >= ny - e) {
        std::copy(row + tile.first, row + tile.last, job_.edge_north + (field * e + j - ny + e) * nx + tile.first);
      }
    }
  }

  const Job<T>& job_;
  Index j0_, j1_;
  Outside<T> outside_;
  std::array<std::vector<T>, 2> passed_;
};

}  // namespace swmodel
