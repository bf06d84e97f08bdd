// Where the sea is not gentle, and where ground stays dry: the flags of the passes of a step with drying.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "given.h"

namespace swmodel {

constexpr std::uint64_t ONES = 0x0101010101010101;  // in each of eight bytes

// `mark_row` of sweep.h.
using MarkRow = void (*)(const void*, const void*, const void*, const std::uint8_t*, Index, Index, const void*, std::uint8_t*);

// A block and its halo of thickness. Strips: west, east, south, north of the field. Static fields and flags have `margin`
// rows around the block, groups begin at `lead`.
template <class T>
struct Rough {
  const T *memory, *depth, *limits;
  const std::uint8_t* cells;
  const std::int32_t *planes, *histories;
  Index fields, static_rows, static_stride, size, margin, lead, ny, nx, halo, stride, across;
  const T* plane;  // row 0, column 0 of the thickness
  const T *west, *east, *south, *north;
  MarkRow mark_row;

  Index groups() const { return (static_stride + GROUP - 1) / GROUP; }
  Index tall() const { return ny + 2 * halo; }
  // The first column of a group within the block and its halo.
  Index begin_of(Index g) const { return std::clamp(g * GROUP - lead, -halo, nx + halo); }
  Index place(Index r, Index i) const { return (r + margin) * static_stride + i + lead; }

  // Three rows of level from the south, those of `find`, and the thickness of the last two; column 0 at their beginnings.
  struct Rows {
    explicit Rows(const Rough& block) : width(block.groups() * GROUP + 2), memory(5 * width, T(0)) {
      T* next = &memory[1 + block.lead];
      for (T*& row : level) row = std::exchange(next, next + width);
      for (T*& row : h) row = std::exchange(next, next + width);
    }
    Index width;
    std::vector<T> memory;
    T *level[3], *h[2];
  };

  // Puts row r in the place of the southernmost one, north of the others.
  void next_row(Index r, Rows& rows) const {
    std::rotate(rows.level, rows.level + 1, rows.level + 3);
    std::swap(rows.h[0], rows.h[1]);
    T *const row = rows.h[1], *const level = rows.level[2];
    if (r < 0 || r >= ny) {
      std::copy_n(r < 0 ? &south[(r + halo) * across] : &north[(r - ny) * across], nx + 2 * halo, row - halo);
    } else {
      std::copy_n(west + r * halo, halo, row - halo);
      std::copy_n(plane + r * stride, nx, row);
      std::copy_n(east + r * halo, halo, row + nx);
    }
    const T* const H = &depth[place(r, 0)];
    for (Index i = -halo; i < nx + halo; ++i) level[i] = row[i] - H[i];
  }

  // Of each group of the block and its halo: whether a cell of its row within reach is rough, whether all its water is too
  // thin to flow; and the rows with rough cells.
  struct Found {
    Marks near, closed, some;
  };

  // `marks` has place for the cells of all groups. Beside the end of the halo nothing is known.
  void find(Index r, const Rows& rows, Marks& marks, Found& found) const {
    const Index begin = lead + 1 - halo, end = lead + nx + halo - 1, n = groups();
    const Index first = begin / GROUP, last = (end + GROUP - 1) / GROUP, from = first * GROUP - lead, at = place(r, from);
    const T* const level[] = {rows.level[0] + from, rows.level[1] + from, rows.level[2] + from};
    mark_row(rows.h[0] + from, level, depth + at, cells + at, static_stride, last - first, limits, &marks[first * GROUP]);
    std::fill(marks.begin() + first * GROUP, marks.begin() + begin, 0);
    std::fill(marks.begin() + end, marks.begin() + last * GROUP, 0);
    for (Index g = first; g < last; ++g) {
      std::uint64_t both[2];
      static_assert(sizeof both == GROUP);
      std::memcpy(both, &marks[g * GROUP], GROUP);
      const std::uint64_t any = both[0] | both[1];
      found.closed[(r + halo) * n + g] = !(any & FLOWS * ONES);
      if (any & ROUGH * ONES) note(r, g, marks, found);
    }
  }

  // A group has rough cells.
  void note(Index r, Index g, const Marks& marks, Found& found) const {
    const auto rough = [&](Index n) { return marks[g * GROUP + n] & ROUGH; };
    Index first = 0, last = GROUP - 1;
    while (!rough(first)) ++first;
    while (!rough(last)) --last;
    const Index begin = std::max<Index>(g * GROUP + first - halo, 0) / GROUP, n = groups();
    const Index end = std::min((g * GROUP + last + halo) / GROUP, n - 1) + 1;
    std::fill_n(&found.near[(r + halo) * n + begin], end - begin, 1);
    found.some[r + halo] = 1;
  }

  // 1 for groups within reach of a rough cell.
  Marks near(const Found& found) const {
    const Index n = groups();
    Marks rest(static_rows * n, 0);
    for (Index r = 0; r < tall(); ++r) {
      if (!found.some[r]) continue;
      const Index f = r + margin - halo;  // the row of the flags
      for (Index s = std::max<Index>(f - halo, 0); s <= std::min(f + halo, static_rows - 1); ++s) {
        for (Index g = 0; g < n; ++g) rest[s * n + g] |= found.near[r * n + g];
      }
    }
    return rest;
  }

