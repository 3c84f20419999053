// Errors as values. Every function that can fail for a reason outside Pawl's own code returns
// Result<T> (or Status); an Error carries a code for programs, a message for people and a hint that
// says what to do next. CHECK is for Pawl's own bugs only, never for input, disks or children.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace pawl {

enum class Code : std::uint8_t {
  kInvalidArgument,    // the user's words, config or files are wrong
  kNotFound,           // a named thing does not exist
  kAlreadyExists,      // a thing that must be new is there
  kConflict,           // the state moved under us or forbids the step
  kBusy,               // another process holds it
  kTimeout,            // a limit in time ran out
  kCancelled,          // somebody asked to stop
  kPermissionDenied,   // the system or a policy refused
  kResourceExhausted,  // disk, memory, processes, descriptors
  kCorrupt,            // stored bytes are not what was written
  kUnsupported,        // this machine or build cannot do it
  kIo,                 // the system failed a read, write or sync
  kInternal,           // a defect of Pawl
};

std::string_view CodeName(Code code);

struct Error {
  Code code = Code::kInternal;
  std::string message;  // one sentence, no final line break
  std::string hint;     // what to do next; may be empty

  // "message" or "message (hint: ...)", for logs and tests.
  std::string Text() const;

  // The same error with `context` and ": " put before the message.
  Error Within(std::string_view context) const;
};

Error MakeError(Code code, std::string message, std::string hint = {});

// An error of kind kIo (or the code that fits `errno_value`, e.g. ENOENT -> kNotFound) whose
// message is "what: strerror".
Error SystemError(std::string_view what, int errno_value);

template <class T>
class [[nodiscard]] Result {
 public:
  using Value = T;
  Result(T value)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error)  // NOLINT(google-explicit-constructor)
      : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Only after ok(); a CHECK otherwise.
  const T& value() const& { return *Checked(); }
  T& value() & { return *const_cast<T*>(Checked()); }
  // By value, so that `for (x : *Call())` does not look into a dead temporary.
  T value() && { return std::move(*const_cast<T*>(Checked())); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return Checked(); }
  T* operator->() { return const_cast<T*>(Checked()); }

  const Error& error() const& { return *std::get_if<1>(&state_); }
  Error&& error() && { return std::move(*std::get_if<1>(&state_)); }
  T ValueOr(T fallback) const { return ok() ? value() : std::move(fallback); }

  // Drops the outcome on purpose; the reason is for the reader.
  void Ignore(std::string_view) const {}

 private:
  const T* Checked() const;
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(*error_); }
  void Ignore(std::string_view) const {}

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;
inline Status OkStatus() {
  return {};
}

namespace internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* what,
                              std::string_view detail = {});
}  // namespace internal

template <class T>
const T* Result<T>::Checked() const {
  if (const T* value = std::get_if<0>(&state_)) return value;
  internal::CheckFailed(__FILE__, __LINE__, "Result::ok()", std::get_if<1>(&state_)->message);
}

}  // namespace pawl

// Ends the process on a broken invariant of Pawl's own.
#define PAWL_CHECK(condition)                                                        \
  do {                                                                               \
    if (!(condition)) ::pawl::internal::CheckFailed(__FILE__, __LINE__, #condition); \
  } while (false)

#define PAWL_CONCAT_INNER(a, b) a##b
#define PAWL_CONCAT(a, b) PAWL_CONCAT_INNER(a, b)

// PAWL_TRY(expression): returns the error of a Status or Result from the enclosing function.
#define PAWL_TRY(expression)                                                                       \
  do {                                                                                             \
    if (auto pawl_status = (expression); !pawl_status.ok()) return std::move(pawl_status).error(); \
  } while (false)

// PAWL_ASSIGN(auto x, expression): binds the value or returns the error.
#define PAWL_ASSIGN(declaration, expression) \
  PAWL_ASSIGN_INNER(PAWL_CONCAT(pawl_result_, __LINE__), declaration, expression)
#define PAWL_ASSIGN_INNER(result, declaration, expression) \
  auto result = (expression);                              \
  if (!result.ok()) return std::move(result).error();      \
  declaration = std::move(result).value()
