// The kernels that tests run: those of this machine, and emulations of those of other machines.
#pragma once

#include <string>
#include <vector>

#include "cc/cpu/dispatch/kernel_table.h"
#include "cc/cpu/kernel_args.h"

namespace rnn_ops::cpu::testing {

// All tables, the baseline first, then the levels of this machine, then the emulations.
const std::vector<const KernelTable*>& Tables();

// The tables whose code for a problem differs: the native ones, and one emulation of each code.
std::vector<const KernelTable*> Tables(const RnnProblem& problem);

bool IsEmulated(const KernelTable& table);

// The code that a table runs for a problem: the level, and the unit of its products, such as
// "avx512", "avx512 bf16" and "avx2 vnni". tools/executed.py lists them.
std::string CodeOf(const KernelTable& table, const RnnProblem& problem);

// Notes that the present test ran the code. At the end, the program prints a line for each code and
// how it was executed: "[executed] CODE: native|emulated, N tests". tools/executed.py reads them.
void NoteExecuted(const KernelTable& table, const std::string& code);

}  // namespace rnn_ops::cpu::testing
