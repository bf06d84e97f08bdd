// The sweep: one pass over the rows of a block, in place, for one step or several (temporal blocking). It contains no physics.
// For steps with drying, `mark_row` at the end of this file marks breaking and thin water.
//
// A Program (generated) computes row j of one step from rows j to j + NORTH_REACH, which are not overwritten yet, and from
// ring buffers of earlier rows. In a sweep of several steps each step works NORTH_REACH rows south of the step before. Rows of
// another block or of another thread are copies; steps before the last also advance those that later steps read.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "pass_arguments.h"
#include "vector.h"

namespace swmodel {

constexpr Index PREFETCH_COLUMNS = 128;  // distance to the columns that are prefetched
enum PlaneUse { READ_FROM, WRITE_TO, SEND_FROM };

// Columns of a row that are computed in the same way, vector after vector: from `first` on, written from `write_from` on.
// Prefetches beyond `prefetch_end` skip `prefetch_jump` columns.
struct ColumnRun {
  Index first, last, write_from, prefetch_end, prefetch_jump;
  bool near_land;
};

template <class T, template <class> class Program>
class Sweep;

// Access to the rows around row j, for the generated loop.
template <class T, class Program>
struct RowAccess;

template <class T, template <class> class Program>
struct RowAccess<T, Program<T>> {
  const Sweep<T, Program>& sweep;
  const int* field_planes;  // the field in whose memory each field is at this step
  T* rings;
  Index j;
  const T* slip;  // the table of the slip at corners, see lookup_corner

  T* field(int f, int a) const { return sweep.row(READ_FROM, field_planes[f], j + a); }
  T* output(int f) const { return sweep.row(WRITE_TO, field_planes[f], j); }
  // Row j + a of all ring buffers of the same depth, whose vectors alternate.
  T* ring_buffer(int group, int a) const {
    Index first = 0;
    for (int g = 0; g < group; ++g) first += Program<T>::RING_DEPTHS[g] * Program<T>::RINGS_PER_DEPTH[g];
    const Index depth = Program<T>::RING_DEPTHS[group], n_rings = Program<T>::RINGS_PER_DEPTH[group];
    const Index row = ((j + a) % depth + depth) % depth;
    return rings + first * sweep.args.stride + n_rings * (row * sweep.args.stride + sweep.args.row_padding);
  }
  Index static_row(int a) const {
    const PassArguments& args = sweep.args;
    return std::clamp<Index>(j + a, -args.static_halo, args.rows + args.static_halo - 1) + args.static_halo;
  }
  T row_static(int number, int a) const {
    const PassArguments& args = sweep.args;
    return static_cast<const T*>(args.row_statics)[number * (args.rows + 2 * args.static_halo) + static_row(a)];
  }
  const T* static_field(int number, int a) const {
    const PassArguments& args = sweep.args;
    const Index row = number * (args.rows + 2 * args.static_halo) + static_row(a);
    return static_cast<const T*>(args.statics) + row * args.static_stride + args.row_padding;
  }
  const std::uint8_t* mask_bits(int a) const {
    const PassArguments& args = sweep.args;
    return args.mask_bits + static_row(a) * args.static_stride + args.row_padding;
  }
  // Whether field f is written with streaming stores: if the pass does not read the plane that it writes, and this plane would
  // leave the cache before the next pass reads it.
  bool uses_streaming_store(int f, bool read) const { return sweep.uses_streaming_store(f, read, j); }
  // Whether no neighbour gets these columns.
  bool is_inner(Index first, Index last) const {
    return first >= sweep.args.halo && last <= sweep.args.nx - sweep.args.halo;
  }
};

// The sweep over the rows [j0, j1) of a block.
template <class T, template <class> class Program>
class Sweep {
  using P = Program<T>;
  using V = typename Pack<T>::Vector;
  static constexpr Index N = LANES<V>;

 public:
  const PassArguments& args;

  static std::size_t workspace_bytes(const PassArguments& args) {
    return (2 * args.halo * n_exchanged(args) + args.n_steps * P::RING_ROWS) * args.stride * sizeof(T);
  }

