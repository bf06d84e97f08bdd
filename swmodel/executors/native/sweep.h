// The sweep: rows come in from the south, and the new rows go out where the old ones were.
//
// A block of rows is swept in tiles of columns. OneStep takes one time step: it keeps the last rows of the state and of
// what is derived from them in rings, and with row r it computes the new row r - width. Several OneSteps in a chain take
// several steps in one pass over memory.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "rows.h"

namespace swmodel {

constexpr int FIELDS = 3;  // h, u, v
constexpr int MOST_GROUPS = 5;  // the state, and what the time stepper remembers
template <class Pointer>
using Fields = std::array<Pointer, FIELDS * MOST_GROUPS>;

enum class Flux { energy, enstrophy, arakawa_lamb };
enum class Stepper { multistep, leapfrog, runge_kutta };

struct Terms {
  Flux flux;
  bool wind, linear_drag, quadratic_drag, viscosity, biharmonic_viscosity, sponge;
  bool stress() const { return wind || linear_drag || quadratic_drag; }
  bool forcing() const { return stress() || biharmonic_viscosity || sponge; }
};

// A static field with `margin` rows and columns around the block, and columns beyond them that loops over whole lines
// may read; an axis of length one holds one value for all.
template <class T>
struct Static {
  static constexpr Index PADDING = 16;
  const T* data;
  Index rows, columns, margin;
  bool varies() const { return columns > 1; }
  const T* row(Index r) const {
    return data + (rows > 1 ? (r + margin) * columns : 0) + (varies() ? margin + PADDING : 0);
  }
};

// What one call computes. `halo` = width times steps_per_sweep; fields [rows, columns], of which the block is the first
// [ny, nx]; strips as in native.py.
template <class T>
struct Job {
  Index ny, nx, rows, columns, width, steps_per_sweep, halo, travelling, tile;
  Terms terms;
  Stepper stepper;
  int past;
  Constants<T> k;
  const T* weights;
  Index weights_per_step;
  Index groups_in, groups_out;
  Fields<const T*> in;
  Fields<T*> out;
  const T *west, *east, *south, *north;
  T *edge_west, *edge_east, *edge_south, *edge_north;
  Static<T> f, depth, linear_drag, wind_x, wind_y, sponge_c, sponge_u, sponge_v;
  Static<std::uint8_t> masks;
};

// use(std::true_type) or use(std::false_type): a choice that is made before a loop rather than in it.
template <class Use>
auto choose(bool condition, Use use) {
  return condition ? use(std::true_type{}) : use(std::false_type{});
}

// Memory of one thread, handed out in rows of whole lines that are indexed by the column; `aligned` begins a line.
template <class T>
class Workspace {
 public:
  static constexpr Index LINE = Lines<T>::LENGTH;
  Workspace(Columns columns, Index aligned, Index rows) : aligned_(aligned) {
    const Lines<T> all = lines(columns);
    first_ = all.first - LINE;
    stride_ = (all.number + 3) * LINE;
    memory_.resize(std::max<std::size_t>(memory_.size(), rows * stride_ + LINE));
    next_ = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(memory_.data()) + 63) / 64 * 64);
  }
  T* rows(Index n) {
    T* start = next_;
    next_ += n * stride_;
    return start - first_;
  }
  T* row_of(T value) {
    T* row = rows(1);
    std::fill(row + first_, row + first_ + stride_, value);
    return row;
  }
  Index stride() const { return stride_; }
  // The lines that hold the columns.
  Lines<T> lines(Columns columns) const {
    const Index before = (aligned_ - columns.first + LINE - 1) / LINE, first = aligned_ - before * LINE;
    return {first, (columns.last - first + LINE - 1) / LINE};
  }

 private:
  static inline thread_local std::vector<T> memory_;
  Index aligned_, first_, stride_;
  T* next_;
};

