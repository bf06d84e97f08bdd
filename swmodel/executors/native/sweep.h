// The sweep: one pass over the rows of a block, in place, one or several steps at once. It knows no physics.
//
// A Program (generated) computes row j of one step from the rows j to j + AHEAD, which are not overwritten yet, and from
// rings of rows that it keeps. Several steps in one pass are levels: each works AHEAD rows behind the one before. Rows
// that belong to a neighbour, another block or another thread, are copies; levels before the last advance some of them.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "job.h"
#include "vector.h"

namespace swmodel {

constexpr Index FAR = 128;  // columns that memory is asked for ahead
enum Use { READ_FROM, WRITTEN, GIVEN_FROM };

// Columns of a row that are computed alike, one vector after the other: from `first` on, written from `from` on. Memory
// that is asked for ahead of them goes on `jump` columns behind `end`.
struct Run {
  Index first, last, from, end, jump;
  bool near_land;
};

template <class T, template <class> class Program>
class Sweep;

// Where the rows around row j are.
template <class T, class Program>
struct At;

template <class T, template <class> class Program>
struct At<T, Program<T>> {
  const Sweep<T, Program>& sweep;
  const int* places;  // of the fields at this level
  T* rings;
  Index j;
  const T* slip;  // at corners, by the wet cells around

  T* field(int f, int a) const { return sweep.row(READ_FROM, places[f], j + a); }
  T* target(int f) const { return sweep.row(WRITTEN, places[f], j); }
  // Row j + a of all rings of the same depth: one vector of each ring after the other.
  T* ring(int group, int a) const {
    Index first = 0;
    for (int g = 0; g < group; ++g) first += Program<T>::DEPTHS[g] * Program<T>::RINGS[g];
    const Index depth = Program<T>::DEPTHS[group], width = Program<T>::RINGS[group];
    const Index row = ((j + a) % depth + depth) % depth;
    return rings + first * sweep.job.stride + width * (row * sweep.job.stride + sweep.job.lead);
  }
  Index inside(int a) const {
    const Job& job = sweep.job;
    return std::clamp<Index>(j + a, -job.margin, job.rows + job.margin - 1) + job.margin;
  }
  T line(int l, int a) const {
    return static_cast<const T*>(sweep.job.lines)[l * (sweep.job.rows + 2 * sweep.job.margin) + inside(a)];
  }
  const T* static_field(int s, int a) const {
    const Job& job = sweep.job;
    return static_cast<const T*>(job.statics) + (s * (job.rows + 2 * job.margin) + inside(a)) * job.static_stride + job.lead;
  }
  const std::uint8_t* cells(int a) const { return sweep.job.cells + inside(a) * sweep.job.static_stride + sweep.job.lead; }
  // Whether field f is written past the cache: where it is not read from, and would leave the cache before it is read.
  bool passes(int f, bool read) const { return sweep.passes(f, read, j); }
  // Whether columns are not those that neighbours get.
  bool inner(Index first, Index last) const {
    return first >= sweep.job.halo && last <= sweep.job.nx - sweep.job.halo;
  }
};

// The rows [j0, j1) of a block.
template <class T, template <class> class Program>
class Sweep {
  using P = Program<T>;
  using V = typename Pack<T>::Vector;
  static constexpr Index N = LANES<V>;

 public:
  const Job& job;

  static std::size_t workspace(const Job& job) {
    return (2 * job.halo * travelling(job) + job.levels * P::RING_ROWS) * job.stride * sizeof(T);
  }

  Sweep(const Job& job, Index j0, Index j1, void* space)
      : job(job), j0_(j0), j1_(j1), south_(static_cast<T*>(space)),
        north_(south_ + job.halo * travelling(job) * job.stride),
        rings_(north_ + job.halo * travelling(job) * job.stride), runs_(groups()) {
    std::fill_n(travels_, P::FIELDS, -1);
    for (int t = 0; t < travelling(job); ++t) travels_[P::USED[t]] = t;
    places_.resize((job.levels + 1) * P::FIELDS);
    for (Index n = 0; n < Index(places_.size()); ++n) {
      places_[n] = n < P::FIELDS ? n : places_[n - n % P::FIELDS - P::FIELDS + P::NEXT[n % P::FIELDS]];
    }
    for (int n = 0; n < 16; ++n) slip_[n] = n % 8 == 4 ? T(1) : n % 8 > 4 ? T(0) : T(job.slip);
  }