  Sweep(const PassArguments& args, Index j0, Index j1, void* workspace)
      : args(args), j0_(j0), j1_(j1), south_(static_cast<T*>(workspace)),
        north_(south_ + args.halo * n_exchanged(args) * args.stride),
        rings_(north_ + args.halo * n_exchanged(args) * args.stride), runs_(groups()) {
    std::fill_n(exchange_index_, P::N_FIELDS, -1);
    for (int k = 0; k < n_exchanged(args); ++k) exchange_index_[P::USED_FIELDS[k]] = k;
    field_planes_.resize((args.n_steps + 1) * P::N_FIELDS);
    for (Index n = 0; n < Index(field_planes_.size()); ++n) {
      field_planes_[n] = n < P::N_FIELDS ? n : field_planes_[n - n % P::N_FIELDS - P::N_FIELDS + P::PLANE_AFTER[n % P::N_FIELDS]];
    }
    for (int n = 0; n < 16; ++n) slip_[n] = n % 8 == 4 ? T(1) : n % 8 > 4 ? T(0) : T(args.slip);
  }

  // Copies the rows around [j0, j1), before any thread begins.
  void save_neighbour_rows() {
    if (P::SPLIT_BY_SMOOTHNESS && all_skipped()) return;
    for (Index r = 0; r < args.halo; ++r) {
      copy_row(j0_ - args.halo + r, south_ + r * args.stride);
      copy_row(j1_ + r, north_ + r * args.stride);
    }
  }

  void run() {
    const Index n_steps = args.n_steps, halo_per_step = args.halo_per_step;
    Index filled = j0_;
    if (P::SPLIT_BY_SMOOTHNESS && all_skipped()) {
      for (Index j = j0_; j < j1_; ++j) pack_edges(j);
      return;
    }
    // Land next to skipped groups also reads parts of ring buffers that nothing has filled, so the buffers start with finite numbers.
    if (std::memchr(args.flags, SKIPPED, (args.rows + 2 * args.static_halo) * groups()) != nullptr) {
      std::fill_n(rings_, n_steps * P::RING_ROWS * args.stride, T(1));
    }
    std::vector<T> constants(n_steps * P::N_CONSTANTS);
    for (Index step = 0; step < n_steps; ++step) {
      P::fill_constants(static_cast<const T*>(args.scalars) + step * args.scalars_per_step, &constants[step * P::N_CONSTANTS]);
    }
    const auto reach = [&](Index step) { return (n_steps - 1 - step) * halo_per_step; };
    for (Index r = j0_ - reach(0) - P::WARMUP_ROWS; r - (n_steps - 1) * P::NORTH_REACH < j1_; ++r) {
      for (; filled < std::min(j1_, r + P::NORTH_REACH + 1); ++filled) fill_row(filled);
      for (Index step = 0; step < n_steps; ++step) {
        const Index j = r - step * P::NORTH_REACH, first = j0_ - reach(step);
        if (j < first - P::WARMUP_ROWS || j >= j1_ + reach(step)) continue;
        const Index start = -(reach(step) + N - 1) / N * N;
        compute_row(step, j, j >= first, start, args.nx + reach(step), constants.data());
        if (step == n_steps - 1 && j >= first) pack_edges(j);
      }
    }
    fence_streaming_stores();
  }

  // See RowAccess; the rows that neighbours get are read immediately, so they have no streaming stores.
  bool uses_streaming_store(int f, bool read, Index j) const {
    const bool elsewhere = !read || args.planes[READ_FROM * P::N_FIELDS + f] != args.planes[WRITE_TO * P::N_FIELDS + f];
    return args.exceeds_cache && elsewhere && args.n_steps == 1 && j >= args.halo && j < args.ny - args.halo;
  }

  // Row r of a field: one of [j0, j1), or the copy of a row around them; if the field is not exchanged, the nearest of [j0, j1).
  T* row(PlaneUse use, int f, Index r) const {
    const Index k = exchange_index_[f];
    if (k >= 0 && r < j0_) return south_ + (k * args.halo + std::max<Index>(r - j0_ + args.halo, 0)) * args.stride + args.row_padding;
    if (k >= 0 && r >= j1_) return north_ + (k * args.halo + std::min(r - j1_, args.halo - 1)) * args.stride + args.row_padding;
    return block_row(use, f, std::clamp(r, j0_, j1_ - 1));
  }

 private:
  static constexpr int N_USED = std::size(P::USED_FIELDS), N_SENT = std::size(P::SENT_FIELDS);

  // Row r of a field of the block, in the plane for this use.
  T* block_row(PlaneUse use, int f, Index r) const {
    return static_cast<T*>(args.memory) + args.planes[use * P::N_FIELDS + f] * args.plane_size + r * args.stride + args.row_padding;
  }

  static Index n_exchanged(const PassArguments& args) { return args.n_steps > 1 ? N_USED : P::N_HALO_FIELDS; }

