// The door between XLA and compiled steps: foreign functions that take and give the arrays listed in calls.py.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include "rough.h"

namespace swmodel {

using Call = std::size_t (*)(const Job*, int, int, Index, Index, void*);

// Memory of this thread to work in: at least so many bytes, from the beginning of a cache line on.
void* workspace(std::size_t bytes) {
  static thread_local std::vector<std::byte> memory;
  if (memory.size() < bytes + 64) memory.resize(bytes + 64);
  return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
}

// One pass of a step. Arrays: memory; planes [3, fields]; west, east, south, north; extent; values [levels, n]; slip;
// lines; statics; cells; flags. Results: memory, where it is; edges west, east, south, north.
ffi::Error step(Given given) {
  Job job{};
  job.fields = const_cast<void*>(given.next());
  if (given.out(0) != job.fields) return ffi::Error::Internal("the fields of the native step were copied");
  job.planes = given.next<std::int32_t>();
  job.west = given.next();
  job.rows = given.dimension(1);
  job.halo = given.dimension(2);
  job.east = given.next();
  job.south = given.next();
  job.columns = given.dimension(2) - 2 * job.halo;
  job.north = given.next();
  const auto* extent = given.next<std::int32_t>();
  job.ny = extent[0];
  job.nx = extent[1];
  job.values = given.next();
  job.levels = given.dimension(0);
  job.values_per_level = given.dimension(1);
  job.width = job.halo / job.levels;
  const void* slip = given.next();
  job.slip = given.item() == 4 ? *static_cast<const float*>(slip) : *static_cast<const double*>(slip);
  job.lines = given.next();
  job.statics = given.next();
  job.cells = given.next<std::uint8_t>();
  job.margin = (given.dimension(0) - job.rows) / 2;
  job.static_stride = given.dimension(1);
  job.flags = given.next<std::uint8_t>();
  job.large = given["large"];
  job.lead = given["lead"];
  job.stride = given["stride"];
  job.plane = given["plane"];
  std::size_t number = 1;
  for (auto* edge : {&job.edge_west, &job.edge_east, &job.edge_south, &job.edge_north}) *edge = given.out(number++);

  const auto call = reinterpret_cast<Call>(given["function"]);
  const int pass = given["pass"];
  const Index threads = given["threads"], most = threads ? threads : std::max<Index>(1, given.pool.num_threads());
  // A block has many rows, as it computes those of its halo twice; a few where the number of threads is asked for.
  const Index least = std::max<Index>(threads ? job.halo : std::max<Index>(8 * job.halo, 8), 1);
  const Index blocks = std::clamp<Index>(job.ny / least, 1, most);
  const std::size_t bytes = (call(&job, pass, 0, 0, 0, nullptr) + 63) / 64 * 64;
  auto* const space = static_cast<std::byte*>(workspace(blocks * bytes));
  const auto each = [&](int phase) {
    return [&, phase](Index b) { call(&job, pass, phase, b * job.ny / blocks, (b + 1) * job.ny / blocks, space + b * bytes); };
  };
  for (Index b = 0; b < blocks; ++b) each(1)(b);
  in_parallel(given.pool, blocks, each(2));
  return ffi::Error::Success();
}

// Copies the rows of the fields [ny, nx] into the memory in which they are advanced, or back.
template <class Copy>
void for_rows(ffi::ThreadPool& pool, Index fields, Index rows, const Copy& copy) {
  const Index blocks = std::clamp<Index>(rows / 8, 1, std::max<Index>(1, pool.num_threads()));
  in_parallel(pool, blocks, [&](Index b) {
    for (Index f = 0; f < fields; ++f) {
      for (Index r = b * rows / blocks; r < (b + 1) * rows / blocks; ++r) copy(f, r);
    }
  });
}

// Asks for large pages, where the system has them.
void ask_for_large_pages(void* memory, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t PAGE = 1 << 21;
  const auto first = (reinterpret_cast<std::uintptr_t>(memory) + PAGE - 1) / PAGE * PAGE;
  const auto last = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / PAGE * PAGE;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

// Arrays: the plane of each field, the fields, and the memory if there is one. Result: the memory with the fields.
ffi::Error put(Given given) {
  const auto* planes = given.next<std::int32_t>();
  const Index count = given.dimension(0), item = given.item();
  std::vector<const std::byte*> fields;
  for (Index f = 0; f < count; ++f) fields.push_back(given.next<std::byte>());
  const Index rows = count ? given.dimension(0) : 0, columns = count ? given.dimension(1) : 0;
  auto* const memory = given.out<std::byte>(0);
  if (!given.more()) {
    ask_for_large_pages(memory, given.result(0).size_bytes());
  } else if (given.next() != memory) {
    return ffi::Error::Internal("the memory of the native step was copied");
  }
  const Index lead = given["lead"], stride = given["stride"], plane = given["plane"];
  for_rows(given.pool, count, rows, [&](Index f, Index r) {
    std::memcpy(memory + (planes[f] * plane + r * stride + lead) * item, fields[f] + r * columns * item, columns * item);
  });
  return ffi::Error::Success();
}

// Copies a row, with 0 for each -0: on land the sign of a zero depends on which cells were left out.
template <class T>
void copy_row(const void* from, Index n, void* to) {
  for (Index i = 0; i < n; ++i) static_cast<T*>(to)[i] = static_cast<const T*>(from)[i] + T(0);
}

// Arrays: the memory; the plane of each field. Results: the fields.
ffi::Error get(Given given) {
  const auto* memory = given.next<std::byte>();
  const auto* planes = given.next<std::int32_t>();
  const auto shape = given.result(0).dimensions();
  const Index item = given.item(), rows = shape[0], columns = shape[1];
  const Index lead = given["lead"], stride = given["stride"], plane = given["plane"];
  for_rows(given.pool, given.results(), rows, [&](Index f, Index r) {
    const auto copy = item == 4 ? copy_row<float> : copy_row<double>;
    copy(memory + (planes[f] * plane + r * stride + lead) * item, columns, given.out<std::byte>(f) + r * columns * item);
  });
  return ffi::Error::Success();
}

// Rows and columns to the sides of a group.
struct Window {
  Index south, north, west, east;
};

// For every group, whether a cell in the window around it is marked.
template <class Marked>
Marks near(const std::uint8_t* cells, Index rows, Index columns, const Window& window, const Marked& marked) {
  const Index groups = (columns + GROUP - 1) / GROUP;
  Marks in_row(rows * groups), found(rows * groups, 0);
  std::vector<Index> before(columns + 1, 0);  // marked cells to the west
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < columns; ++i) before[i + 1] = before[i] + marked(cells[r * columns + i]);
    for (Index g = 0; g < groups; ++g) {
      const Index first = std::max<Index>(g * GROUP - window.west, 0);
      const Index last = std::min((g + 1) * GROUP + window.east, columns);
      in_row[r * groups + g] = before[last] > before[first];
    }
  }
  for (Index r = 0; r < rows; ++r) {
    for (Index s = std::max<Index>(r - window.south, 0); s <= std::min(r + window.north, rows - 1); ++s) {
      for (Index g = 0; g < groups; ++g) found[r * groups + g] |= in_row[s * groups + g];
    }
  }
  return found;
}

