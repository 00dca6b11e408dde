// Machine code as text, by NVIDIA's tools where they are installed.
#pragma once

#include <optional>
#include <string>

namespace tilewright::cli {

/// The command that disassembles a file given after it: nvdisasm or cuobjdump from the PATH,
/// $CUDA_PATH/bin or /usr/local/cuda/bin; nothing when neither is there.
std::optional<std::string> find_disassembler();

/// How to get one.
inline constexpr const char* kDisassemblerHint =
    "install a CUDA toolkit, or 'pip install nvidia-cuda-nvdisasm' and put its nvidia/cu13/bin on "
    "the PATH";

/// SASS of a cubin by that command. Raises missing_disassembler, or disassembler_failed with its
/// output.
std::string disassemble(const std::string& cubin,
                        const std::optional<std::string>& command = find_disassembler());

}  // namespace tilewright::cli
