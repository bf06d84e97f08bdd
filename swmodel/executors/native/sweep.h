// The sweep: one pass over the rows of a block, in place, for one step or several. It contains no physics.
//
// A Program (generated) computes row j of one step from the rows j to j + NORTH_REACH, which are not overwritten yet, and from
// ring buffers of earlier rows. The steps of one pass are its levels: each works NORTH_REACH rows south of the previous one. Rows
// of another block or another thread are copies; levels before the last also advance some of these.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "job.h"
#include "vector.h"

namespace swmodel {

constexpr Index PREFETCH_COLUMNS = 128;  // distance to the columns that are prefetched
enum PlaneUse { READ_FROM, WRITE_TO, SEND_FROM };

// Columns of a row that are computed in the same way, vector after vector: from `first` on, written from `write_from` on.
// Prefetches beyond `end` skip `prefetch_jump` columns.
struct ColumnRun {
  Index first, last, write_from, end, prefetch_jump;
  bool near_land;
};

template <class T, template <class> class Program>
class Sweep;

// The memory of the rows around row j.
template <class T, class Program>
struct RowAccess;

template <class T, template <class> class Program>
struct RowAccess<T, Program<T>> {
  const Sweep<T, Program>& sweep;
  const int* field_planes;  // of the fields at this level
  T* rings;
  Index j;
  const T* slip;  // at corners, by the wet cells around

  T* field(int f, int a) const { return sweep.row(READ_FROM, field_planes[f], j + a); }
  T* target(int f) const { return sweep.row(WRITE_TO, field_planes[f], j); }
  // Row j + a of all ring buffers of the same depth, whose vectors alternate.
  T* ring_buffer(int group, int a) const {
    Index first = 0;
    for (int g = 0; g < group; ++g) first += Program<T>::RING_DEPTHS[g] * Program<T>::RINGS_PER_DEPTH[g];
    const Index depth = Program<T>::RING_DEPTHS[group], n_rings = Program<T>::RINGS_PER_DEPTH[group];
    const Index row = ((j + a) % depth + depth) % depth;
    return rings + first * sweep.job.stride + n_rings * (row * sweep.job.stride + sweep.job.row_padding);
  }
  Index inside(int a) const {
    const Job& job = sweep.job;
    return std::clamp<Index>(j + a, -job.margin, job.rows + job.margin - 1) + job.margin;
  }
  T row_static(int l, int a) const {
    return static_cast<const T*>(sweep.job.row_statics)[l * (sweep.job.rows + 2 * sweep.job.margin) + inside(a)];
  }
  const T* static_field(int s, int a) const {
    const Job& job = sweep.job;
    return static_cast<const T*>(job.statics) + (s * (job.rows + 2 * job.margin) + inside(a)) * job.static_stride + job.row_padding;
  }
  const std::uint8_t* mask_bits(int a) const { return sweep.job.mask_bits + inside(a) * sweep.job.static_stride + sweep.job.row_padding; }
  // Whether field f is written past the cache: if its plane is not read, and would leave the cache before the next pass reads it.
  bool bypasses_cache(int f, bool read) const { return sweep.bypasses_cache(f, read, j); }
  // Whether no neighbour gets these columns.
  bool is_inner(Index first, Index last) const {
    return first >= sweep.job.halo && last <= sweep.job.nx - sweep.job.halo;
  }
};

// The sweep over the rows [j0, j1) of a block.
template <class T, template <class> class Program>
class Sweep {
  using P = Program<T>;
  using V = typename Pack<T>::Vector;
  static constexpr Index N = LANES<V>;

 public:
  const Job& job;

  static std::size_t workspace(const Job& job) {
    return (2 * job.halo * n_exchanged(job) + job.levels * P::RING_ROWS) * job.stride * sizeof(T);
  }

  Sweep(const Job& job, Index j0, Index j1, void* space)
      : job(job), j0_(j0), j1_(j1), south_(static_cast<T*>(space)),
        north_(south_ + job.halo * n_exchanged(job) * job.stride),
        rings_(north_ + job.halo * n_exchanged(job) * job.stride), runs_(groups()) {
    std::fill_n(exchange_index_, P::FIELDS, -1);
    for (int t = 0; t < n_exchanged(job); ++t) exchange_index_[P::USED[t]] = t;
    field_planes_.resize((job.levels + 1) * P::FIELDS);
    for (Index n = 0; n < Index(field_planes_.size()); ++n) {
      field_planes_[n] = n < P::FIELDS ? n : field_planes_[n - n % P::FIELDS - P::FIELDS + P::NEXT[n % P::FIELDS]];
    }
    for (int n = 0; n < 16; ++n) slip_[n] = n % 8 == 4 ? T(1) : n % 8 > 4 ? T(0) : T(job.slip);
  }

