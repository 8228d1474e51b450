/* Preloaded into a process, it hides from all of its libraries what the CPU has beyond AVX2: CPUID
 * faults (arch_prctl, ARCH_SET_CPUID), and the handler answers with fewer bits. New threads and
 * processes inherit the fault; after an exec the preloaded library sets it again.
 *
 * SOURCE: Intel's manual, volume 2A, CPUID, leaf 7 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define SET_CPUID 0x1012

static const int kHidden[][4] = {
    /* leaf 7.0, EBX: AVX-512 F, DQ, IFMA, PF, ER, CD, BW, VL
     *           ECX: VBMI, VBMI2, GFNI, VNNI, BITALG, VPOPCNTDQ
     *           EDX: 4VNNIW, 4FMAPS, VP2INTERSECT, AMX-BF16, FP16, AMX-TILE, AMX-INT8 */
    {0, 0xdc230000, 0x00005942, 0x03c0010c},
    /* leaf 7.1, EAX: AVX-VNNI, AVX512-BF16, AMX-FP16, AVX-IFMA
     *           EDX: AVX-VNNI-INT8, AVX-NE-CONVERT, AMX-COMPLEX, AVX-VNNI-INT16, AVX10 */
    {0x00a00030, 0, 0, 0x00080530},
};

static void answer_cpuid(int number, siginfo_t* info, void* context) {
  greg_t* regs = ((ucontext_t*)context)->uc_mcontext.gregs;
  const uint8_t* code = (const uint8_t*)regs[REG_RIP];
  (void)info;
  if (code[0] != 0x0f || code[1] != 0xa2) { /* a fault of the program */
    signal(number, SIG_DFL);
    return;
  }
  const uint32_t leaf = (uint32_t)regs[REG_RAX], part = (uint32_t)regs[REG_RCX];
  uint32_t a = leaf, b, c = part, d;
  syscall(SYS_arch_prctl, SET_CPUID, 1L);
  __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  syscall(SYS_arch_prctl, SET_CPUID, 0L);
  if (leaf == 7 && part < 2) {
    a &= ~(uint32_t)kHidden[part][0], b &= ~(uint32_t)kHidden[part][1];
    c &= ~(uint32_t)kHidden[part][2], d &= ~(uint32_t)kHidden[part][3];
  }
  regs[REG_RAX] = a, regs[REG_RBX] = b, regs[REG_RCX] = c, regs[REG_RDX] = d;
  regs[REG_RIP] += 2;
}

__attribute__((constructor)) static void start(void) {
  struct sigaction action = {.sa_sigaction = answer_cpuid, .sa_flags = SA_SIGINFO | SA_NODEFER};
  if (sigaction(SIGSEGV, &action, NULL) != 0 || syscall(SYS_arch_prctl, SET_CPUID, 0L) != 0) {
    static const char kWhy[] = "avx2_cpu.c: this machine cannot trap CPUID\n";
    if (write(2, kWhy, sizeof(kWhy) - 1) < 0) _exit(127);
    _exit(126);
  }
}
