// Where the sea is not gentle, and where ground stays dry: the flags of the passes of a step with drying.
#pragma once

#include <algorithm>
#include <cmath>

#include "given.h"

namespace swmodel {

using Gentle = bool (*)(const void*, Index, const void*, Index, double, double);

// A field of a block at row r and column i, which may lie in the halo. Strips: west, east, south, north of the field.
template <class T>
struct Around {
  const T* plane;  // row 0, column 0
  const T *west, *east, *south, *north;
  Index ny, nx, halo, stride, across;

  T at(Index r, Index i) const {
    if (r < 0) return south[(r + halo) * across + i + halo];
    if (r >= ny) return north[(r - ny) * across + i + halo];
    if (i < 0) return west[r * halo + i + halo];
    return i < nx ? plane[r * stride + i] : east[r * halo + i - nx];
  }
};

// A block and its halo of thickness. Static fields and flags have `margin` rows around the block, groups begin at `lead`.
template <class T>
struct Rough {
  const T *memory, *depth;
  const std::uint8_t* cells;
  const std::int32_t *planes, *histories;
  T thin, bend, dry;
  Index fields, static_rows, static_stride, size, margin, lead;
  Around<T> h;
  Gentle is_gentle;

  Index groups() const { return (static_stride + GROUP - 1) / GROUP; }
  Index tall() const { return h.ny + 2 * h.halo; }
  // The first column of a group within the block and its halo.
  Index begin_of(Index g) const { return std::clamp(g * GROUP - lead, -h.halo, h.nx + h.halo); }
  Index place(Index r, Index i) const { return (r + margin) * static_stride + i + lead; }

  // The change of level above the sill at an open face, east of a cell or north of it.
  T jump(Index r, Index i, Index up, Index right, std::uint8_t open) const {
    const T H = depth[place(r, i)], next = depth[place(r + up, i + right)], sill = -std::min(H, next);
    if (!(cells[place(r, i)] & open)) return T(0);
    return std::max(sill, h.at(r + up, i + right) - next) - std::max(sill, h.at(r, i) - H);
  }

  // Whether `ocean.drying.share_of` may be above zero in water that is not beside the end of the halo.
  bool is_rough(Index r, Index i) const {
    const T here = h.at(r, i);
    const T across = jump(r, i, 0, 1, 2) - jump(r, i - 1, 0, 1, 2), along = jump(r, i, 1, 0, 4) - jump(r - 1, i, 1, 0, 4);
    return !(here > thin && std::abs(across) < bend * here && std::abs(along) < bend * here);
  }

  // The first and the last rough column of each row of a group, and whether all its water is too thin to flow.
  struct Found {
    std::vector<Index> first, last;
    Marks closed;
  };

  void find(Index r, Index g, Found& found) const {
    const Index begin = std::max(begin_of(g), 1 - h.halo), end = std::min(begin_of(g + 1), h.nx + h.halo - 1);
    if (begin >= end) return;
    T copy[3][GROUP + 2];
    const bool inside = r > 0 && r < h.ny - 1;  // the memory has the rows around; columns beside the block are in strips
    if (!inside) {
      for (Index n = 0; n < 3 * (GROUP + 2); ++n) {
        const Index k = n % (GROUP + 2);
        copy[n / (GROUP + 2)][k] = h.at(r + n / (GROUP + 2) - 1, std::min(begin + k, h.nx + h.halo) - 1);
      }
    }
    const bool gentle = is_gentle(inside ? &h.plane[r * h.stride + begin] : &copy[1][1], inside ? h.stride : GROUP + 2,
                                  &depth[place(r, begin)], static_stride, thin, bend);
    if (gentle && (!inside || (begin > 0 && end < h.nx))) return;
    const Index at = (r + h.halo) * groups() + g;
    found.closed[at] = !gentle;
    for (Index i = begin; i < end; ++i) {
      if (gentle && i > 0 && i < h.nx - 1) continue;
      const bool water = cells[place(r, i)] & 1;
      found.closed[at] &= !water || h.at(r, i) <= dry;
      if (!water || !is_rough(r, i)) continue;
      if (found.first[at] > found.last[at]) found.first[at] = i;
      found.last[at] = i;
    }
  }

