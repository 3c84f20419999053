// Who is alive on this machine, by command line.
#pragma once

#include <chrono>
#include <string_view>

namespace pawl::test {

// Whether a process lives whose command line holds `text`.
bool Lives(std::string_view text);

// Waits until Lives(text) is `alive`; false when it has not become so in time. A process that forks
// between two looks at /proc can be missed once, so gone means not seen several times running.
bool Becomes(bool alive, std::string_view text,
             std::chrono::seconds limit = std::chrono::seconds(30));

}  // namespace pawl::test
