// check RUN_DIR: judges RUN_DIR/outputs against attention computed in fp64 from RUN_DIR/inputs and
// writes RUN_DIR/quality.json. Outputs are hostile: whatever is missing, of another size or kind,
// or not finite fails its case and leaves the metrics finite. Exit code 0 whenever it could judge.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "cases.h"

namespace {

constexpr double kTolerance = 1e-3;      // largest error, in units of the channel's own size
constexpr double kCosineFloor = 0.9999;  // least likeness of one output row
constexpr double kWorstError = 1e9;      // stands for "no usable number"

struct Judgement {
  std::string reason;  // empty: passed
  double max_error = 0.0;
  double min_cosine = 1.0;
};

// The file's numbers, if it is a plain file of exactly this size; else nothing.
// O_NONBLOCK: a pipe in the file's place must not hold the check up.
std::optional<std::vector<float>> ReadFloats(const std::string& path, std::size_t count) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  const std::size_t size_bytes = count * sizeof(float);
  struct stat info{};
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size != static_cast<off_t>(size_bytes)) {
    close(fd);
    return std::nullopt;
  }
  std::vector<float> values(count);
  std::size_t done = 0;
  while (done < size_bytes) {
    const ssize_t got = read(fd, reinterpret_cast<char*>(values.data()) + done, size_bytes - done);
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  close(fd);
  if (done != size_bytes) return std::nullopt;
  return values;
}

// One head in fp64. Keys are transposed so that the compiler can use vector registers.
class Reference {
 public:
  Reference(const Case& c, const float* k, const float* v)
      : keys_(c.keys),
        dim_(c.head_dim),
        kt_(keys_ * dim_),
        v_(v, v + keys_ * dim_),
        channel_size_(dim_),
        weights_(keys_),
        row_(dim_) {
    for (std::size_t j = 0; j < keys_; ++j) {
      for (std::size_t d = 0; d < dim_; ++d) {
        kt_[d * keys_ + j] = static_cast<double>(k[j * dim_ + d]);
        channel_size_[d] += v_[j * dim_ + d] * v_[j * dim_ + d];
      }
    }
    for (double& s : channel_size_) s = std::sqrt(s / static_cast<double>(keys_)) + 1e-30;
  }

  // Root mean square of each channel of v: the unit in which errors are counted.
  const std::vector<double>& channel_size() const { return channel_size_; }

  const std::vector<double>& Row(const float* q) {
    std::fill(weights_.begin(), weights_.end(), 0.0);
    const double scale = 1.0 / std::sqrt(static_cast<double>(dim_));
    for (std::size_t d = 0; d < dim_; ++d) {
      const double qd = static_cast<double>(q[d]) * scale;
      const double* keys = kt_.data() + d * keys_;
      for (std::size_t j = 0; j < keys_; ++j) weights_[j] += qd * keys[j];
    }
    const double largest = *std::max_element(weights_.begin(), weights_.end());
    double sum = 0.0;
    for (double& w : weights_) sum += w = std::exp(w - largest);
    std::fill(row_.begin(), row_.end(), 0.0);
    for (std::size_t j = 0; j < keys_; ++j) {
      const double w = weights_[j] / sum;
      const double* value = v_.data() + j * dim_;
      for (std::size_t d = 0; d < dim_; ++d) row_[d] += w * value[d];
    }
    return row_;
  }

 private:
  std::size_t keys_;
  std::size_t dim_;
  std::vector<double> kt_;
  std::vector<double> v_;
  std::vector<double> channel_size_;
  std::vector<double> weights_;
  std::vector<double> row_;
};

void JudgeRow(const std::vector<double>& unit, const std::vector<double>& want, const float* got,
              Judgement& judgement) {
  double dot = 0.0;
  double got_square = 1e-300;
  double want_square = 1e-300;
  for (std::size_t d = 0; d < want.size(); ++d) {
    const double g = static_cast<double>(got[d]) / unit[d];
    const double w = want[d] / unit[d];
    judgement.max_error = std::max(judgement.max_error, std::min(std::abs(g - w), kWorstError));
    dot += g * w;
    got_square += g * g;
    want_square += w * w;
  }
  judgement.min_cosine =
      std::min(judgement.min_cosine, dot / std::sqrt(got_square) / std::sqrt(want_square));
}

Judgement Refuse(std::string reason) {
  return {std::move(reason), kWorstError, -1.0};
}

Judgement JudgeCase(const Case& c, const std::string& run_dir) {
  const auto in = ReadFloats(run_dir + "/inputs/" + c.name + ".bin", c.q_size() + 2 * c.k_size());
  if (!in) return Refuse("inputs unreadable");
  const auto out = ReadFloats(run_dir + "/outputs/" + c.name + ".bin", c.q_size());
  if (!out) return Refuse("output missing or not a plain file of the right size");
  if (!std::all_of(out->begin(), out->end(), [](float x) { return std::isfinite(x); })) {
    return Refuse("output holds numbers that are not finite");
  }
  Judgement judgement;
  for (std::size_t h = 0; h < c.batch * c.heads; ++h) {
    const float* k = in->data() + c.q_size() + h * c.keys * c.head_dim;
    Reference reference(c, k, k + c.k_size());
    for (std::size_t i = 0; i < c.queries; ++i) {
      const std::size_t row = (h * c.queries + i) * c.head_dim;
      JudgeRow(reference.channel_size(), reference.Row(in->data() + row), out->data() + row,
               judgement);
    }
  }
  if (judgement.max_error > kTolerance) {
    judgement.reason = "error above tolerance";
  } else if (judgement.min_cosine < kCosineFloor) {
    judgement.reason = "a row points elsewhere";
  }
  return judgement;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: check RUN_DIR\n");
    return 2;
  }
  const std::string run_dir = argv[1];
  const std::vector<Case> cases = ReadCases(run_dir + "/inputs/cases.txt");
  if (cases.empty()) {
    std::fprintf(stderr, "check: no cases in %s/inputs/cases.txt\n", run_dir.c_str());
    return 1;
  }

  Judgement worst;
  std::string rows;
  for (const Case& c : cases) {
    const Judgement judgement = JudgeCase(c, run_dir);
    worst.max_error = std::max(worst.max_error, judgement.max_error);
    worst.min_cosine = std::min(worst.min_cosine, judgement.min_cosine);
    char row[512];
    std::snprintf(row, sizeof row,
                  "%s    \"%s\": {\"passed\": %s, \"max_error\": %.6g, \"min_cosine\": %.9g, "
                  "\"reason\": \"%s\"}",
                  rows.empty() ? "" : ",\n", c.name.c_str(),
                  judgement.reason.empty() ? "true" : "false", judgement.max_error,
                  judgement.min_cosine, judgement.reason.c_str());
    rows += row;
  }

  const std::string path = run_dir + "/quality.json";
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "check: cannot create %s\n", path.c_str());
    return 1;
  }
  std::fprintf(file,
               "{\n  \"metrics\": {\"max_error\": %.6g, \"min_cosine\": %.9g},\n"
               "  \"cases\": {\n%s\n  }\n}\n",
               worst.max_error, worst.min_cosine, rows.c_str());
  return std::fclose(file) == 0 ? 0 : 1;
}