  // Copies the rows around [j0, j1), before any thread begins.
  void save() {
    if (P::SPLIT_BY_FRONTS && all_skipped()) return;
    for (Index r = 0; r < job.halo; ++r) {
      copy_row(j0_ - job.halo + r, south_ + r * job.stride);
      copy_row(j1_ + r, north_ + r * job.stride);
    }
  }

  void run() {
    const Index levels = job.levels, w = job.halo_per_level;
    Index filled = j0_;
    if (P::SPLIT_BY_FRONTS && all_skipped()) {
      for (Index j = j0_; j < j1_; ++j) pack_edges(j);
      return;
    }
    // Land next to skipped groups is computed from ring buffers that nothing has filled there, so they get finite numbers.
    if (std::memchr(job.flags, SKIPPED, (job.rows + 2 * job.margin) * groups()) != nullptr) {
      std::fill_n(rings_, levels * P::RING_ROWS * job.stride, T(1));
    }
    std::vector<T> constants(levels * P::CONSTANTS);
    for (Index level = 0; level < levels; ++level) {
      P::constants(static_cast<const T*>(job.scalars) + level * job.scalars_per_level, &constants[level * P::CONSTANTS]);
    }
    const auto reach = [&](Index level) { return (levels - 1 - level) * w; };
    for (Index r = j0_ - reach(0) - P::WARMUP_ROWS; r - (levels - 1) * P::NORTH_REACH < j1_; ++r) {
      for (; filled < std::min(j1_, r + P::NORTH_REACH + 1); ++filled) fill_row(filled);
      for (Index level = 0; level < levels; ++level) {
        const Index j = r - level * P::NORTH_REACH, first = j0_ - reach(level);
        if (j < first - P::WARMUP_ROWS || j >= j1_ + reach(level)) continue;
        const Index start = -(reach(level) + N - 1) / N * N;
        pass(level, j, j >= first, start, job.nx + reach(level), constants.data());
        if (level == levels - 1 && j >= first) pack_edges(j);
      }
    }
    finish_stores();
  }

  // See RowAccess; the rows that neighbours get are read immediately, so they are not written past the cache.
  bool bypasses_cache(int f, bool read, Index j) const {
    const bool elsewhere = !read || job.planes[READ_FROM * P::FIELDS + f] != job.planes[WRITE_TO * P::FIELDS + f];
    return job.exceeds_cache && elsewhere && job.levels == 1 && j >= job.halo && j < job.ny - job.halo;
  }

  // Row r of a field: of the block, or the copy of a row around it; if the field is not exchanged, the nearest row.
  T* row(PlaneUse use, int f, Index r) const {
    const Index t = exchange_index_[f];
    if (t >= 0 && r < j0_) return south_ + (t * job.halo + std::max<Index>(r - j0_ + job.halo, 0)) * job.stride + job.row_padding;
    if (t >= 0 && r >= j1_) return north_ + (t * job.halo + std::min(r - j1_, job.halo - 1)) * job.stride + job.row_padding;
    return block_row(use, f, std::clamp(r, j0_, j1_ - 1));
  }

 private:
  static constexpr int N_READ = std::size(P::READS), N_USED = std::size(P::USED), N_SENT = std::size(P::SENDS);

  // Row r of a field of the block, in the plane for this use.
  T* block_row(PlaneUse use, int f, Index r) const {
    return static_cast<T*>(job.fields) + job.planes[use * P::FIELDS + f] * job.plane_size + r * job.stride + job.row_padding;
  }

  static Index n_exchanged(const Job& job) { return job.levels > 1 ? N_USED : N_READ; }

  // Copies so few numbers that a call of the library would cost more.
  static void copy_few(const T* from, Index n, T* to) {
    for (Index i = 0; i < n; ++i) to[i] = from[i];
  }

  // Fills the columns on both sides of row r with those from the neighbours.
  void fill_side_columns(int t, Index r, T* row) const {
    const Index e = job.halo, strip = (t * job.rows + r) * e;
    copy_few(static_cast<const T*>(job.west) + strip, e, row - e);
    copy_few(static_cast<const T*>(job.east) + strip, e, row + job.nx);
  }

  void fill_row(Index r) const {
    for (int t = 0; t < n_exchanged(job); ++t) fill_side_columns(t, r, block_row(READ_FROM, P::USED[t], r));
  }