// The last rows of one quantity; `depth`, a power of two, is at least how many.
template <class T>
class Ring {
 public:
  Ring() = default;
  Ring(Workspace<T>& space, Index depth) : rows_(space.rows(depth)), stride_(space.stride()), depth_(depth) {}
  T* operator()(Index r) const { return rows_ + (r & (depth_ - 1)) * stride_; }
  Around<T> around(Index r) const { return {(*this)(r - 1), (*this)(r), (*this)(r + 1)}; }

 private:
  T* rows_ = nullptr;
  Index stride_ = 0, depth_ = 1;
};

// Rows of a static field. Where it does not vary along the row, rows of its value are made.
template <class T>
class Spread {
 public:
  Spread() = default;
  Spread(Workspace<T>& space, const Static<T>& field, Columns columns) : field_(field), columns_(columns) {
    if (!field.varies()) made_ = Ring<T>(space, field.rows > 1 ? 4 : 1);
    if (!field.varies() && field.rows == 1) fill(0);
  }
  void make(Index r) const {
    if (!field_.varies() && field_.rows > 1) fill(r);
  }
  const T* operator()(Index r) const { return field_.varies() ? field_.row(r) : made_(r); }
  Around<T> around(Index r) const { return {nullptr, (*this)(r), (*this)(r + 1)}; }

 private:
  void fill(Index r) const { std::fill(made_(r) + columns_.first, made_(r) + columns_.last, *field_.row(r)); }
  Static<T> field_{};
  Columns columns_{};
  Ring<T> made_;
};

// One time step of the rows that come in, from `first` on, in the given columns.
template <class T>
class OneStep {
 public:
  static constexpr Index LINE = Lines<T>::LENGTH;
  // Columns that are worked at in turn, each with the functions that its land asks for.
  static constexpr Index BLOCK = 32 * LINE;

  static constexpr Index ROWS_IN_USE = 24;  // at a time, about

  // At most: rings of 4 widths of what travels, of 2 widths of U, V, P, q, and single rows.
  static Index rows_needed(const Job<T>& job) { return job.width * (4 * job.travelling + 8) + 48; }

  OneStep(const Job<T>& job, Workspace<T>& space, Index number, Index first, Columns columns)
      : job_(job), weights_(job.weights + number * job.weights_per_step), first_(first), columns_(columns),
        inner_{columns.first + job.width, columns.last - job.width}, lines_(space.lines(columns)),
        stride_(space.stride()) {
    const Index w = job.width;
    for (auto& ring : state_) ring = Ring<T>(space, 4 * w);
    for (auto* ring : {&U_, &V_, &P_, &q_}) *ring = Ring<T>(space, 2 * w);
    for (Index f = FIELDS; f < job.travelling; ++f) memory_[f - FIELDS] = Ring<T>(space, 4 * w);
    for (T*& row : scratch_) row = space.rows(1);
    depth_ = {space, job.depth, columns};
    const Terms& terms = job.terms;
    if (terms.wind) wind_x_ = {space, job.wind_x, columns}, wind_y_ = {space, job.wind_y, columns};
    if (terms.linear_drag) drag_ = {space, job.linear_drag, columns};
    if (terms.sponge) {
      sponge_c_ = {space, job.sponge_c, columns};
      sponge_u_ = {space, job.sponge_u, columns};
      sponge_v_ = {space, job.sponge_v, columns};
    }
    if (terms.biharmonic_viscosity) Lu_ = {space, 4}, Lv_ = {space, 4};
    if (terms.forcing()) forcing_ = {space.row_of(0), space.row_of(0), space.row_of(0)};
    for (auto& row : land_) row.resize(lines_.number + 1);
    cells_.resize(4 * w * stride_, ALL_WATER);
  }

  // Where the incoming row r of a field is to be put.
  T* slot(Index field, Index r) const { return field < FIELDS ? state_[field](r) : memory_[field - FIELDS](r); }

  // Whether row r completes what the new row r - width needs.
  bool completes(Index r) const { return r >= first_ + 2 * job_.width; }

