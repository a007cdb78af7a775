// Reads a launch from standard input, runs it thread after thread, and writes its arrays to standard output.
// Words of 64 bits: which kernel, threads, arrays; then of each array its bytes, whether it has gradients,
// its contents and its gradients; then the words of the launch block, whose addresses are filled in here.
#include <cstdio>
#include <cstdlib>
#include <vector>

static ulong word() {
    ulong value = 0;
    if (fread(&value, 8, 1, stdin) != 1) exit(3);
    return value;
}

int main() {
    const ulong which = word(), threads = word(), arrays = word();
    std::vector<std::vector<ulong>> memory;
    std::vector<ulong> bytes;
    for (ulong n = 0; n < 2 * arrays; ++n) {
        if (n % 2 == 0) bytes.push_back(word());
        const ulong size = bytes.back(), given = n % 2 == 0 ? 1 : word();
        // A word more than needed: updates of bytes touch the whole word.
        memory.emplace_back(given ? size / 8 + 2 : 0);
        if (given && size && fread(memory.back().data(), 1, size, stdin) != size) return 3;
    }
    std::vector<ulong> block(word());
    for (auto& value : block) value = word();
    uint status[2] = {~0u, ~0u};
    block[1] = reinterpret_cast<ulong>(status);
    for (ulong n = 0; n < 2 * arrays; ++n) {
        block[block.size() - 2 * arrays + n] = memory[n].empty() ? 0 : reinterpret_cast<ulong>(memory[n].data());
    }
    const uint groups = uint((threads + 255) / 256);
    const ulong address = reinterpret_cast<ulong>(block.data());
    for (uint group = 0; group < groups; ++group)
        for (uint local = 0; local < 256; ++local)
            run(which, address, uint3{group, 0, 0}, uint3{groups, 1, 1}, local);
    fwrite(status, 4, 2, stdout);
    for (ulong n = 0; n < 2 * arrays; ++n)
        if (!memory[n].empty()) fwrite(memory[n].data(), 1, bytes[n / 2], stdout);
    return 0;
}