  // Copy the rows around, before any thread begins.
  void save() {
    if (P::PARTED && nothing()) return;
    for (Index r = 0; r < job.halo; ++r) {
      copy_row(j0_ - job.halo + r, south_ + r * job.stride);
      copy_row(j1_ + r, north_ + r * job.stride);
    }
  }

  void run() {
    const Index levels = job.levels, w = job.width;
    Index filled = j0_;
    if (P::PARTED && nothing()) {
      for (Index j = j0_; j < j1_; ++j) give(j);
      return;
    }
    // What is computed of land beside groups that are left out reads from the rings what nobody has put there.
    if (std::memchr(job.flags, DRY, (job.rows + 2 * job.margin) * groups()) != nullptr) {
      std::fill_n(rings_, levels * P::RING_ROWS * job.stride, T(1));
    }
    std::vector<T> constants(levels * P::CONSTANTS);
    for (Index level = 0; level < levels; ++level) {
      P::constants(static_cast<const T*>(job.values) + level * job.values_per_level, &constants[level * P::CONSTANTS]);
    }
    const auto reach = [&](Index level) { return (levels - 1 - level) * w; };
    for (Index r = j0_ - reach(0) - P::WARM; r - (levels - 1) * P::AHEAD < j1_; ++r) {
      for (; filled < std::min(j1_, r + P::AHEAD + 1); ++filled) fill(filled);
      for (Index level = 0; level < levels; ++level) {
        const Index j = r - level * P::AHEAD, first = j0_ - reach(level);
        if (j < first - P::WARM || j >= j1_ + reach(level)) continue;
        const Index start = -(reach(level) + N - 1) / N * N;
        pass(level, j, j >= first, start, job.nx + reach(level), constants.data());
        if (level == levels - 1 && j >= first) give(j);
      }
    }
    finish_stores();
  }

  // See At; the rows that neighbours get are read at once.
  bool passes(int f, bool read, Index j) const {
    const bool elsewhere = !read || job.planes[READ_FROM * P::FIELDS + f] != job.planes[WRITTEN * P::FIELDS + f];
    return job.large && elsewhere && job.levels == 1 && j >= job.halo && j < job.ny - job.halo;
  }

  // Row r of a field: of the block, or the copy of one around; of a field that does not travel any row at hand.
  T* row(Use use, int f, Index r) const {
    const Index t = travels_[f];
    if (t >= 0 && r < j0_) return south_ + (t * job.halo + std::max<Index>(r - j0_ + job.halo, 0)) * job.stride + job.lead;
    if (t >= 0 && r >= j1_) return north_ + (t * job.halo + std::min(r - j1_, job.halo - 1)) * job.stride + job.lead;
    return own(use, f, std::clamp(r, j0_, j1_ - 1));
  }

 private:
  static constexpr int READ = std::size(P::READS), USED = std::size(P::USED), GIVEN = std::size(P::GIVES);

  // Row r of the block, of a field where it is read, written, or handed to the neighbours from.
  T* own(Use use, int f, Index r) const {
    return static_cast<T*>(job.fields) + job.planes[use * P::FIELDS + f] * job.plane + r * job.stride + job.lead;
  }

  static Index travelling(const Job& job) { return job.levels > 1 ? USED : READ; }

  // So few that calling the library would cost more.
  static void copy_few(const T* from, Index n, T* to) {
    for (Index i = 0; i < n; ++i) to[i] = from[i];
  }

  // The columns around row r, from the neighbours.
  void around(int t, Index r, T* row) const {
    const Index e = job.halo, strip = (t * job.rows + r) * e;
    copy_few(static_cast<const T*>(job.west) + strip, e, row - e);
    copy_few(static_cast<const T*>(job.east) + strip, e, row + job.nx);
  }

