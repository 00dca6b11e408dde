// Child processes that do what may crash or hang, spoken to over a socket.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::tune {

/// Where a child finds its end of the socket, for reading and writing; it is its standard input
/// too. What it prints goes to the standard error. Further files follow.
inline constexpr int kChildSocket = 3;

/// The number of bytes of the first whole message in a text; 0 while there is none.
using SplitMessage = std::function<size_t(std::string_view received)>;

/// One child, killed when this is destroyed. Move-only; used by one thread at a time.
class ChildProcess {
 public:
  /// Starts a program. `files` are handed to the child as 4, 5, ... Throws std::runtime_error when
  /// it cannot be started.
  ChildProcess(const std::string& program, const std::vector<std::string>& arguments,
               const std::vector<int>& files = {});
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;
  ~ChildProcess();

  /// Hands over bytes, waiting at most `seconds` for the child to take them. That it has ended
  /// shows at the next receive().
  void send(std::string_view bytes, double seconds = 10);
  /// The next message. Nothing after `seconds` without a whole one, or when the child has ended:
  /// why() tells. The child is then killed.
  std::optional<std::string> receive(double seconds, const SplitMessage& split);

  const std::string& why() const { return why_; }  ///< a sentence without its full stop
  bool timed_out() const { return timed_out_; }    ///< ended by us, for being silent
  bool alive() const { return pid_ > 0; }          ///< as far as was noticed
  /// Whether it has ended by itself, asked just now.
  bool has_ended() const;
  int file() const { return socket_; }  ///< to be polled for messages
  int pid() const { return pid_; }

 private:
  std::string end();
  bool wait_for(short events, double seconds) const;

  int pid_ = -1, socket_ = -1;
  std::string pending_, why_;
  bool timed_out_ = false;
};

/// Writes all bytes to a file or socket; false when the other side is gone.
bool write_all(int file, std::string_view bytes);

}  // namespace tilewright::tune