  // Compute what row r, which is in its slots now, allows: also the new row r - width if it `completes` it, into `out`,
  // from the rows of the stepper's memory in `in`. Meanwhile the columns `copied` of other rows are copied.
  void take(Index r, const Fields<const T*>& in, const Fields<T*>& out, const Copy<T>& copy, Columns copied) {
    take_masks(r);
    for (const auto* field : {&depth_, &wind_x_, &wind_y_, &drag_, &sponge_c_, &sponge_u_, &sponge_v_}) field->make(r);
    const Index s = r - 1, j = r - job_.width;
    const bool gives = completes(r);
    const Place<T> at_s = place(s), at_j = place(j);
    if (job_.terms.biharmonic_viscosity && r >= first_ + 2) {
      laplacian(Lu_(s), Lv_(s), at_s, job_.k, lines_);
    }
    Field<T> fields[FIELDS];
    if (gives) gather(fields, j, in, out);
    const Derived<T> derived{U_(r), V_(s), P_(r), q_(s)};
    // Lines that are copied as a whole; the other columns are copied one by one.
    const Index cut = (copied.first - lines_.first + LINE - 1) / LINE * LINE;
    const Lines<T> whole{lines_.first + cut, std::max<Index>((copied.last - copied.first) / LINE - 1, 0)};
    for (Index i = lines_.first, next, done = inner_.first; i < lines_.end(); i = next) {
      const bool copies = i >= whole.first && i < whole.end();
      next = std::min(i + BLOCK, i < whole.first ? whole.first : copies ? whole.end() : lines_.end());
      if (r > first_) {
        const Lines<T> lines{i, (next - i) / LINE};
        deriving_[water(s, {i, next})][copies](at_s, derived, depth_(r), job_.f.row(s), copy, job_.k, lines);
      } else if (copies) {
        FOR_COLUMNS(c, (Columns{i, next})) copy(c);
      }
      const Columns ready{done, next < lines_.end() ? next - LINE : inner_.last};
      if (!gives || ready.first >= ready.last) continue;
      if (job_.terms.forcing()) force(at_j, j, {done, (ready.last - done + LINE - 1) / LINE});
      advancing_[water(j, ready)](at_j, forcing_, fields, weights_, job_.k, ready);
      done = ready.last;
    }
    for (Index i = copied.first; i < std::min(whole.first, copied.last); ++i) copy(i);
    for (Index i = std::max(whole.end(), copied.first); i < copied.last; ++i) copy(i);
  }

 private:
  using Deriving = decltype(&derive<Uniform<T>, Water<T>, false, T>);
  using Advancing = decltype(&advance<Energy, false, false, Multistep<1, T>, Water<T>, T>);

  Place<T> place(Index r) const {
    return {state_[0].around(r), state_[1].around(r), state_[2].around(r), U_.around(r), V_.around(r), P_.around(r),
            q_.around(r), coast(r - 1), coast(r), coast(r + 1)};
  }

  Coast<T> coast(Index r) const { return {cells_.data() + slot_of(r) * stride_ + LINE - lines_.first, job_.k.slip}; }

  void gather(Field<T>* fields, Index j, const Fields<const T*>& in, const Fields<T*>& out) const {
    for (Index f = 0; f < FIELDS; ++f) {
      fields[f] = {out[f], {state_[f](j)}, {scratch_[f]}};
      for (Index g = 1; g < job_.groups_in; ++g) fields[f].in[g - 1] = in[FIELDS * g + f];
      for (Index g = 1; g < job_.groups_out; ++g) fields[f].out[g - 1] = out[FIELDS * g + f];
    }
  }

