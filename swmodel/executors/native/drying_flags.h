// The flags of the passes of a step with drying: where waves break or water is thin, and where a step changes nothing.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "ffi_arguments.h"

namespace swmodel {

using Marks = std::vector<std::uint8_t>;

constexpr std::uint64_t EACH_BYTE = 0x0101010101010101;  // 1 in each of eight bytes
enum GroupKind : std::uint8_t { SMOOTH, BREAKING, UNCHANGED };

// The type of the generated function swmodel_mark_row, which calls `mark_row` in sweep.h.
using MarkRow = void (*)(const void*, const void*, const void*, const std::uint8_t*, Index, Index, const void*, std::uint8_t*);

// A block and the halo of its thickness, the strips `west` to `north`. Static fields and flags have `static_halo` rows around
// the block and start `row_padding` columns west of it.
template <class T>
struct DryingFlags {
  const T *memory, *depth, *limits;
  const std::uint8_t* mask_bits;
  const std::int32_t *planes, *histories;
  Index n_fields, static_rows, static_stride, plane_size, static_halo, row_padding, ny, nx, halo, stride, columns_with_halo;
  const T* thickness;  // row 0, column 0 of the thickness
  const T *west, *east, *south, *north;
  MarkRow mark_row;

  Index groups() const { return (static_stride + GROUP_COLUMNS - 1) / GROUP_COLUMNS; }
  Index rows_with_halo() const { return ny + 2 * halo; }
  // The first column of a group within the block and its halo.
  Index first_column(Index g) const { return std::clamp(g * GROUP_COLUMNS - row_padding, -halo, nx + halo); }
  Index static_index(Index r, Index i) const { return (r + static_halo) * static_stride + i + row_padding; }

  // The rows that mark_row_groups needs: three of eta, from south to north, and the thickness of the middle and the northern one.
  // Pointers are to column 0.
  struct RowWindow {
    explicit RowWindow(const DryingFlags& block) : width(block.groups() * GROUP_COLUMNS + 2), memory(5 * width, T(0)) {
      T* next = &memory[1 + block.row_padding];
      for (T*& row : eta) row = std::exchange(next, next + width);
      for (T*& row : h) row = std::exchange(next, next + width);
    }
    Index width;
    std::vector<T> memory;
    T *eta[3], *h[2];
  };

  // Replaces the southernmost row by row r, which is north of the others.
  void next_row(Index r, RowWindow& rows) const {
    std::rotate(rows.eta, rows.eta + 1, rows.eta + 3);
    std::swap(rows.h[0], rows.h[1]);
    T *const row = rows.h[1], *const eta = rows.eta[2];
    if (r < 0 || r >= ny) {
      std::copy_n(r < 0 ? &south[(r + halo) * columns_with_halo] : &north[(r - ny) * columns_with_halo], nx + 2 * halo, row - halo);
    } else {
      std::copy_n(west + r * halo, halo, row - halo);
      std::copy_n(thickness + r * stride, nx, row);
      std::copy_n(east + r * halo, halo, row + nx);
    }
    const T* const depth_row = &depth[static_index(r, 0)];
    for (Index i = -halo; i < nx + halo; ++i) eta[i] = row[i] - depth_row[i];
  }

  // For each group of the block and its halo: whether waves break or water is thin within `halo` cells of it in its row, and whether
  // all its water is too thin to flow; for each row, whether waves break or water is thin anywhere in it.
  struct BlockMarks {
    Marks near_breaking, all_closed, has_breaking;
  };

  // Finds the BlockMarks of row r. `marks` has room for the cells of all groups. The outermost cells of the halo are not marked,
  // because their neighbours are unknown.
  void mark_row_groups(Index r, const RowWindow& rows, Marks& marks, BlockMarks& found) const {
    const Index begin = row_padding + 1 - halo, end = row_padding + nx + halo - 1, n = groups();
    const Index first = begin / GROUP_COLUMNS, last = (end + GROUP_COLUMNS - 1) / GROUP_COLUMNS;
    const Index from = first * GROUP_COLUMNS - row_padding, first_cell = static_index(r, from);
    const T* const eta[] = {rows.eta[0] + from, rows.eta[1] + from, rows.eta[2] + from};
    mark_row(rows.h[0] + from, eta, depth + first_cell, mask_bits + first_cell, static_stride, last - first, limits,
             &marks[first * GROUP_COLUMNS]);
    std::fill(marks.begin() + first * GROUP_COLUMNS, marks.begin() + begin, 0);
    std::fill(marks.begin() + end, marks.begin() + last * GROUP_COLUMNS, 0);
    for (Index g = first; g < last; ++g) {
      std::uint64_t words[2];
      static_assert(sizeof words == GROUP_COLUMNS);
      std::memcpy(words, &marks[g * GROUP_COLUMNS], GROUP_COLUMNS);
      const std::uint64_t any = words[0] | words[1];
      found.all_closed[(r + halo) * n + g] = !(any & FLOWS * EACH_BYTE);
      if (any & BREAKING_OR_THIN * EACH_BYTE) mark_groups_near(r, g, marks, found);
    }
  }

