// Opens the namespace of formulas. No include guard: Highway includes an -inl.h file once for each SIMD
// target, and plain C++ and nvcc include it once more. VELDT_FN marks a function for each pass: host and
// device under nvcc, forced inline in a SIMD pass (a target's registers must not cross a call).
// Tests: tests/kernels/formulas_test.cpp
#undef VELDT_FN
#undef VELDT_TARGET
#if defined(__CUDACC__)
#define VELDT_FN __host__ __device__ inline
#define VELDT_TARGET scalar
#elif defined(HWY_TARGET)
#define VELDT_FN HWY_INLINE
#define VELDT_TARGET HWY_NAMESPACE
#else
#define VELDT_FN inline
#define VELDT_TARGET scalar
#endif
#if defined(HWY_TARGET) && !defined(__CUDACC__)
HWY_BEFORE_NAMESPACE();
#endif
namespace veldt {
namespace VELDT_TARGET {
