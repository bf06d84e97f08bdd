// The door between XLA and compiled steps: foreign functions that take and give the arrays listed in calls.py.

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>
#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

#include "job.h"
#include "xla/ffi/api/ffi.h"

namespace swmodel {

namespace ffi = xla::ffi;

// Calls task(0) ... task(n - 1), each once, on the threads of the pool and on this one. This thread takes what the
// others have not begun, so nothing waits for a pool that is busy with something else.
template <class Task>
void in_parallel(ffi::ThreadPool& pool, Index n, const Task& task) {
  struct Progress {
    std::atomic<Index> begun{0}, done{0};
  };
  const auto progress = std::make_shared<Progress>();
  const auto work = [progress, n, &task] {
    // Whoever comes too late for a task touches nothing but the counters, which it owns a share of.
    for (Index i; (i = progress->begun.fetch_add(1)) < n;) {
      task(i);
      progress->done.fetch_add(1, std::memory_order_release);
    }
  };
  for (Index i = 1; i < std::min<Index>(n, pool.num_threads()); ++i) pool.Schedule(std::function<void()>(work));
  work();
  while (progress->done.load(std::memory_order_acquire) < n) std::this_thread::yield();
}

// The arguments in their order, each with its dimensions.
class Arguments {
 public:
  explicit Arguments(ffi::RemainingArgs arrays) : arrays_(arrays) {}
  const void* next() {
    const ffi::AnyBuffer array = *arrays_.get<ffi::AnyBuffer>(number_++);
    dimensions_ = array.dimensions().begin();
    return array.untyped_data();
  }
  Index dimension(std::size_t axis) const { return dimensions_[axis]; }

 private:
  ffi::RemainingArgs arrays_;
  const std::int64_t* dimensions_ = nullptr;
  std::size_t number_ = 0;
};

void* result(ffi::RemainingRets results, std::size_t number) {
  return (*results.get<ffi::AnyBuffer>(number))->untyped_data();
}

// Of one number of a result.
Index bytes_of(ffi::RemainingRets results, std::size_t number) {
  return (*results.get<ffi::AnyBuffer>(number))->element_type() == ffi::F32 ? 4 : 8;
}

using Call = std::size_t (*)(const Job*, int, int, Index, Index, void*);

// Memory to work in that stays with the thread: at least so many bytes, at the beginning of a line.
void* workspace(std::size_t bytes) {
  static thread_local std::vector<std::byte> memory;
  if (memory.size() < bytes + 64) memory.resize(bytes + 64);
  return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 * 64);
}

// One pass of a step. Arrays: memory; planes [3, fields]; west, east, south, north; extent; values [levels, n]; slip;
// lines; statics; cells; flags. Results: memory, where it is; edges west, east, south, north.
ffi::Error step(ffi::ThreadPool pool, ffi::RemainingArgs arrays, ffi::RemainingRets results, std::int64_t function,
                std::int32_t pass, std::int32_t width, std::int32_t levels, std::int32_t margin, std::int32_t lead,
                std::int32_t stride, std::int64_t plane, std::int32_t rows, std::int32_t columns,
                std::int32_t threads, std::int32_t large) {
  Job job{};
  Arguments in(arrays);
  job.fields = const_cast<void*>(in.next());
  if (result(results, 0) != job.fields) return ffi::Error::Internal("the fields of the native step were copied");
  job.planes = static_cast<const std::int32_t*>(in.next());
  job.rows = rows;
  job.columns = columns;
  job.width = width;
  job.levels = levels;
  job.halo = Index(width) * levels;
  job.margin = margin;
  job.large = large;
  job.lead = lead;
  job.stride = stride;
  job.plane = plane;
  job.static_stride = columns + 2 * lead;
  for (auto* strip : {&job.west, &job.east, &job.south, &job.north}) *strip = in.next();
  const auto* extent = static_cast<const std::int32_t*>(in.next());
  job.ny = extent[0];
  job.nx = extent[1];
  job.values = in.next();
  job.values_per_level = in.dimension(1);
  const void* slip = in.next();
  job.slip = bytes_of(results, 0) == 4 ? *static_cast<const float*>(slip) : *static_cast<const double*>(slip);
  job.lines = in.next();
  job.statics = in.next();
  job.cells = static_cast<const std::uint8_t*>(in.next());
  job.flags = static_cast<const std::uint8_t*>(in.next());
  std::size_t number = 1;
  for (auto* edge : {&job.edge_west, &job.edge_east, &job.edge_south, &job.edge_north}) *edge = result(results, number++);

  const auto call = reinterpret_cast<Call>(function);
  const Index most = threads ? threads : std::max<Index>(1, pool.num_threads());
  const Index blocks = std::clamp<Index>(job.ny / std::max<Index>(8 * job.halo, 8), 1, most);
  const std::size_t bytes = (call(&job, pass, 0, 0, 0, nullptr) + 63) / 64 * 64;
  auto* const space = static_cast<std::byte*>(workspace(blocks * bytes));
  const auto each = [&](int phase) {
    return [&, phase](Index b) { call(&job, pass, phase, b * job.ny / blocks, (b + 1) * job.ny / blocks, space + b * bytes); };
  };
  for (Index b = 0; b < blocks; ++b) each(1)(b);
  in_parallel(pool, blocks, each(2));
  return ffi::Error::Success();
}