  void force(const Place<T>& at, Index j, Lines<T> lines) {
    const Terms& terms = job_.terms;
    stress_(forcing_, at, {wind_x_.around(j), wind_y_.around(j), drag_.around(j)}, job_.k, lines);
    if (terms.biharmonic_viscosity) {
      biharmonic(forcing_, Lu_.around(j), Lv_.around(j), at, job_.k, lines);
    }
    if (terms.sponge) {
      sponge(forcing_, sponge_c_(j), sponge_u_(j), sponge_v_(j), depth_(j), at.h.c, at.u.c, at.v.c, lines);
    }
  }

  // Bring in the masks of row r, line by line of the cache, and close its faces, where there is land or was in the row
  // before it in the ring; elsewhere the masks stay those of water.
  void take_masks(Index r) {
    const std::uint8_t* bytes = job_.masks.row(r);
    std::vector<std::int32_t>& land = land_[slot_of(r)];
    Cell<T>* cells = cells_.data() + slot_of(r) * stride_ + LINE - lines_.first;
    if (!job_.masks.varies() && *bytes == ALL_WATER && !land.back()) return;
    for (Index line = 0, before = 0; line < lines_.number; ++line) {
      const Columns part{lines_.first + line * LINE, lines_.first + (line + 1) * LINE};
      const bool had = land[line + 1] > before;
      before = land[line + 1];
      const bool has = job_.masks.varies() ? !all_water(bytes + part.first) : *bytes != ALL_WATER;
      land[line + 1] = land[line] + has;
      if (!has && !had) continue;
      FOR_COLUMNS(i, part) cells[i] = job_.masks.varies() ? bytes[i] : *bytes;
      if (has) close_faces(state_[1](r), state_[2](r), coast(r), part);
    }
  }

  // Whether a line has no land.
  static bool all_water(const std::uint8_t* bytes) {
    std::uint8_t water[LINE];
    std::memset(water, ALL_WATER, LINE);
    return std::memcmp(bytes, water, LINE) == 0;
  }

  // Of masks, which are remembered row by row.
  Index slot_of(Index r) const { return r & (4 * job_.width - 1); }

  // Whether there is nothing but water in columns of row r and in the lines around them.
  bool water(Index r, Columns columns) const {
    const Index first = std::max<Index>((columns.first - lines_.first) / LINE - 1, 0);
    const Index last = std::min((columns.last - 1 - lines_.first) / LINE + 2, lines_.number);
    bool land = false;
    for (Index s = r - 1; s <= r + 1; ++s) land |= land_[slot_of(s)][first] != land_[slot_of(s)][last];
    return !land;
  }

  const Job<T>& job_;
  const T* weights_;
  Index first_;
  Columns columns_, inner_;
  Lines<T> lines_;
  Index stride_;
  std::array<Ring<T>, FIELDS> state_;
  std::array<Ring<T>, FIELDS*(MOST_GROUPS - 1)> memory_;
  // Of the last rows: how many lines with land there are before each line; the masks.
  std::array<std::vector<std::int32_t>, 8> land_;
  std::vector<Cell<T>> cells_;
  Ring<T> U_, V_, P_, q_, Lu_, Lv_;
  Spread<T> depth_, wind_x_, wind_y_, drag_, sponge_c_, sponge_u_, sponge_v_;
  std::array<T*, FIELDS> scratch_;
  Tendency<T> forcing_{};
  // The functions of rows.h for what this run computes: [is all water][copies], [is all water].
  std::array<std::array<Deriving, 2>, 2> deriving_ = choose(job_.f.varies(), [](auto varies) {
    using F = std::conditional_t<varies.value, const T*, Uniform<T>>;
    return std::array<std::array<Deriving, 2>, 2>{{{derive<F, Coast<T>, false, T>, derive<F, Coast<T>, true, T>},
                                                   {derive<F, Water<T>, false, T>, derive<F, Water<T>, true, T>}}};
  });
  std::array<Advancing, 2> advancing_ = advancing_for(job_);
  decltype(&stress<true, true, true, T>) stress_ = stress_for(job_.terms);