  void copy_row(Index r, T* to) const {
    const Index e = job.halo, strip = job.columns + 2 * e;
    for (int t = 0; t < n_exchanged(job); ++t, to += e * job.stride) {
      T* row = to + job.row_padding;
      if (r < 0) {
        std::copy_n(static_cast<const T*>(job.south) + (t * e + r + e) * strip, job.nx + 2 * e, row - e);
      } else if (r >= job.ny) {
        std::copy_n(static_cast<const T*>(job.north) + (t * e + r - job.ny) * strip, job.nx + 2 * e, row - e);
      } else {
        std::copy_n(block_row(READ_FROM, P::USED[t], r), job.nx, row);
        fill_side_columns(t, r, row);
      }
    }
  }

  void pass(Index level, Index j, bool writes, Index first, Index last, const T* constants) {
    const RowAccess<T, P> rows{*this, &field_planes_[level * P::FIELDS], rings_ + level * P::RING_ROWS * job.stride, j, slip_};
    const std::uint8_t* const flags = job.flags + rows.inside(0) * groups();
    const bool land = std::any_of(flags, flags + groups(), [](std::uint8_t flag) { return (flag & ~UNWRITTEN) == COAST; });
    const auto row = land ? P::template row<V, true> : P::template row<V, false>;
    const ColumnRun* const end = find_runs(flags, writes, first, last);
    if (end > runs_.data()) row(rows, constants + level * P::CONSTANTS, runs_.data(), end, level == 0);
  }

  // Finds the runs of a row from the flags of its groups, and returns their end. A run after skipped groups begins EAST_VECTORS vectors
  // early: all that its first columns read further west is land (`LoopSchedule.west_reach`). A short gap of skipped groups is computed.
  const ColumnRun* find_runs(const std::uint8_t* flags, bool writes, Index first, Index last) {
    ColumnRun* run = runs_.data();
    const Index west_reach = (P::WEST_REACH + N - 1) / N * N, first_needed = first - P::EAST_VECTORS * N - west_reach, row_padding = job.row_padding;
    const Index lookback = P::EAST_VECTORS * N + (P::SPLIT_BY_FRONTS ? west_reach : 0);
    for (Index i = first_needed, g = (i + row_padding) / GROUP_COLUMNS; i < last;) {
      const Index begin = g * GROUP_COLUMNS - row_padding;
      const std::uint8_t flag = flags[g];
      while (++g < groups() && flags[g] == flag) {}
      const Index end = g < groups() ? std::min(last, g * GROUP_COLUMNS - row_padding) : last;
      if (flag == SKIPPED && (run == runs_.data() || end == last || end - begin > lookback)) {
        i = end < last ? std::max(end - lookback, first_needed) : last;
        continue;
      }
      run->first = i;
      run->last = i = end;
      run->write_from = writes && flag < (P::SPLIT_BY_FRONTS ? SKIPPED : UNWRITTEN) ? std::max(first, begin) : end;
      run++->near_land = (flag & ~UNWRITTEN) != WATER;
    }
    for (ColumnRun* r = run; r-- > runs_.data();) {
      const bool adjoins_next = r + 1 < run && r[1].first == r->last;
      r->end = adjoins_next ? r[1].end : r->last;
      r->prefetch_jump = adjoins_next ? r[1].prefetch_jump : r + 1 < run ? r[1].first - r->last : 0;
    }
    return run;
  }

  // Whether all groups are skipped.
  bool all_skipped() const {
    const Index n = (job.rows + 2 * job.margin) * groups();
    return *job.flags == SKIPPED && !std::memcmp(job.flags, job.flags + 1, n - 1);
  }

  Index groups() const { return (job.static_stride + GROUP_COLUMNS - 1) / GROUP_COLUMNS; }

  // Copies the outermost columns and rows for the neighbours.
  void pack_edges(Index j) const {
    const Index e = job.halo, nx = job.nx, ny = job.ny;
    for (int t = 0; t < (job.levels > 1 ? N_USED : N_SENT); ++t) {
      const T* row = block_row(SEND_FROM, field_planes_[job.levels * P::FIELDS + (job.levels > 1 ? P::USED[t] : P::SENDS[t])], j);
      const Index strip = (t * job.rows + j) * e;
      copy_few(row, e, static_cast<T*>(job.edge_west) + strip);
      copy_few(row + nx - e, e, static_cast<T*>(job.edge_east) + strip);
      if (j < e) std::copy_n(row, nx, static_cast<T*>(job.edge_south) + (t * e + j) * job.columns);
      if (j >= ny - e) std::copy_n(row, nx, static_cast<T*>(job.edge_north) + (t * e + j - ny + e) * job.columns);
    }
  }