// Rows of the fields [ny, nx] into the memory in which they are advanced, or back.
template <class Copy>
void for_rows(ffi::ThreadPool& pool, Index fields, Index rows, const Copy& copy) {
  const Index blocks = std::clamp<Index>(rows / 8, 1, std::max<Index>(1, pool.num_threads()));
  in_parallel(pool, blocks, [&](Index b) {
    for (Index f = 0; f < fields; ++f) {
      for (Index r = b * rows / blocks; r < (b + 1) * rows / blocks; ++r) copy(f, r);
    }
  });
}

// Large pages, where the system gives them for the asking.
void ask_for_large_pages(void* memory, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t PAGE = 1 << 21;
  const auto first = (reinterpret_cast<std::uintptr_t>(memory) + PAGE - 1) / PAGE * PAGE;
  const auto last = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / PAGE * PAGE;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

// Arrays: the plane of each field, the fields, and the memory if there is one. Result: the memory with them.
ffi::Error put(ffi::ThreadPool pool, ffi::RemainingArgs arrays, ffi::RemainingRets results, std::int32_t lead,
               std::int32_t stride, std::int64_t plane) {
  Arguments in(arrays);
  const auto* planes = static_cast<const std::int32_t*>(in.next());
  const Index count = in.dimension(0), item = bytes_of(results, 0);
  std::vector<const std::byte*> fields;
  for (Index f = 0; f < count; ++f) fields.push_back(static_cast<const std::byte*>(in.next()));
  const Index rows = count ? in.dimension(0) : 0, columns = count ? in.dimension(1) : 0;
  auto* const memory = static_cast<std::byte*>(result(results, 0));
  if (arrays.size() == std::size_t(count) + 1) {
    ask_for_large_pages(memory, (*results.get<ffi::AnyBuffer>(0))->size_bytes());
  } else if (in.next() != memory) {
    return ffi::Error::Internal("the memory of the native step was copied");
  }
  for_rows(pool, count, rows, [&](Index f, Index r) {
    std::memcpy(memory + (planes[f] * plane + r * stride + lead) * item, fields[f] + r * columns * item, columns * item);
  });
  return ffi::Error::Success();
}

// A row of numbers, none of them -0: on land their sign hangs on what was left out.
template <class T>
void copy_row(const void* from, Index n, void* to) {
  for (Index i = 0; i < n; ++i) static_cast<T*>(to)[i] = static_cast<const T*>(from)[i] + T(0);
}

// Arrays: the memory; the plane of each field. Results: the fields.
ffi::Error get(ffi::ThreadPool pool, ffi::RemainingArgs arrays, ffi::RemainingRets results, std::int32_t lead,
               std::int32_t stride, std::int64_t plane) {
  Arguments in(arrays);
  const auto* memory = static_cast<const std::byte*>(in.next());
  const auto* planes = static_cast<const std::int32_t*>(in.next());
  auto first = *results.get<ffi::AnyBuffer>(0);
  const Index item = bytes_of(results, 0), rows = first->dimensions()[0], columns = first->dimensions()[1];
  for_rows(pool, results.size(), rows, [&](Index f, Index r) {
    const auto copy = item == 4 ? copy_row<float> : copy_row<double>;
    copy(memory + (planes[f] * plane + r * stride + lead) * item, columns,
         static_cast<std::byte*>(result(results, f)) + r * columns * item);
  });
  return ffi::Error::Success();
}

// Groups that have nothing but land in so many rows and groups around them become DRY.
void dry(const std::uint8_t* cells, Index rows, Index columns, Index far_rows, Index far_groups, std::uint8_t* flags) {
  const Index groups = (columns + GROUP - 1) / GROUP;
  std::vector<std::uint8_t> wet(rows * groups, 0);  // in this row
  for (Index r = 0; r < rows; ++r) {
    for (Index g = 0; g < groups; ++g) {
      std::uint8_t any = 0;
      for (Index i = g * GROUP; i < std::min((g + 1) * GROUP, columns); ++i) any |= cells[r * columns + i] & 1;
      if (!any) continue;
      const Index first = std::max<Index>(g - far_groups, 0), last = std::min(g + far_groups, groups - 1);
      std::memset(wet.data() + r * groups + first, 1, last - first + 1);
    }
  }
  std::vector<Index> near(groups, 0);  // rows with water, of those around
  for (Index r = -far_rows; r < rows; ++r) {
    for (Index g = 0; g < groups; ++g) {
      if (r + far_rows < rows) near[g] += wet[(r + far_rows) * groups + g];
      if (r - far_rows > 0) near[g] -= wet[(r - far_rows - 1) * groups + g];
      if (r >= 0 && near[g] == 0) flags[r * groups + g] = DRY;
    }
  }
}

// Cells to flags: of every group of columns, whether there is land in reach; with `dry_rows`, those that are DRY.
ffi::Error flag(ffi::RemainingArgs arrays, ffi::RemainingRets results, std::int32_t far_rows, std::int32_t west_groups,
                std::int32_t east_groups, std::int32_t dry_rows, std::int32_t dry_groups) {
  Arguments in(arrays);
  const auto* cells = static_cast<const std::uint8_t*>(in.next());
  const Index rows = in.dimension(0), columns = in.dimension(1), groups = (columns + GROUP - 1) / GROUP;
  auto* const flags = static_cast<std::uint8_t*>(result(results, 0));
  std::memset(flags, WATER, rows * groups);
  bool land = false;
  const std::vector<std::uint8_t> water(GROUP, ALL_WATER);
  for (Index r = 0; r < rows; ++r) {
    for (Index g = 0; g < groups; ++g) {
      const Index width = std::min(GROUP, columns - g * GROUP);
      if (!std::memcmp(cells + r * columns + g * GROUP, water.data(), width)) continue;
      land = true;
      const Index first = std::max<Index>(g - east_groups, 0), last = std::min(g + west_groups, groups - 1);
      for (Index s = std::max<Index>(r - far_rows, 0); s <= std::min(r + far_rows, rows - 1); ++s) {
        std::memset(flags + s * groups + first, COAST, last - first + 1);
      }
    }
  }
  if (land && dry_rows) dry(cells, rows, columns, dry_rows, dry_groups, flags);
  return ffi::Error::Success();
}

#define ATTRIBUTE(NAME) .Attr<std::int32_t>(NAME)
XLA_FFI_DEFINE_HANDLER_SYMBOL(Step, step,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().RemainingArgs().RemainingRets()
                                  .Attr<std::int64_t>("function") ATTRIBUTE("pass") ATTRIBUTE("width")
                                  ATTRIBUTE("levels") ATTRIBUTE("margin") ATTRIBUTE("lead") ATTRIBUTE("stride")
                                  .Attr<std::int64_t>("plane") ATTRIBUTE("rows") ATTRIBUTE("columns")
                                  ATTRIBUTE("threads") ATTRIBUTE("large"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(Put, put,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().RemainingArgs().RemainingRets()
                                  ATTRIBUTE("lead") ATTRIBUTE("stride") .Attr<std::int64_t>("plane"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(Get, get,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().RemainingArgs().RemainingRets()
                                  ATTRIBUTE("lead") ATTRIBUTE("stride") .Attr<std::int64_t>("plane"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(Flag, flag,
                              ffi::Ffi::Bind().RemainingArgs().RemainingRets()
                                  ATTRIBUTE("far_rows") ATTRIBUTE("west_groups") ATTRIBUTE("east_groups")
                                  ATTRIBUTE("dry_rows") ATTRIBUTE("dry_groups"));
#undef ATTRIBUTE

}  // namespace swmodel

namespace {

#if defined(__AVX512F__) && defined(__AVX512VL__)
constexpr const char* INSTRUCTIONS = "AVX-512";
bool runs_here() { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"); }
#elif defined(__AVX2__)
constexpr const char* INSTRUCTIONS = "AVX2";
bool runs_here() { return __builtin_cpu_supports("avx2"); }
#elif defined(__aarch64__)
constexpr const char* INSTRUCTIONS = "NEON";
bool runs_here() { return true; }
#else
constexpr const char* INSTRUCTIONS = "baseline";
bool runs_here() { return true; }
#endif

PyModuleDef module = {PyModuleDef_HEAD_INIT, "_step", "The native step, for XLA's foreign function interface.",
                      -1, nullptr, nullptr, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__step() {
  if (!runs_here()) {
    PyErr_Format(PyExc_ImportError, "the native step was built for %s, which this processor lacks", INSTRUCTIONS);
    return nullptr;
  }
  PyObject* made = PyModule_Create(&module);
  if (made == nullptr) return nullptr;
  const std::pair<const char*, void*> handlers[] = {{"step", reinterpret_cast<void*>(swmodel::Step)},
                                                    {"put", reinterpret_cast<void*>(swmodel::Put)},
                                                    {"get", reinterpret_cast<void*>(swmodel::Get)},
                                                    {"flag", reinterpret_cast<void*>(swmodel::Flag)}};
  for (const auto& [name, handler] : handlers) {
    PyObject* capsule = PyCapsule_New(handler, nullptr, nullptr);
    if (capsule == nullptr || PyModule_AddObject(made, name, capsule) < 0) return nullptr;
  }
  if (PyModule_AddIntConstant(made, "convention", swmodel::CONVENTION) < 0) return nullptr;
  if (PyModule_AddStringConstant(made, "instructions", INSTRUCTIONS) < 0) return nullptr;
  if (PyModule_AddStringConstant(made, "compiler", __VERSION__) < 0) return nullptr;
  if (PyModule_AddStringConstant(made, "jaxlib", SWMODEL_JAXLIB) < 0) return nullptr;
  return made;
}