  void fill(Index r) const {
    for (int t = 0; t < travelling(job); ++t) around(t, r, own(READ_FROM, P::USED[t], r));
  }

  void copy_row(Index r, T* to) const {
    const Index e = job.halo, strip = job.columns + 2 * e;
    for (int t = 0; t < travelling(job); ++t, to += e * job.stride) {
      T* row = to + job.lead;
      if (r < 0) {
        std::copy_n(static_cast<const T*>(job.south) + (t * e + r + e) * strip, job.nx + 2 * e, row - e);
      } else if (r >= job.ny) {
        std::copy_n(static_cast<const T*>(job.north) + (t * e + r - job.ny) * strip, job.nx + 2 * e, row - e);
      } else {
        std::copy_n(own(READ_FROM, P::USED[t], r), job.nx, row);
        around(t, r, row);
      }
    }
  }

  void pass(Index level, Index j, bool writes, Index first, Index last, const T* constants) {
    const At<T, P> at{*this, &places_[level * P::FIELDS], rings_ + level * P::RING_ROWS * job.stride, j, slip_};
    const std::uint8_t* const flags = job.flags + at.inside(0) * groups();
    const bool land = std::any_of(flags, flags + groups(), [](std::uint8_t flag) { return (flag & ~UNWRITTEN) == COAST; });
    const auto row = land ? P::template row<V, true> : P::template row<V, false>;
    const Run* const end = find_runs(flags, writes, first, last);
    if (end > runs_.data()) row(at, constants + level * P::CONSTANTS, runs_.data(), end, level == 0);
  }

  // The runs of a row by the flags of its groups; where they end. One behind groups that are left out begins EAST vectors
  // early: what its first columns read further west is land (`Schedule.late`). So few dry groups are computed.
  const Run* find_runs(const std::uint8_t* flags, bool writes, Index first, Index last) {
    Run* run = runs_.data();
    const Index late = (P::LATE + N - 1) / N * N, early = first - P::EAST * N - late, lead = job.lead;
    const Index before = P::EAST * N + (P::PARTED ? late : 0);
    for (Index i = early, g = (i + lead) / GROUP; i < last;) {
      const Index begin = g * GROUP - lead;
      const std::uint8_t flag = flags[g];
      while (++g < groups() && flags[g] == flag) {}
      const Index end = g < groups() ? std::min(last, g * GROUP - lead) : last;
      if (flag == DRY && (run == runs_.data() || end == last || end - begin > before)) {
        i = end < last ? std::max(end - before, early) : last;
        continue;
      }
      run->first = i;
      run->last = i = end;
      run->from = writes && flag < (P::PARTED ? DRY : UNWRITTEN) ? std::max(first, begin) : end;
      run++->near_land = (flag & ~UNWRITTEN) != WATER;
    }
    for (Run* r = run; r-- > runs_.data();) {
      const bool beside = r + 1 < run && r[1].first == r->last;
      r->end = beside ? r[1].end : r->last;
      r->jump = beside ? r[1].jump : r + 1 < run ? r[1].first - r->last : 0;
    }
    return run;
  }

  // Whether all groups are left out.
  bool nothing() const {
    const Index n = (job.rows + 2 * job.margin) * groups();
    return *job.flags == DRY && !std::memcmp(job.flags, job.flags + 1, n - 1);
  }

  Index groups() const { return (job.static_stride + GROUP - 1) / GROUP; }

  // The outermost columns and rows for the neighbours.
  void give(Index j) const {
    const Index e = job.halo, nx = job.nx, ny = job.ny;
    for (int t = 0; t < (job.levels > 1 ? USED : GIVEN); ++t) {
      const T* row = own(GIVEN_FROM, places_[job.levels * P::FIELDS + (job.levels > 1 ? P::USED[t] : P::GIVES[t])], j);
      const Index strip = (t * job.rows + j) * e;
      copy_few(row, e, static_cast<T*>(job.edge_west) + strip);
      copy_few(row + nx - e, e, static_cast<T*>(job.edge_east) + strip);
      if (j < e) std::copy_n(row, nx, static_cast<T*>(job.edge_south) + (t * e + j) * job.columns);
      if (j >= ny - e) std::copy_n(row, nx, static_cast<T*>(job.edge_north) + (t * e + j - ny + e) * job.columns);
    }
  }