  // Whether a row of a group stays as it is, and was so before: no water around flows.
  bool rests(Index r, Index g, const Marks& closed) const {
    for (Index s = r; s <= r + 2 * halo; ++s) {
      for (Index k = std::max<Index>(g - 1, 0); k <= std::min(g + 1, groups() - 1); ++k) {
        if (!closed[s * groups() + k] && begin_of(k) < begin_of(k + 1)) return false;
      }
    }
    const Index i = std::max<Index>(begin_of(g), 0), n = std::min(begin_of(g + 1), nx) - i;
    for (Index f = 0; f < fields; ++f) {
      const T* rows[3];
      for (int age = 0; age < 3; ++age) {
        rows[age] = memory + planes[histories[3 * f + age]] * size + r * stride + lead + i;
      }
      for (Index k = 0; k < n; ++k) {
        const T now = rows[0][k];
        if (!(now == rows[1][k] && now == rows[2][k]) || ((f == 1 || f == 2) && now != 0)) return false;
      }
    }
    return true;
  }

  // The flags of a pass over the groups marked `ours`. It also computes up to `warm` rows south of them, UNWRITTEN.
  void flag(const Marks& rest, std::uint8_t ours, std::uint8_t warm, std::uint8_t least, const std::uint8_t* land,
            std::uint8_t* out) const {
    const Index n = groups();
    Marks rows(n, 0);
    std::uint8_t* const __restrict needed = rows.data();  // how many rows from here on to the south are computed for ours
    for (Index f = static_rows; f-- > 0;) {
      const std::uint8_t *const here = &rest[f * n], *const below = &land[f * n];
      std::uint8_t* const __restrict to = &out[f * n];
      for (Index g = 0; g < n; ++g) {
        const bool own = here[g] == ours;
        needed[g] = own ? warm + 1 : needed[g] - (needed[g] > 0);
        const std::uint8_t flag = below[g] > least ? below[g] : least;
        to[g] = (flag == DRY) | !needed[g] ? std::uint8_t(DRY) : std::uint8_t(flag + (own ? 0 : UNWRITTEN));
      }
    }
  }
};

// Flags for the pass over the rest, and for that over the gentle sea, [2, rows, groups]: a group belongs to the rest if
// the sea is not gentle within `halo` cells. Each pass leaves out what the other writes, except rows that it needs.
// With `leave_out` both leave out groups that a step does not change.
// Arrays: memory; planes [3, fields]; west, east, south, north; extent; depth; cells; flags; limits of the thickness, m,
// of the bend, and the thickness that closes faces, m; numbers of the fields h, u, v, ... now and in the memory [n, 3].
template <class T>
ffi::Error rough_in(Given& given) {
  Rough<T> block{};
  block.memory = given.next<T>();
  block.planes = given.next<std::int32_t>();
  const void* strips[4];
  for (auto& strip : strips) strip = given.next();
  const auto* extent = given.next<std::int32_t>();
  block.depth = given.next<T>();
  block.cells = given.next<std::uint8_t>();
  block.static_rows = given.dimension(0);
  block.static_stride = given.dimension(1);
  const auto* land = given.next<std::uint8_t>();
  block.limits = given.next<T>();
  block.histories = given.next<std::int32_t>();
  block.fields = given.dimension(0);
  block.mark_row = reinterpret_cast<MarkRow>(given["mark_row"]);
  block.margin = given["margin"];
  block.lead = given["lead"];
  block.size = given["plane"];
  const Index halo = given["halo"], across = given["columns"] + 2 * halo, rows = given["rows"], field = given["strip"];
  const auto strip = [&](int side, Index size) { return static_cast<const T*>(strips[side]) + field * size; };
  block.ny = extent[0];
  block.nx = extent[1];
  block.halo = halo;
  block.stride = given["stride"];
  block.across = across;
  block.plane = block.memory + block.planes[given["field"]] * block.size + block.lead;
  block.west = strip(0, rows * halo);
  block.east = strip(1, rows * halo);
  block.south = strip(2, across * halo);
  block.north = strip(3, across * halo);

  const Index ny = extent[0], nx = extent[1], tall = block.tall(), groups = block.groups();
  typename Rough<T>::Found found{Marks(tall * groups), Marks(tall * groups), Marks(tall)};
  const Index parts = std::clamp<Index>(tall / 8, 1, std::max<Index>(1, given.pool.num_threads()));
  in_parallel(given.pool, parts, [&](Index part) {
    const Index begin = std::max(part * tall / parts - halo, 1 - halo);
    const Index end = std::min((part + 1) * tall / parts - halo, ny + halo - 1);
    typename Rough<T>::Rows around(block);
    Marks marks(groups * GROUP);
    block.next_row(begin - 1, around);
    block.next_row(begin, around);
    for (Index r = begin; r < end; ++r) {
      block.next_row(r + 1, around);
      block.find(r, around, marks, found);
    }
  });
  Marks rest = block.near(found);
  if (given["leave_out"]) {
    in_parallel(given.pool, parts, [&](Index part) {
      for (Index at = part * ny / parts * groups; at < (part + 1) * ny / parts * groups; ++at) {
        const Index r = at / groups, g = at % groups;
        auto& mark = rest[at + block.margin * groups];
        if (mark && block.begin_of(g) < nx && block.begin_of(g + 1) > 0 && block.rests(r, g, found.closed)) mark = 2;
      }
    });
  }
  auto* const flags = given.out<std::uint8_t>(0);
  block.flag(rest, 1, given["warm_rest"], COAST, land, flags);
  block.flag(rest, 0, given["warm_gentle"], WATER, land, flags + block.static_rows * groups);
  return ffi::Error::Success();
}

}  // namespace swmodel