  // Copies so few numbers that a call of the library would cost more.
  static void copy_few(const T* from, Index n, T* to) {
    for (Index i = 0; i < n; ++i) to[i] = from[i];
  }

  // Fills the columns on both sides of row r with those from the neighbours.
  void fill_side_columns(int exchange_index, Index r, T* row) const {
    const Index halo = args.halo, first = (exchange_index * args.rows + r) * halo;
    copy_few(static_cast<const T*>(args.west) + first, halo, row - halo);
    copy_few(static_cast<const T*>(args.east) + first, halo, row + args.nx);
  }

  void fill_row(Index r) const {
    for (int k = 0; k < n_exchanged(args); ++k) fill_side_columns(k, r, block_row(READ_FROM, P::USED_FIELDS[k], r));
  }

  void copy_row(Index r, T* to) const {
    const Index halo = args.halo, strip_columns = args.columns + 2 * halo;
    for (int k = 0; k < n_exchanged(args); ++k, to += halo * args.stride) {
      T* row = to + args.row_padding;
      if (r < 0) {
        std::copy_n(static_cast<const T*>(args.south) + (k * halo + r + halo) * strip_columns, args.nx + 2 * halo, row - halo);
      } else if (r >= args.ny) {
        std::copy_n(static_cast<const T*>(args.north) + (k * halo + r - args.ny) * strip_columns, args.nx + 2 * halo, row - halo);
      } else {
        std::copy_n(block_row(READ_FROM, P::USED_FIELDS[k], r), args.nx, row);
        fill_side_columns(k, r, row);
      }
    }
  }

  // Computes row j of a step: columns `first` to `last`, written if `writes`.
  void compute_row(Index step, Index j, bool writes, Index first, Index last, const T* constants) {
    const RowAccess<T, P> rows{*this, &field_planes_[step * P::N_FIELDS], rings_ + step * P::RING_ROWS * args.stride, j, slip_};
    const std::uint8_t* const flags = args.flags + rows.static_row(0) * groups();
    const bool land = std::any_of(flags, flags + groups(), [](std::uint8_t flag) { return (flag & ~UNWRITTEN) == COAST; });
    const auto compute = land ? P::template compute_row<V, true> : P::template compute_row<V, false>;
    const ColumnRun* const end = find_runs(flags, writes, first, last);
    if (end > runs_.data()) compute(rows, constants + step * P::N_CONSTANTS, runs_.data(), end, step == 0);
  }

  // Finds the runs of a row from the flags of its groups, and returns their end. A run after skipped groups begins EAST_VECTORS
  // vectors early, to load what its first columns read; what they read further west is land (LoopSchedule.west_reach), or, with
  // SPLIT_BY_SMOOTHNESS, is computed by starting WEST_REACH earlier. Shorter gaps of skipped groups are computed.
  const ColumnRun* find_runs(const std::uint8_t* flags, bool writes, Index first, Index last) {
    ColumnRun* run = runs_.data();
    const Index west_reach = (P::WEST_REACH + N - 1) / N * N, first_needed = first - P::EAST_VECTORS * N - west_reach, row_padding = args.row_padding;
    const Index lookback = P::EAST_VECTORS * N + (P::SPLIT_BY_SMOOTHNESS ? west_reach : 0);
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
      run->write_from = writes && flag < (P::SPLIT_BY_SMOOTHNESS ? SKIPPED : UNWRITTEN) ? std::max(first, begin) : end;
      run++->near_land = (flag & ~UNWRITTEN) != WATER;
    }
    for (ColumnRun* r = run; r-- > runs_.data();) {
      const bool adjoins_next = r + 1 < run && r[1].first == r->last;
      r->prefetch_end = adjoins_next ? r[1].prefetch_end : r->last;
      r->prefetch_jump = adjoins_next ? r[1].prefetch_jump : r + 1 < run ? r[1].first - r->last : 0;
    }
    return run;
  }

  // Whether all groups are skipped.
  bool all_skipped() const {
    const Index n = (args.rows + 2 * args.static_halo) * groups();
    return *args.flags == SKIPPED && !std::memcmp(args.flags, args.flags + 1, n - 1);
  }

  Index groups() const { return (args.static_stride + GROUP_COLUMNS - 1) / GROUP_COLUMNS; }

