// The interface between XLA and compiled steps: foreign functions with the arrays that calls.py lists.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include "drying_flags.h"

namespace swmodel {

using Call = std::size_t (*)(const Job*, int, int, Index, Index, void*);

// The workspace of this thread: at least `bytes` bytes, aligned to a cache line.
void* workspace(std::size_t bytes) {
  static thread_local std::vector<std::byte> memory;
  if (memory.size() < bytes + 64) memory.resize(bytes + 64);
  return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
}

// One pass of a step. Arrays: memory; planes [3, fields]; west, east, south, north; extent; scalars [levels, n]; slip;
// row_statics; statics; mask_bits; flags. Results: the same memory; edges west, east, south, north.
ffi::Error step(Arguments args) {
  Job job{};
  job.fields = const_cast<void*>(args.next());
  if (args.out(0) != job.fields) return ffi::Error::Internal("the fields of the native step were copied");
  job.planes = args.next<std::int32_t>();
  job.west = args.next();
  job.rows = args.dimension(1);
  job.halo = args.dimension(2);
  job.east = args.next();
  job.south = args.next();
  job.columns = args.dimension(2) - 2 * job.halo;
  job.north = args.next();
  const auto* extent = args.next<std::int32_t>();
  job.ny = extent[0];
  job.nx = extent[1];
  job.scalars = args.next();
  job.levels = args.dimension(0);
  job.scalars_per_level = args.dimension(1);
  job.halo_per_level = job.halo / job.levels;
  const void* slip = args.next();
  job.slip = args.itemsize() == 4 ? *static_cast<const float*>(slip) : *static_cast<const double*>(slip);
  job.row_statics = args.next();
  job.statics = args.next();
  job.mask_bits = args.next<std::uint8_t>();
  job.margin = (args.dimension(0) - job.rows) / 2;
  job.static_stride = args.dimension(1);
  job.flags = args.next<std::uint8_t>();
  job.exceeds_cache = args["exceeds_cache"];
  job.row_padding = args["row_padding"];
  job.stride = args["stride"];
  job.plane_size = args["plane_size"];
  std::size_t number = 1;
  for (auto* edge : {&job.edge_west, &job.edge_east, &job.edge_south, &job.edge_north}) *edge = args.out(number++);

  const auto call = reinterpret_cast<Call>(args["function"]);
  const int pass = args["pass"];
  const Index threads = args["threads"], max_blocks = threads ? threads : std::max<Index>(1, args.pool.num_threads());
  // A block has many rows, because those of its halo are computed twice; it may have few if the number of threads is given.
  const Index min_rows = std::max<Index>(threads ? job.halo : std::max<Index>(8 * job.halo, 8), 1);
  const Index blocks = std::clamp<Index>(job.ny / min_rows, 1, max_blocks);
  const std::size_t bytes = (call(&job, pass, 0, 0, 0, nullptr) + 63) / 64 * 64;
  auto* const space = static_cast<std::byte*>(workspace(blocks * bytes));
  const auto run_phase = [&](int phase) {
    return [&, phase](Index b) { call(&job, pass, phase, b * job.ny / blocks, (b + 1) * job.ny / blocks, space + b * bytes); };
  };
  for (Index b = 0; b < blocks; ++b) run_phase(1)(b);
  parallel_for(args.pool, blocks, run_phase(2));
  return ffi::Error::Success();
}

// Calls copy(field, row) for all rows of the fields [ny, nx], on several threads.
template <class Copy>
void for_rows(ffi::ThreadPool& pool, Index fields, Index rows, const Copy& copy) {
  const Index blocks = std::clamp<Index>(rows / 8, 1, std::max<Index>(1, pool.num_threads()));
  parallel_for(pool, blocks, [&](Index b) {
    for (Index f = 0; f < fields; ++f) {
      for (Index r = b * rows / blocks; r < (b + 1) * rows / blocks; ++r) copy(f, r);
    }
  });
}

// Asks for large pages, if the system has them.
void ask_for_large_pages(void* memory, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t PAGE = 1 << 21;
  const auto first = (reinterpret_cast<std::uintptr_t>(memory) + PAGE - 1) / PAGE * PAGE;
  const auto last = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / PAGE * PAGE;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

// Arrays: the plane of each field, the fields, and the memory if there is one. Result: the memory with the fields.
ffi::Error put(Arguments args) {
  const auto* planes = args.next<std::int32_t>();
  const Index count = args.dimension(0), itemsize = args.itemsize();
  std::vector<const std::byte*> fields;
  for (Index f = 0; f < count; ++f) fields.push_back(args.next<std::byte>());
  const Index rows = count ? args.dimension(0) : 0, columns = count ? args.dimension(1) : 0;
  auto* const memory = args.out<std::byte>(0);
  if (!args.has_more()) {
    ask_for_large_pages(memory, args.result(0).size_bytes());
  } else if (args.next() != memory) {
    return ffi::Error::Internal("the memory of the native step was copied");
  }
  const Index row_padding = args["row_padding"], stride = args["stride"], plane_size = args["plane_size"];
  for_rows(args.pool, count, rows, [&](Index f, Index r) {
    std::memcpy(memory + (planes[f] * plane_size + r * stride + row_padding) * itemsize, fields[f] + r * columns * itemsize, columns * itemsize);
  });
  return ffi::Error::Success();
}

// Copies a row, with 0 for each -0, because on land the sign of a zero depends on which cells were skipped.
template <class T>
void copy_row(const void* from, Index n, void* to) {
  for (Index i = 0; i < n; ++i) static_cast<T*>(to)[i] = static_cast<const T*>(from)[i] + T(0);
}

// Arrays: the memory; the plane of each field. Results: the fields.
ffi::Error get(Arguments args) {
  const auto* memory = args.next<std::byte>();
  const auto* planes = args.next<std::int32_t>();
  const auto shape = args.result(0).dimensions();
  const Index itemsize = args.itemsize(), rows = shape[0], columns = shape[1];
  const Index row_padding = args["row_padding"], stride = args["stride"], plane_size = args["plane_size"];
  for_rows(args.pool, args.n_results(), rows, [&](Index f, Index r) {
    const auto copy = itemsize == 4 ? copy_row<float> : copy_row<double>;
    copy(memory + (planes[f] * plane_size + r * stride + row_padding) * itemsize, columns, args.out<std::byte>(f) + r * columns * itemsize);
  });
  return ffi::Error::Success();
}

// Numbers of rows and columns on each side of a group.
struct Window {
  Index south, north, west, east;
};

// For every group, whether a cell in the window around it is marked.
template <class Marked>
Marks any_marked_near(const std::uint8_t* cells, Index rows, Index columns, const Window& window, const Marked& marked) {
  const Index groups = (columns + GROUP_COLUMNS - 1) / GROUP_COLUMNS;
  Marks in_row(rows * groups), found(rows * groups, 0);
  std::vector<Index> n_before(columns + 1, 0);  // marked cells to the west
  for (Index r = 0; r < rows; ++r) {
    for (Index i = 0; i < columns; ++i) n_before[i + 1] = n_before[i] + marked(cells[r * columns + i]);
    for (Index g = 0; g < groups; ++g) {
      const Index first = std::max<Index>(g * GROUP_COLUMNS - window.west, 0);
      const Index last = std::min((g + 1) * GROUP_COLUMNS + window.east, columns);
      in_row[r * groups + g] = n_before[last] > n_before[first];
    }
  }
  for (Index r = 0; r < rows; ++r) {
    for (Index s = std::max<Index>(r - window.south, 0); s <= std::min(r + window.north, rows - 1); ++s) {
      for (Index g = 0; g < groups; ++g) found[r * groups + g] |= in_row[s * groups + g];
    }
  }
  return found;
}

// The Flag of every group of columns: COAST if land is in its window; with `skip_land`, SKIPPED if no water is.
ffi::Error flag(Arguments args) {
  const auto* cells = args.next<std::uint8_t>();
  const Index rows = args.dimension(0), columns = args.dimension(1);
  const auto window = [&](const std::string& name) {
    const auto reach = [&](const char* side) { return args[(name + side).c_str()]; };
    return Window{reach("_south"), reach("_north"), reach("_west"), reach("_east")};
  };
  const Marks land = any_marked_near(cells, rows, columns, window("land"), [](std::uint8_t cell) { return cell != ALL_WATER; });
  auto* const flags = args.out<std::uint8_t>(0);
  for (std::size_t n = 0; n < land.size(); ++n) flags[n] = land[n] ? COAST : WATER;
  if (!args["skip_land"] || std::memchr(land.data(), 1, land.size()) == nullptr) return ffi::Error::Success();
  const Marks water = any_marked_near(cells, rows, columns, window("water"), [](std::uint8_t cell) { return cell & 1; });
  for (std::size_t n = 0; n < land.size(); ++n) flags[n] = water[n] ? flags[n] : SKIPPED;
  return ffi::Error::Success();
}

// See `drying_flags_in`.
ffi::Error drying_flags(Arguments args) { return args["itemsize"] == 4 ? drying_flags_in<float>(args) : drying_flags_in<double>(args); }

template <ffi::Error (*FUNCTION)(Arguments)>
ffi::Error ffi_entry(ffi::ThreadPool pool, ffi::RemainingArgs arrays, ffi::RemainingRets results, ffi::Dictionary numbers) {
  return FUNCTION(Arguments(pool, arrays, results, numbers));
}

auto ffi_binding() { return ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().RemainingArgs().RemainingRets().Attrs(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_step, ffi_entry<step>, ffi_binding());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_put, ffi_entry<put>, ffi_binding());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_get, ffi_entry<get>, ffi_binding());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_flag, ffi_entry<flag>, ffi_binding());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_drying_flags, ffi_entry<drying_flags>, ffi_binding());

// See FfiLibrary in parallel/ffi_libraries.py.
extern "C" {
extern const long swmodel_abi_version = ABI_VERSION;
extern const char* const swmodel_compiler = __VERSION__;
extern const char* const swmodel_jaxlib = SWMODEL_JAXLIB;
}

}  // namespace swmodel