  static auto stress_for(const Terms& terms) {
    return choose(terms.wind, [&](auto wind) {
      return choose(terms.linear_drag, [&](auto linear) {
        return choose(terms.quadratic_drag,
                      [&](auto quadratic) { return &stress<wind.value, linear.value, quadratic.value, T>; });
      });
    });
  }

  static std::array<Advancing, 2> advancing_for(const Job<T>& job) {
    switch (job.terms.flux) {
      case Flux::energy: return with_flux<Energy>(job);
      case Flux::enstrophy: return with_flux<Enstrophy>(job);
      default: return with_flux<ArakawaLamb>(job);
    }
  }

  template <class F>
  static std::array<Advancing, 2> with_flux(const Job<T>& job) {
    switch (job.stepper) {
      case Stepper::multistep:
        return job.past == 1 ? with_step<F, Multistep<1, T>>(job) : with_step<F, Multistep<2, T>>(job);
      case Stepper::leapfrog: return with_step<F, Leapfrog<T>>(job);
      default:
        switch (job.past) {
          case 0: return with_step<F, RungeKutta<0, T>>(job);
          case 1: return with_step<F, RungeKutta<1, T>>(job);
          case 2: return with_step<F, RungeKutta<2, T>>(job);
          default: return with_step<F, RungeKutta<3, T>>(job);
        }
    }
  }

  template <class F, class Step>
  static std::array<Advancing, 2> with_step(const Job<T>& job) {
    return choose(job.terms.viscosity, [&](auto viscous) {
      return choose(job.terms.forcing(), [&](auto forced) {
        return std::array<Advancing, 2>{&advance<F, viscous.value, forced.value, Step, Coast<T>, T>,
                                        &advance<F, viscous.value, forced.value, Step, Water<T>, T>};
      });
    });
  }
};

// Old rows that lie outside a block of rows: those of the neighbours in the halo, and of other threads, saved before
// any thread begins. Each is padded with the halo's columns and indexed by the column.
template <class T>
class Outside {
 public:
  Outside(const Job<T>& job, Index j0, Index j1) : job_(job), j0_(j0), j1_(j1), columns_(job.nx + 2 * job.halo) {
    const Index first = std::max<Index>(j0 - job.halo, 0), last = std::min(j1 + job.halo, job.ny);
    saved_.reserve((j0 - first + last - j1) * job.travelling * columns_);
    for (Index r = j0 - job.halo; r < j0; ++r) save(r);
    for (Index r = j1; r < j1 + job.halo; ++r) save(r);
  }

  const T* row(Index field, Index r) const {
    const Index e = job_.halo;
    const Index strip = job_.columns + 2 * e;
    if (r < 0) return job_.south + (field * e + r + e) * strip + e;
    if (r >= job_.ny) return job_.north + (field * e + r - job_.ny) * strip + e;
    const Index number = r < j0_ ? r - std::max<Index>(j0_ - e, 0) : std::min(e, j0_) + r - j1_;
    return saved_.data() + (number * job_.travelling + field) * columns_ + e;
  }