  // Copies what the neighbours get of row j: its outermost columns, and all of it if it is one of the outermost rows.
  void pack_edges(Index j) const {
    const Index halo = args.halo, nx = args.nx, ny = args.ny;
    for (int k = 0; k < (args.n_steps > 1 ? N_USED : N_SENT); ++k) {
      const int f = args.n_steps > 1 ? P::USED_FIELDS[k] : P::SENT_FIELDS[k];
      const T* row = block_row(SEND_FROM, field_planes_[args.n_steps * P::N_FIELDS + f], j);
      const Index first = (k * args.rows + j) * halo;
      copy_few(row, halo, static_cast<T*>(args.edge_west) + first);
      copy_few(row + nx - halo, halo, static_cast<T*>(args.edge_east) + first);
      if (j < halo) std::copy_n(row, nx, static_cast<T*>(args.edge_south) + (k * halo + j) * args.columns);
      if (j >= ny - halo) std::copy_n(row, nx, static_cast<T*>(args.edge_north) + (k * halo + j - ny + halo) * args.columns);
    }
  }

  Index j0_, j1_;
  T *south_, *north_, *rings_;
  std::vector<ColumnRun> runs_;  // those of the current row
  std::vector<int> field_planes_;  // [n_steps + 1, fields]: the field in whose memory each is, at each step and at the end
  T slip_[16];
  Index exchange_index_[P::N_FIELDS];  // index of each field among the exchanged ones, or -1
};

// Marks the cells of a group: BREAKING_OR_THIN water, where `ocean.drying.breaking_fraction` may be above zero, and water that FLOWS, thicker
// than `closed_limit`. `eta` has the rows of sea level south of, at and north of that of the thickness h; rows of depth and bits are
// `row_stride` apart.
template <class T>
void mark_cells(const T* h, const T* const* eta, const T* depth, const std::uint8_t* bits, Index row_stride, const T* limits,
                std::uint8_t* __restrict marks) {
  using V = typename Pack<T>::Vector;
  using I = typename Pack<T>::Integers;
  I marked[GROUP_COLUMNS / LANES<V>];
  const V thin_limit = broadcast<V>(limits[0]), bend_limit = broadcast<V>(limits[1]), closed_limit = broadcast<V>(limits[2]);
  for (Index k = 0; k < GROUP_COLUMNS; k += LANES<V>) {
    const V here = load<V>(h + k), H = load<V>(depth + k), mid = load<V>(eta[1] + k);
    // The change of the sea level above the sill at a face, from this cell outwards.
    const auto jump = [&](const T* there, const T* further) {
      const V sill = -minimum(H, load<V>(further + k));
      return maximum(sill, load<V>(there + k)) - maximum(sill, mid);
    };
    const I cell = load_mask_bits<V>(bits + k), west = load_mask_bits<V>(bits + k - 1), south = load_mask_bits<V>(bits + k - row_stride);
    const V across = masked<2>(jump(eta[1] + 1, depth + 1), cell) + masked<2>(jump(eta[1] - 1, depth - 1), west);
    const V along = masked<4>(jump(eta[2], depth + row_stride), cell) + masked<4>(jump(eta[0], depth - row_stride), south);
    const I smooth = (abs(across) < bend_limit * here) & (abs(along) < bend_limit * here) & (here > thin_limit);
    marked[k / LANES<V>] = ((cell & 1) != 0) & ((~smooth & BREAKING_OR_THIN) | (~(here <= closed_limit) & FLOWS));
  }
  for (Index k = 0; k < GROUP_COLUMNS; ++k) marks[k] = reinterpret_cast<const typename Pack<T>::Integer*>(marked)[k];
}

// Marks the cells of all groups of a row. Cells where the sea level changes little on all sides are smooth, however high the sills are.
template <class T>
void mark_row(const T* h, const T* const* eta, const T* depth, const std::uint8_t* cells, Index row_stride, Index groups,
              const T* limits, std::uint8_t* marks) {
  const auto max_of = [](T a, T b) { return a > b ? a : b; };
  const auto magnitude = [&](T a) { return max_of(a, -a); };
  const T *south = eta[0], *mid = eta[1], *north = eta[2], thin_limit = limits[0], bend_limit = limits[1];
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

// One phase of a pass, for the FFI handler: returns the bytes of workspace of a sweep; saves the rows that other threads
// overwrite; or computes.
template <class T, template <class> class Program>
std::size_t run_phase(const PassArguments& args, int phase, Index j0, Index j1, void* workspace) {
  if (phase == WORKSPACE_BYTES) return Sweep<T, Program>::workspace_bytes(args);
  Sweep<T, Program> sweep(args, j0, j1, workspace);
  phase == SAVE_ROWS ? sweep.save_neighbour_rows() : sweep.run();
  return 0;
}

}  // namespace swmodel