// The Flag of every group of columns: COAST if land is in its window; with `leave_out`, DRY if no water is.
ffi::Error flag(Given given) {
  const auto* cells = given.next<std::uint8_t>();
  const Index rows = given.dimension(0), columns = given.dimension(1);
  const auto window = [&](const std::string& name) {
    const auto reach = [&](const char* side) { return given[(name + side).c_str()]; };
    return Window{reach("_south"), reach("_north"), reach("_west"), reach("_east")};
  };
  const Marks land = near(cells, rows, columns, window("land"), [](std::uint8_t cell) { return cell != ALL_WATER; });
  auto* const flags = given.out<std::uint8_t>(0);
  for (std::size_t n = 0; n < land.size(); ++n) flags[n] = land[n] ? COAST : WATER;
  if (!given["leave_out"] || std::memchr(land.data(), 1, land.size()) == nullptr) return ffi::Error::Success();
  const Marks water = near(cells, rows, columns, window("water"), [](std::uint8_t cell) { return cell & 1; });
  for (std::size_t n = 0; n < land.size(); ++n) flags[n] = water[n] ? flags[n] : DRY;
  return ffi::Error::Success();
}

// See `rough_in`.
ffi::Error rough(Given given) { return given["item"] == 4 ? rough_in<float>(given) : rough_in<double>(given); }

template <ffi::Error (*FUNCTION)(Given)>
ffi::Error called(ffi::ThreadPool pool, ffi::RemainingArgs arrays, ffi::RemainingRets results, ffi::Dictionary numbers) {
  return FUNCTION(Given(pool, arrays, results, numbers));
}

auto arguments() { return ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().RemainingArgs().RemainingRets().Attrs(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_step, called<step>, arguments());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_put, called<put>, arguments());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_get, called<get>, arguments());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_flag, called<flag>, arguments());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_rough, called<rough>, arguments());

// See Built in __init__.py.
extern "C" {
extern const long swmodel_convention = CONVENTION;
extern const char* const swmodel_compiler = __VERSION__;
extern const char* const swmodel_jaxlib = SWMODEL_JAXLIB;
}

}  // namespace swmodel