  // 1 for groups within reach of a rough cell.
  Marks near(const Found& found) const {
    const Index reach = h.halo, n = groups();
    Marks rest(static_rows * n, 0);
    for (Index r = 0; r < tall(); ++r) {
      Marks row(n, 0);
      bool some = false;
      for (Index at = r * n; at < (r + 1) * n; ++at) {
        if (found.first[at] > found.last[at]) continue;
        const Index begin = std::max<Index>(found.first[at] + lead - reach, 0) / GROUP;
        std::fill(&row[begin], &row[std::min((found.last[at] + lead + reach) / GROUP, n - 1)] + 1, 1);
        some = true;
      }
      const Index f = r + margin - h.halo;  // the row of the flags
      for (Index s = std::max<Index>(f - reach, 0); some && s <= std::min(f + reach, static_rows - 1); ++s) {
        for (Index g = 0; g < n; ++g) rest[s * n + g] |= row[g];
      }
    }
    return rest;
  }

  // Whether a row of a group stays as it is, and was so before: no water around flows.
  bool rests(Index r, Index g, const Marks& closed) const {
    for (Index s = r; s <= r + 2 * h.halo; ++s) {
      for (Index k = std::max<Index>(g - 1, 0); k <= std::min(g + 1, groups() - 1); ++k) {
        if (!closed[s * groups() + k] && begin_of(k) < begin_of(k + 1)) return false;
      }
    }
    const Index i = std::max<Index>(begin_of(g), 0), n = std::min(begin_of(g + 1), h.nx) - i;
    for (Index f = 0; f < fields; ++f) {
      const T* rows[3];
      for (int age = 0; age < 3; ++age) {
        rows[age] = memory + planes[histories[3 * f + age]] * size + r * h.stride + lead + i;
      }
      for (Index k = 0; k < n; ++k) {
        const T now = rows[0][k];
        if (!(now == rows[1][k] && now == rows[2][k]) || ((f == 1 || f == 2) && now != 0)) return false;
      }
    }
    return true;
  }

  // The flags of a pass over the groups marked `ours`. It also computes up to `warm` rows south of them, UNWRITTEN.
  void flag(const Marks& rest, std::uint8_t ours, Index warm, std::uint8_t least, const std::uint8_t* land, std::uint8_t* out) const {
    for (Index g = 0; g < groups(); ++g) {
      Index last = -1;  // the southernmost row of ours from here on to the north
      for (Index f = static_rows; f-- > 0;) {
        const Index at = f * groups() + g;
        if (rest[at] == ours) last = f;
        const bool needed = last >= 0 && last - f <= warm;
        const std::uint8_t flag = std::max(land[at], least);
        out[at] = flag == DRY || !needed ? std::uint8_t(DRY) : std::uint8_t(flag + (rest[at] == ours ? 0 : UNWRITTEN));
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
  const T* limits = given.next<T>();
  block.thin = limits[0];
  block.bend = limits[1];
  block.dry = limits[2];
  block.histories = given.next<std::int32_t>();
  block.fields = given.dimension(0);
  block.is_gentle = reinterpret_cast<Gentle>(given["is_gentle"]);
  block.margin = given["margin"];
  block.lead = given["lead"];
  block.size = given["plane"];
  const Index halo = given["halo"], across = given["columns"] + 2 * halo, rows = given["rows"], field = given["strip"];
  const auto strip = [&](int side, Index size) { return static_cast<const T*>(strips[side]) + field * size; };
  block.h = {block.memory + block.planes[given["field"]] * block.size + block.lead,
             strip(0, rows * halo), strip(1, rows * halo), strip(2, across * halo), strip(3, across * halo),
             extent[0], extent[1], halo, given["stride"], across};

  const Index ny = extent[0], nx = extent[1], tall = block.tall(), groups = block.groups();
  typename Rough<T>::Found found{std::vector<Index>(tall * groups, 1), std::vector<Index>(tall * groups, 0), Marks(tall * groups, 0)};
  const Index parts = std::clamp<Index>(tall / 8, 1, std::max<Index>(1, given.pool.num_threads()));
  in_parallel(given.pool, parts, [&](Index part) {
    const Index end = std::min((part + 1) * tall / parts - halo, ny + halo - 1);
    for (Index r = std::max(part * tall / parts - halo, 1 - halo); r < end; ++r) {
      for (Index g = 0; g < groups; ++g) block.find(r, g, found);
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