  // Marks the groups of row r within `halo` cells of the breaking or thin water in group g.
  void mark_groups_near(Index r, Index g, const Marks& marks, BlockMarks& found) const {
    const auto is_breaking = [&](Index n) { return marks[g * GROUP_COLUMNS + n] & BREAKING_OR_THIN; };
    Index first = 0, last = GROUP_COLUMNS - 1;
    while (!is_breaking(first)) ++first;
    while (!is_breaking(last)) --last;
    const Index begin = std::max<Index>(g * GROUP_COLUMNS + first - halo, 0) / GROUP_COLUMNS, n = groups();
    const Index end = std::min((g * GROUP_COLUMNS + last + halo) / GROUP_COLUMNS, n - 1) + 1;
    std::fill_n(&found.near_breaking[(r + halo) * n + begin], end - begin, 1);
    found.has_breaking[r + halo] = 1;
  }

  // BREAKING for groups within `halo` rows and columns of breaking or thin water, SMOOTH for the others.
  Marks groups_near_breaking(const BlockMarks& found) const {
    const Index n = groups();
    Marks kinds(static_rows * n, SMOOTH);
    for (Index r = 0; r < rows_with_halo(); ++r) {
      if (!found.has_breaking[r]) continue;
      const Index f = r + static_halo - halo;  // the row of the flags
      for (Index s = std::max<Index>(f - halo, 0); s <= std::min(f + halo, static_rows - 1); ++s) {
        for (Index g = 0; g < n; ++g) kinds[s * n + g] |= found.near_breaking[r * n + g];
      }
    }
    return kinds;
  }

  // Whether a row of a group does not change and did not change before, because no water around it flows. Its velocities,
  // fields 1 and 2, must be zero.
  bool is_unchanged(Index r, Index g, const Marks& all_closed) const {
    for (Index s = r; s <= r + 2 * halo; ++s) {
      for (Index k = std::max<Index>(g - 1, 0); k <= std::min(g + 1, groups() - 1); ++k) {
        if (!all_closed[s * groups() + k] && first_column(k) < first_column(k + 1)) return false;
      }
    }
    const Index i = std::max<Index>(first_column(g), 0), n = std::min(first_column(g + 1), nx) - i;
    for (Index f = 0; f < n_fields; ++f) {
      const T* rows[3];
      for (int age = 0; age < 3; ++age) {
        rows[age] = memory + planes[histories[3 * f + age]] * plane_size + r * stride + row_padding + i;
      }
      for (Index k = 0; k < n; ++k) {
        const T now = rows[0][k];
        if (!(now == rows[1][k] && now == rows[2][k]) || ((f == 1 || f == 2) && now != 0)) return false;
      }
    }
    return true;
  }