  Index j0_, j1_;
  T *south_, *north_, *rings_;
  std::vector<ColumnRun> runs_;  // those of the current row
  std::vector<int> field_planes_;  // [levels + 1, fields]: the field in whose memory each is, at each level and at the end
  T slip_[16];
  Index exchange_index_[P::FIELDS];  // index of each field among the exchanged ones, or -1
};

// Marks the cells of a group: BREAKING_OR_THIN water, where `ocean.drying.breaking_fraction` may be above zero, and water that FLOWS, thicker
// than `closed_limit`. `level` has the rows of sea level south of, at and north of that of the thickness h; rows of depth and bits are
// `row_stride` apart.
template <class T>
void mark_cells(const T* h, const T* const* level, const T* depth, const std::uint8_t* bits, Index row_stride, const T* limits,
                std::uint8_t* __restrict marks) {
  using V = typename Pack<T>::Vector;
  using I = typename Pack<T>::Integers;
  I marked[GROUP_COLUMNS / LANES<V>];
  const V thin_limit = broadcast<V>(limits[0]), bend_limit = broadcast<V>(limits[1]), closed_limit = broadcast<V>(limits[2]);
  for (Index k = 0; k < GROUP_COLUMNS; k += LANES<V>) {
    const V here = load<V>(h + k), H = load<V>(depth + k), mid = load<V>(level[1] + k);
    // The change of the level above the sill at a face, from this cell outwards.
    const auto jump = [&](const T* there, const T* further) {
      const V sill = -minimum(H, load<V>(further + k));
      return maximum(sill, load<V>(there + k)) - maximum(sill, mid);
    };
    const I cell = load_mask_bits<V>(bits + k), west = load_mask_bits<V>(bits + k - 1), south = load_mask_bits<V>(bits + k - row_stride);
    const V across = masked<2>(jump(level[1] + 1, depth + 1), cell) + masked<2>(jump(level[1] - 1, depth - 1), west);
    const V along = masked<4>(jump(level[2], depth + row_stride), cell) + masked<4>(jump(level[0], depth - row_stride), south);
    const I smooth = (abs(across) < bend_limit * here) & (abs(along) < bend_limit * here) & (here > thin_limit);
    marked[k / LANES<V>] = ((cell & 1) != 0) & ((~smooth & BREAKING_OR_THIN) | (~(here <= closed_limit) & FLOWS));
  }
  for (Index k = 0; k < GROUP_COLUMNS; ++k) marks[k] = reinterpret_cast<const typename Pack<T>::Integer*>(marked)[k];
}

// Marks the cells of all groups of a row. Cells where the level changes little on all sides are smooth, however high the sills are.
template <class T>
void mark_row(const T* h, const T* const* level, const T* depth, const std::uint8_t* cells, Index row_stride, Index groups,
              const T* limits, std::uint8_t* marks) {
  const auto max_of = [](T a, T b) { return a > b ? a : b; };
  const auto magnitude = [&](T a) { return max_of(a, -a); };
  const T *south = level[0], *mid = level[1], *north = level[2], thin_limit = limits[0], bend_limit = limits[1];
  for (Index first = 0; first < groups * GROUP_COLUMNS; first += GROUP_COLUMNS) {
    unsigned is_suspect = 0;
    for (Index k = first; k < first + GROUP_COLUMNS; ++k) {
      const T here = h[k], across = magnitude(mid[k + 1] - mid[k]) + magnitude(mid[k - 1] - mid[k]);
      const T along = magnitude(north[k] - mid[k]) + magnitude(south[k] - mid[k]);
      is_suspect |= !(max_of(max_of(across, along) - bend_limit * here, thin_limit - here) < 0);
    }
    if (is_suspect) {
      const T* const rows[] = {south + first, mid + first, north + first};
      mark_cells(h + first, rows, depth + first, cells + first, row_stride, limits, marks + first);
    } else {
      std::memset(marks + first, FLOWS, GROUP_COLUMNS);
    }
  }
}

// One phase of a pass of a step, for the foreign call: 0 returns the bytes of workspace that a sweep needs, 1 saves the rows that
// neighbouring threads overwrite, 2 computes.
template <class T, template <class> class Program>
std::size_t call(const Job& job, int phase, Index j0, Index j1, void* space) {
  if (phase == 0) return Sweep<T, Program>::workspace(job);
  Sweep<T, Program> sweep(job, j0, j1, space);
  phase == 1 ? sweep.save() : sweep.run();
  return 0;
}

}  // namespace swmodel
