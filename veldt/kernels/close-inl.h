// Closes what open-inl.h opened.
// Tests: tests/kernels/formulas_test.cpp
}  // namespace VELDT_TARGET
}  // namespace veldt
#if defined(HWY_TARGET) && !defined(__CUDACC__)
HWY_AFTER_NAMESPACE();
#endif
