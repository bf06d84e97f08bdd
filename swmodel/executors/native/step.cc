// The interface between XLA and compiled steps: XLA FFI handlers, which calls.py calls.

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include "drying_flags.h"

namespace swmodel {

using RunPhase = std::size_t (*)(const PassArguments*, int pass, int phase, Index j0, Index j1, void* workspace);

constexpr const char* COPIED = "XLA copied the memory of the step, which must be updated in place";

// The workspace of this thread: at least `bytes` bytes, aligned to a cache line.
void* workspace(std::size_t bytes) {
  static thread_local std::vector<std::byte> memory;
  if (memory.size() < bytes + 64) memory.resize(bytes + 64);
  return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
}

// One pass of a step. Arrays: memory; planes [3, fields]; west, east, south, north; extent; scalars [steps, n]; slip;
// row_statics; statics; mask_bits; flags. Results: the same memory; edges west, east, south, north.
ffi::Error run_pass(Arguments args) {
  PassArguments pass_args{};
  pass_args.memory = const_cast<void*>(args.next());
  if (args.out(0) != pass_args.memory) return ffi::Error::Internal(COPIED);
  pass_args.planes = args.next<std::int32_t>();
  pass_args.west = args.next();
  pass_args.rows = args.dimension(1);
  pass_args.halo = args.dimension(2);
  pass_args.east = args.next();
  pass_args.south = args.next();
  pass_args.columns = args.dimension(2) - 2 * pass_args.halo;
  pass_args.north = args.next();
  const auto* extent = args.next<std::int32_t>();
  pass_args.ny = extent[0];
  pass_args.nx = extent[1];
  pass_args.scalars = args.next();
  pass_args.n_steps = args.dimension(0);
  pass_args.scalars_per_step = args.dimension(1);
  pass_args.halo_per_step = pass_args.halo / pass_args.n_steps;
  const void* slip = args.next();
  pass_args.slip = args.itemsize() == 4 ? *static_cast<const float*>(slip) : *static_cast<const double*>(slip);
  pass_args.row_statics = args.next();
  pass_args.statics = args.next();
  pass_args.mask_bits = args.next<std::uint8_t>();
  pass_args.static_halo = (args.dimension(0) - pass_args.rows) / 2;
  pass_args.static_stride = args.dimension(1);
  pass_args.flags = args.next<std::uint8_t>();
  pass_args.exceeds_cache = args["exceeds_cache"];
  pass_args.row_padding = args["row_padding"];
  pass_args.stride = args["stride"];
  pass_args.plane_size = args["plane_size"];
  std::size_t number = 1;
  for (auto* edge : {&pass_args.edge_west, &pass_args.edge_east, &pass_args.edge_south, &pass_args.edge_north}) *edge = args.out(number++);

  const auto run_phase = reinterpret_cast<RunPhase>(args["function"]);
  const int pass = args["pass"];
  const Index threads = args["threads"], max_bands = threads ? threads : std::max<Index>(1, args.pool.num_threads());
  // Bands of rows, one for each thread. They are not thin, because rows around a band are copied and some are computed twice;
  // callers that set the number of threads, as tests do, allow thin ones.
  const Index min_rows = std::max<Index>(threads ? pass_args.halo : std::max<Index>(8 * pass_args.halo, 8), 1);
  const Index bands = std::clamp<Index>(pass_args.ny / min_rows, 1, max_bands);
  const std::size_t band_bytes = (run_phase(&pass_args, pass, WORKSPACE_BYTES, 0, 0, nullptr) + 63) / 64 * 64;
  auto* const space_of_bands = static_cast<std::byte*>(workspace(bands * band_bytes));
  const auto task_of_phase = [&](Phase phase) {
    return [&, phase](Index band) {
      const Index j0 = band * pass_args.ny / bands, j1 = (band + 1) * pass_args.ny / bands;
      run_phase(&pass_args, pass, phase, j0, j1, space_of_bands + band * band_bytes);
    };
  };
  for (Index band = 0; band < bands; ++band) task_of_phase(SAVE_ROWS)(band);
  parallel_for(args.pool, bands, task_of_phase(COMPUTE));
  return ffi::Error::Success();
}

// Calls copy(field, row) for all rows of all fields, on several threads.
template <class Copy>
void parallel_for_rows(ffi::ThreadPool& pool, Index fields, Index rows, const Copy& copy) {
  const Index bands = std::clamp<Index>(rows / 8, 1, std::max<Index>(1, pool.num_threads()));
  parallel_for(pool, bands, [&](Index band) {
    for (Index f = 0; f < fields; ++f) {
      for (Index r = band * rows / bands; r < (band + 1) * rows / bands; ++r) copy(f, r);
    }
  });
}

// Asks the system to hold this memory in large pages, if it has them.
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
    return ffi::Error::Internal(COPIED);
  }
  const Index row_padding = args["row_padding"], stride = args["stride"], plane_size = args["plane_size"];
  parallel_for_rows(args.pool, count, rows, [&](Index f, Index r) {
    std::memcpy(memory + (planes[f] * plane_size + r * stride + row_padding) * itemsize, fields[f] + r * columns * itemsize, columns * itemsize);
  });
  return ffi::Error::Success();
}