  // Fills the flags of the pass over the groups of one kind. The pass also computes up to warmup_rows rows south of them, without
  // writing these (UNWRITTEN). Groups that the pass computes have their flag of land, at least min_flag; the others are SKIPPED.
  void fill_flags(const Marks& kinds, GroupKind kind, std::uint8_t warmup_rows, std::uint8_t min_flag, const std::uint8_t* land_flags,
                  std::uint8_t* out) const {
    const Index n = groups();
    Marks rows(n, 0);
    std::uint8_t* const __restrict needed = rows.data();  // how many rows from here to the south the pass computes
    for (Index f = static_rows; f-- > 0;) {
      const std::uint8_t *const here = &kinds[f * n], *const land = &land_flags[f * n];
      std::uint8_t* const __restrict to = &out[f * n];
      for (Index g = 0; g < n; ++g) {
        const bool is_own = here[g] == kind;
        needed[g] = is_own ? warmup_rows + 1 : needed[g] - (needed[g] > 0);
        const std::uint8_t flag = land[g] > min_flag ? land[g] : min_flag;
        to[g] = (flag == SKIPPED) | !needed[g] ? std::uint8_t(SKIPPED) : std::uint8_t(flag + (is_own ? 0 : UNWRITTEN));
      }
    }
  }
};

// Flags [2, rows, groups] for the pass over breaking or thin water, and for the pass over the smooth sea: a group belongs to the first
// if waves break or water is thin within `halo` cells. Each pass skips what the other writes, except rows that it needs. With
// `skip_unchanged` both skip groups that a step does not change.
// Arrays: memory; planes [3, fields]; west, east, south, north; extent (ny, nx); depth; mask_bits; flags of land; limits (thickness of
// thin water, m; bend of the sea level relative to the thickness, where waves break; thickness that closes faces, m); histories
// [n, 3], the numbers of the fields h, u, v, ... now and in both states of the stepper's memory.
template <class T>
ffi::Error compute_drying_flags(Arguments& args) {
  DryingFlags<T> block{};
  block.memory = args.next<T>();
  block.planes = args.next<std::int32_t>();
  const void* strips[4];
  for (auto& strip : strips) strip = args.next();
  const auto* extent = args.next<std::int32_t>();
  block.depth = args.next<T>();
  block.mask_bits = args.next<std::uint8_t>();
  block.static_rows = args.dimension(0);
  block.static_stride = args.dimension(1);
  const auto* land_flags = args.next<std::uint8_t>();
  block.limits = args.next<T>();
  block.histories = args.next<std::int32_t>();
  block.n_fields = args.dimension(0);
  block.mark_row = reinterpret_cast<MarkRow>(args["mark_row"]);
  block.static_halo = args["static_halo"];
  block.row_padding = args["row_padding"];
  block.plane_size = args["plane_size"];
  const Index halo = args["halo"], columns_with_halo = args["columns"] + 2 * halo, rows = args["rows"], exchange_index = args["exchange_index"];
  const auto strip = [&](int side, Index size) { return static_cast<const T*>(strips[side]) + exchange_index * size; };
  block.ny = extent[0];
  block.nx = extent[1];
  block.halo = halo;
  block.stride = args["stride"];
  block.columns_with_halo = columns_with_halo;
  block.thickness = block.memory + block.planes[args["field_index"]] * block.plane_size + block.row_padding;
  block.west = strip(0, rows * halo);
  block.east = strip(1, rows * halo);
  block.south = strip(2, columns_with_halo * halo);
  block.north = strip(3, columns_with_halo * halo);

  const Index ny = extent[0], nx = extent[1], rows_with_halo = block.rows_with_halo(), groups = block.groups();
  typename DryingFlags<T>::BlockMarks found{Marks(rows_with_halo * groups), Marks(rows_with_halo * groups), Marks(rows_with_halo)};
  const Index n_bands = std::clamp<Index>(rows_with_halo / 8, 1, std::max<Index>(1, args.pool.num_threads()));
  parallel_for(args.pool, n_bands, [&](Index band) {
    const Index begin = std::max(band * rows_with_halo / n_bands - halo, 1 - halo);
    const Index end = std::min((band + 1) * rows_with_halo / n_bands - halo, ny + halo - 1);
    typename DryingFlags<T>::RowWindow around(block);
    Marks marks(groups * GROUP_COLUMNS);
    block.next_row(begin - 1, around);
    block.next_row(begin, around);
    for (Index r = begin; r < end; ++r) {
      block.next_row(r + 1, around);
      block.mark_row_groups(r, around, marks, found);
    }
  });
  Marks kinds = block.groups_near_breaking(found);
  if (args["skip_unchanged"]) {
    parallel_for(args.pool, n_bands, [&](Index band) {
      for (Index group_index = band * ny / n_bands * groups; group_index < (band + 1) * ny / n_bands * groups; ++group_index) {
        const Index r = group_index / groups, g = group_index % groups;
        auto& kind = kinds[group_index + block.static_halo * groups];
        if (kind != BREAKING || block.first_column(g) >= nx || block.first_column(g + 1) <= 0) continue;
        if (block.is_unchanged(r, g, found.all_closed)) kind = UNCHANGED;
      }
    });
  }
  auto* const flags = args.out<std::uint8_t>(0);
  block.fill_flags(kinds, BREAKING, args["warmup_rows_breaking"], COAST, land_flags, flags);
  block.fill_flags(kinds, SMOOTH, args["warmup_rows_smooth"], WATER, land_flags, flags + block.static_rows * groups);
  return ffi::Error::Success();
}

}  // namespace swmodel
