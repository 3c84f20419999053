#include "base/result.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace pawl {

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "invalid-argument";
    case Code::kNotFound:
      return "not-found";
    case Code::kAlreadyExists:
      return "already-exists";
    case Code::kConflict:
      return "conflict";
    case Code::kBusy:
      return "busy";
    case Code::kTimeout:
      return "timeout";
    case Code::kCancelled:
      return "cancelled";
    case Code::kPermissionDenied:
      return "permission-denied";
    case Code::kResourceExhausted:
      return "resource-exhausted";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kIo:
      return "io";
    case Code::kInternal:
      return "internal";
  }
  return "internal";
}

std::string Error::Text() const {
  return hint.empty() ? message : message + " (hint: " + hint + ")";
}

Error Error::Within(std::string_view context) const {
  Error out = *this;
  out.message = std::string(context) + ": " + message;
  return out;
}

Error MakeError(Code code, std::string message, std::string hint) {
  return Error{code, std::move(message), std::move(hint)};
}

namespace {

Code CodeOf(int errno_value) {
  switch (errno_value) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
      return Code::kNotFound;
    case EEXIST:
    case ENOTEMPTY:
      return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    case ENOSPC:
    case EDQUOT:
    case ENOMEM:
    case EMFILE:
    case ENFILE:
    case EFBIG:
      return Code::kResourceExhausted;
    case EBUSY:
    case EAGAIN:
      return Code::kBusy;
    case ETIMEDOUT:
      return Code::kTimeout;
    case ENOSYS:
    case EOPNOTSUPP:
      return Code::kUnsupported;
    default:
      return Code::kIo;
  }
}

}  // namespace

Error SystemError(std::string_view what, int errno_value) {
  Error error = MakeError(CodeOf(errno_value),
                          std::string(what) + ": " + std::generic_category().message(errno_value));
  if (error.code == Code::kResourceExhausted && errno_value == ENOSPC) {
    error.hint = "free disk space, then run the same command again";
  }
  return error;
}

namespace internal {

void CheckFailed(const char* file, int line, const char* what, std::string_view detail) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s%s%.*s\n", file, line, what,
               detail.empty() ? "" : ": ", static_cast<int>(detail.size()), detail.data());
  std::abort();
}

}  // namespace internal
}  // namespace pawl