  Index j0_, j1_;
  T *south_, *north_, *rings_;
  std::vector<Run> runs_;  // those of the row at hand
  std::vector<int> places_;  // [levels + 1, fields]: the field in whose memory each is, at each level and at the end
  T slip_[16];
  Index travels_[P::FIELDS];  // where among the fields that travel a field is, or -1
};

// Marks the cells of a group: ROUGH water, where `ocean.drying.share_of` may be above zero, and water that FLOWS, thicker
// than `dry`. `level` has that to the south, here and to the north of the thickness h; rows of depth and cells are `up`
// apart.
template <class T>
void mark_cells(const T* h, const T* const* level, const T* depth, const std::uint8_t* bits, Index up, const T* limits,
                std::uint8_t* __restrict marks) {
  using V = typename Pack<T>::Vector;
  using I = typename Pack<T>::Integers;
  I found[GROUP / LANES<V>];
  const V thin = all<V>(limits[0]), bend = all<V>(limits[1]), dry = all<V>(limits[2]);
  for (Index k = 0; k < GROUP; k += LANES<V>) {
    const V here = load<V>(h + k), H = load<V>(depth + k), mid = load<V>(level[1] + k);
    // The change of level above the sill at a face, away from this cell.
    const auto jump = [&](const T* there, const T* further) {
      const V sill = -minimum(H, load<V>(further + k));
      return maximum(sill, load<V>(there + k)) - maximum(sill, mid);
    };
    const I cell = cells<V>(bits + k), west = cells<V>(bits + k - 1), south = cells<V>(bits + k - up);
    const V across = only<2>(jump(level[1] + 1, depth + 1), cell) + only<2>(jump(level[1] - 1, depth - 1), west);
    const V along = only<4>(jump(level[2], depth + up), cell) + only<4>(jump(level[0], depth - up), south);
    const I smooth = (abs(across) < bend * here) & (abs(along) < bend * here) & (here > thin);
    found[k / LANES<V>] = ((cell & 1) != 0) & ((~smooth & ROUGH) | (~(here <= dry) & FLOWS));
  }
  for (Index k = 0; k < GROUP; ++k) marks[k] = reinterpret_cast<const typename Pack<T>::Integer*>(found)[k];
}

// Marks the cells of all groups of a row. Cells where the level changes little on both sides are smooth whatever the sills.
template <class T>
void mark_row(const T* h, const T* const* level, const T* depth, const std::uint8_t* cells, Index up, Index groups,
              const T* limits, std::uint8_t* marks) {
  const auto most = [](T a, T b) { return a > b ? a : b; };
  const auto size = [&](T a) { return most(a, -a); };
  const T *south = level[0], *mid = level[1], *north = level[2], thin = limits[0], bend = limits[1];
  for (Index first = 0; first < groups * GROUP; first += GROUP) {
    unsigned suspect = 0;
    for (Index k = first; k < first + GROUP; ++k) {
      const T here = h[k], across = size(mid[k + 1] - mid[k]) + size(mid[k - 1] - mid[k]);
      const T along = size(north[k] - mid[k]) + size(south[k] - mid[k]);
      suspect |= !(most(most(across, along) - bend * here, thin - here) < 0);
    }
    if (suspect) {
      const T* const rows[] = {south + first, mid + first, north + first};
      mark_cells(h + first, rows, depth + first, cells + first, up, limits, marks + first);
    } else {
      std::memset(marks + first, FLOWS, GROUP);
    }
  }
}

// One of the passes of a step, as the foreign call asks for it: 0 tells the bytes that a sweep needs to work in, 1 saves
// what the neighbours' threads overwrite, 2 computes.
template <class T, template <class> class Program>
std::size_t call(const Job& job, int phase, Index j0, Index j1, void* space) {
  if (phase == 0) return Sweep<T, Program>::workspace(job);
  Sweep<T, Program> sweep(job, j0, j1, space);
  phase == 1 ? sweep.save() : sweep.run();
  return 0;
}

}  // namespace swmodel
