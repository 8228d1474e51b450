// Names the instruction set that this translation unit is compiled for. All code that depends on
// the instruction set is in RNN_OPS_ISA_NAMESPACE, so objects of two levels never share a symbol.
//
// Note [Emulation]
// With RNN_OPS_EMULATE an object runs on every CPU with AVX2. A register of 16 lanes is two
// registers of 8 lanes (tests/cc/cpu/simd). The instructions that no level requires are functions:
// pairs of bfloat16 and AMX (bf16_emulated.h), VNNI (int8.h). EmulatedCpu() says which of these the
// CPU has. Only tests build such objects, so that a test run executes the kernels of all CPUs.
#pragma once

#if defined(RNN_OPS_ISA_AVX512)
#define RNN_OPS_ISA_NAMESPACE isa_avx512
#define RNN_OPS_ISA_STRING "avx512"
#elif defined(RNN_OPS_ISA_AVX2)
#define RNN_OPS_ISA_NAMESPACE isa_avx2
#define RNN_OPS_ISA_STRING "avx2"
#else
#define RNN_OPS_ISA_NAMESPACE isa_baseline
#define RNN_OPS_ISA_STRING "baseline"
#endif