// Copies n numbers of a row, and replaces -0 by 0, because on land the sign of a zero depends on which cells were skipped.
template <class T>
void copy_without_negative_zeros(const void* from, Index n, void* to) {
  for (Index i = 0; i < n; ++i) static_cast<T*>(to)[i] = static_cast<const T*>(from)[i] + T(0);
}

// Arrays: the memory; the plane of each field. Results: the fields.
ffi::Error get(Arguments args) {
  const auto* memory = args.next<std::byte>();
  const auto* planes = args.next<std::int32_t>();
  const auto shape = args.result(0).dimensions();
  const Index itemsize = args.itemsize(), rows = shape[0], columns = shape[1];
  const Index row_padding = args["row_padding"], stride = args["stride"], plane_size = args["plane_size"];
  parallel_for_rows(args.pool, args.n_results(), rows, [&](Index f, Index r) {
    const auto copy = itemsize == 4 ? copy_without_negative_zeros<float> : copy_without_negative_zeros<double>;
    const auto* const from = memory + (planes[f] * plane_size + r * stride + row_padding) * itemsize;
    copy(from, columns, args.out<std::byte>(f) + r * columns * itemsize);
  });
  return ffi::Error::Success();
}

// Rows and columns around a group, on each side.
struct WindowReach {
  Index south, north, west, east;
};

// For each group, whether `marked` holds for any cell within its window.
template <class Marked>
Marks any_marked_near(const std::uint8_t* cells, Index rows, Index columns, const WindowReach& window, const Marked& marked) {
  const Index groups = (columns + GROUP_COLUMNS - 1) / GROUP_COLUMNS;
  Marks in_row(rows * groups), found(rows * groups, 0);
  std::vector<Index> n_before(columns + 1, 0);  // numbers of marked cells further west
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

// Array: mask_bits. Result: the Flag of every group of columns: COAST if land is in the window `land` around it; with `skip_land`,
// SKIPPED if no water is in the window `water`.
ffi::Error land_flags(Arguments args) {
  const auto* cells = args.next<std::uint8_t>();
  const Index rows = args.dimension(0), columns = args.dimension(1);
  const auto window = [&](const std::string& name) {
    const auto reach = [&](const char* side) { return args[(name + side).c_str()]; };
    return WindowReach{reach("_south"), reach("_north"), reach("_west"), reach("_east")};
  };
  const Marks land = any_marked_near(cells, rows, columns, window("land"), [](std::uint8_t cell) { return cell != ALL_WATER; });
  auto* const flags = args.out<std::uint8_t>(0);
  for (std::size_t n = 0; n < land.size(); ++n) flags[n] = land[n] ? COAST : WATER;
  if (!args["skip_land"] || std::memchr(land.data(), 1, land.size()) == nullptr) return ffi::Error::Success();
  const Marks water = any_marked_near(cells, rows, columns, window("water"), [](std::uint8_t cell) { return cell & 1; });
  for (std::size_t n = 0; n < land.size(); ++n) flags[n] = water[n] ? flags[n] : SKIPPED;
  return ffi::Error::Success();
}

// See `compute_drying_flags`.
ffi::Error drying_flags(Arguments args) {
  return args["itemsize"] == 4 ? compute_drying_flags<float>(args) : compute_drying_flags<double>(args);
}

template <ffi::Error (*FUNCTION)(Arguments)>
ffi::Error ffi_entry(ffi::ThreadPool pool, ffi::RemainingArgs arrays, ffi::RemainingRets results, ffi::Dictionary attributes) {
  return FUNCTION(Arguments(pool, arrays, results, attributes));
}

auto ffi_binding() { return ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().RemainingArgs().RemainingRets().Attrs(); }
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_run_pass, ffi_entry<run_pass>, ffi_binding());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_put, ffi_entry<put>, ffi_binding());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_get, ffi_entry<get>, ffi_binding());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_land_flags, ffi_entry<land_flags>, ffi_binding());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_drying_flags, ffi_entry<drying_flags>, ffi_binding());

// See FfiLibrary in parallel/ffi_libraries.py.
extern "C" {
extern const long swmodel_abi_version = ABI_VERSION;
extern const char* const swmodel_compiler = __VERSION__;
extern const char* const swmodel_jaxlib = SWMODEL_JAXLIB;
}

}  // namespace swmodel
