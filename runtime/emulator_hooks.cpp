// The functions that emulated code calls.
#include "tilewright/ir/error.h"
#include "tilewright/runtime/emulator_block.h"
#include "tilewright/runtime/half.h"

namespace tilewright::runtime {
namespace {

void on_access(const void* address, unsigned long bytes, int kind, const void* pc) {
  EmulatedBlock::current().on_access(reinterpret_cast<uintptr_t>(address),
                                     static_cast<int64_t>(bytes), kind, pc);
}

unsigned char* shared() {
  return reinterpret_cast<unsigned char*>(EmulatedBlock::current().shared());
}

Dim3 thread() { return {EmulatedBlock::current().thread(), 0, 0}; }

Dim3 block() { return {EmulatedBlock::current().block(), 0, 0}; }

void on_barrier(int line, const void* pc) { EmulatedBlock::current().on_barrier(line, pc); }

unsigned on_shuffle(unsigned word, int lane, int exclusive_or, const void* pc) {
  return EmulatedBlock::current().on_shuffle(word, lane, exclusive_or != 0, pc);
}

void on_copy(void* to, const void* from, int bytes, int read, const void* pc) {
  EmulatedBlock::current().on_copy(to, from, bytes, read, pc);
}

void on_commit() { EmulatedBlock::current().on_commit(); }

void on_wait(int pending, const void* pc) { EmulatedBlock::current().on_wait(pending, pc); }

float from_f16(unsigned short bits) { return f16_to_float(bits); }

unsigned short to_f16(float x) { return f16_from_double(x); }

}  // namespace

void fill_hooks(const SharedLibrary& library) {
  EmulatorHooks* hooks = nullptr;
  internal_check(library.find("tw_hooks", hooks), "an emulated kernel has no hooks");
  *hooks = {on_access, shared,    thread,  block,    on_barrier, on_shuffle,
            on_copy,   on_commit, on_wait, from_f16, to_f16};
}

}  // namespace tilewright::runtime