 private:
  void save(Index r) {
    if (r < 0 || r >= job_.ny) return;
    const Index e = job_.halo;
    for (Index field = 0; field < job_.travelling; ++field) {
      const T* west = job_.west + (field * job_.rows + r) * e;
      const T* here = job_.in[field] + r * job_.columns;
      const T* east = job_.east + (field * job_.rows + r) * e;
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
    const Index e = job_.halo, w = job_.width, steps_per_sweep = job_.steps_per_sweep;
    Workspace<T> space({tile.first - e, tile.last + e}, tile.first, steps_per_sweep * OneStep<T>::rows_needed(job_));
    std::vector<OneStep<T>> steps;
    for (Index s = 0; s < steps_per_sweep; ++s) {
      const Index reach = e - s * w;
      steps.emplace_back(job_, space, s, j0_ - reach, Columns{tile.first - reach, tile.last + reach});
    }
    Copy<T> copy{};
    Columns copied = load(steps[0], copy, j0_ - e, tile, number);
    FOR_COLUMNS(i, copied) copy(i);
    for (Index r = j0_ - e; r < j1_ + e; ++r) {
      copied = r + 1 < j1_ + e ? load(steps[0], copy, r + 1, tile, number) : Columns{};
      Index row = r;
      for (Index s = 0; s < steps_per_sweep; ++s, row -= w) {
        Fields<T*> out;
        Fields<const T*> in;
        const bool gives = steps[s].completes(row), last = s == steps_per_sweep - 1;
        if (gives) {
          for (Index field = FIELDS; field < FIELDS * job_.groups_in; ++field) {
            in[field] = steps_per_sweep > 1 ? steps[s].slot(field, row - w) : job_.in[field] + (row - w) * job_.columns;
          }
          for (Index field = 0; field < FIELDS * job_.groups_out; ++field) {
            out[field] = last ? job_.out[field] + (row - w) * job_.columns : steps[s + 1].slot(field, row - w);
          }
        }
        steps[s].take(row, in, out, copy, s == 0 ? copied : Columns{});
        if (!gives) break;
        if (last) copy_edges(row - w, tile);
      }
    }
  }

  // Bring row r in, where the first step wants it: the halo, and what the stepper remembers if it travels, at once;
  // the rest of the state by `copy` in the columns that are returned. The tile to the west has overwritten the last
  // columns before this one, and left the old values behind; so does this tile.
  Columns load(const OneStep<T>& step, Copy<T>& copy, Index r, Columns tile, Index number) {
    const Index e = job_.halo, nx = job_.nx;
    Columns columns{tile.first - e, tile.last + e};
    for (Index field = 0; field < job_.travelling; ++field) {
      T* to = step.slot(field, r);
      const T* from;
      if (r < j0_ || r >= j1_) {
        from = outside_.row(field, r);
      } else {
        from = job_.in[field] + r * job_.columns;
        columns = {tile.first, std::min(tile.last + e, nx)};
        const Index strip = (field * job_.rows + r) * e, passed = (field * (j1_ - j0_) + r - j0_) * e;
        const T* west = tile.first > 0 ? passed_[number % 2].data() + passed : job_.west + strip;
        for (Index i = 0; i < e; ++i) to[tile.first - e + i] = west[i];
        for (Index i = std::max(tile.last, nx); i < tile.last + e; ++i) to[i] = job_.east[strip + i - nx];
        if (tile.last < nx) {
          std::copy(from + tile.last - e, from + tile.last, passed_[(number + 1) % 2].data() + passed);
        }
      }
      if (field < FIELDS) {
        copy.from[field] = from;
        copy.to[field] = to;
      } else {
        std::copy(from + columns.first, from + columns.last, to + columns.first);
      }
    }
    return columns;
  }

  void copy_edges(Index j, Columns tile) {
    const Index e = job_.halo, nx = job_.nx, ny = job_.ny;
    for (Index field = 0; field < job_.travelling; ++field) {
      const T* row = job_.out[field] + j * job_.columns;
      const Index strip = (field * job_.rows + j) * e, south = (field * e + j) * job_.columns;
      for (Index i = tile.first; i < std::min(tile.last, e); ++i) job_.edge_west[strip + i] = row[i];
      for (Index i = std::max(tile.first, nx - e); i < tile.last; ++i) job_.edge_east[strip + i - nx + e] = row[i];
      if (j < e) std::copy(row + tile.first, row + tile.last, job_.edge_south + south + tile.first);
      if (j >= ny - e) {
        std::copy(row + tile.first, row + tile.last, job_.edge_north + south - (ny - e) * job_.columns + tile.first);
      }
    }
  }

  const Job<T>& job_;
  Index j0_, j1_;
  Outside<T> outside_;
  std::array<std::vector<T>, 2> passed_;
};

}  // namespace swmodel
