// The door between the sweep and XLA: a foreign function that takes and gives the arrays listed in native.py.

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "sweep.h"
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
  template <class T>
  const T* next() {
    const ffi::AnyBuffer array = *arrays_.get<ffi::AnyBuffer>(number_++);
    dimensions_ = array.dimensions().begin();
    return reinterpret_cast<const T*>(array.untyped_data());
  }
  template <class T>
  Static<T> next_static(Index margin) {
    const T* data = next<T>();
    return {data, dimension(0), dimension(1), margin};
  }
  Index dimension(std::size_t axis) const { return dimensions_[axis]; }

 private:
  ffi::RemainingArgs arrays_;
  const std::int64_t* dimensions_ = nullptr;
  std::size_t number_ = 0;
};

constexpr Index CACHE = 1 << 19;  // bytes
constexpr long CONVENTION = 3;    // as in __init__.py

struct Options {
  std::int32_t flux, stepper, terms, width, steps_per_sweep, margin, past, groups_in, groups_out, tile, threads;
};

template <class T>
ffi::Error step(ffi::ThreadPool pool, ffi::RemainingArgs arrays, ffi::RemainingRets results, const Options& o) {
  Job<T> job{};
  job.width = o.width;
  job.steps_per_sweep = o.steps_per_sweep;
  job.halo = job.width * job.steps_per_sweep;
  job.stepper = Stepper(o.stepper);
  job.past = o.past;
  job.groups_in = o.groups_in;
  job.groups_out = o.groups_out;
  job.travelling = o.steps_per_sweep > 1 ? FIELDS * o.groups_in : FIELDS;
  const auto term = [&](int bit) { return (o.terms >> bit & 1) != 0; };
  job.terms = {Flux(o.flux), term(0), term(1), term(2), term(3), term(4), term(5)};

  Arguments in(arrays);
  for (Index field = 0; field < FIELDS * job.groups_in; ++field) job.in[field] = in.next<T>();
  job.rows = in.dimension(0);
  job.columns = in.dimension(1);
  for (auto* strip : {&job.west, &job.east, &job.south, &job.north}) *strip = in.next<T>();
  const auto* extent = in.next<std::int32_t>();
  job.ny = extent[0];
  job.nx = extent[1];
  const T* k = in.next<T>();
  job.k = {k[0], k[1], k[2], k[3], k[4], k[5], k[6], k[7]};
  job.weights = in.next<T>();
  job.weights_per_step = in.dimension(1);
  job.masks = in.next_static<std::uint8_t>(o.margin);
  for (auto* field : {&job.f, &job.depth, &job.linear_drag, &job.wind_x, &job.wind_y, &job.sponge_c, &job.sponge_u,
                      &job.sponge_v}) {
    *field = in.next_static<T>(o.margin);
  }
  std::size_t number = 0;
  const auto out = [&] { return reinterpret_cast<T*>((*results.get<ffi::AnyBuffer>(number++))->untyped_data()); };
  for (Index field = 0; field < FIELDS * job.groups_out; ++field) job.out[field] = out();
  for (auto* edge : {&job.edge_west, &job.edge_east, &job.edge_south, &job.edge_north}) *edge = out();

  // Rows as long as the second-level cache of a core allows: longer runs through memory beat smaller rings.
  job.tile = o.tile ? o.tile : std::max<Index>(512, CACHE / (OneStep<T>::ROWS_IN_USE * job.steps_per_sweep * sizeof(T)));
  const Index threads = o.threads ? o.threads : std::max<Index>(1, pool.num_threads());
  const Index blocks = std::clamp<Index>(job.ny / std::max<Index>(8 * job.halo, 8), 1, threads);
  std::vector<Sweep<T>> sweeps;
  sweeps.reserve(blocks);
  for (Index b = 0; b < blocks; ++b) sweeps.emplace_back(job, b * job.ny / blocks, (b + 1) * job.ny / blocks);
  in_parallel(pool, blocks, [&](Index b) { sweeps[b].run(); });
  return ffi::Error::Success();
}

ffi::Error dispatch(ffi::ThreadPool pool, ffi::RemainingArgs arrays, ffi::RemainingRets results, std::int32_t flux,
                    std::int32_t stepper, std::int32_t terms, std::int32_t width, std::int32_t steps_per_sweep,
                    std::int32_t margin, std::int32_t past, std::int32_t groups_in, std::int32_t groups_out,
                    std::int32_t tile, std::int32_t threads) {
  const Options options{flux, stepper,   terms,     width, steps_per_sweep, margin,
                        past, groups_in, groups_out, tile,  threads};
  const auto first = arrays.get<ffi::AnyBuffer>(0);
  if (!first.has_value()) return ffi::Error::InvalidArgument("no arrays");
  switch (first->element_type()) {
    case ffi::F32: return step<float>(pool, arrays, results, options);
    case ffi::F64: return step<double>(pool, arrays, results, options);
    default: return ffi::Error::InvalidArgument("the native step computes in float32 and float64 only");
  }
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(Step, dispatch,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::ThreadPool>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<std::int32_t>("flux")
                                  .Attr<std::int32_t>("stepper")
                                  .Attr<std::int32_t>("terms")
                                  .Attr<std::int32_t>("width")
                                  .Attr<std::int32_t>("steps_per_sweep")
                                  .Attr<std::int32_t>("margin")
                                  .Attr<std::int32_t>("past")
                                  .Attr<std::int32_t>("groups_in")
                                  .Attr<std::int32_t>("groups_out")
                                  .Attr<std::int32_t>("tile")
                                  .Attr<std::int32_t>("threads"));

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
  PyObject* step = PyCapsule_New(reinterpret_cast<void*>(swmodel::Step), nullptr, nullptr);
  if (step == nullptr || PyModule_AddObject(made, "step", step) < 0) return nullptr;
  if (PyModule_AddIntConstant(made, "convention", swmodel::CONVENTION) < 0) return nullptr;
  if (PyModule_AddStringConstant(made, "instructions", INSTRUCTIONS) < 0) return nullptr;
  if (PyModule_AddStringConstant(made, "compiler", __VERSION__) < 0) return nullptr;
  if (PyModule_AddStringConstant(made, "jaxlib", SWMODEL_JAXLIB) < 0) return nullptr;
  return made;
}
