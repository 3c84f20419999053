#include "tensor/cuda/cublaslt_matmul.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <tuple>
#include <utility>

#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/device_timer.h"

namespace lab::cuda {
namespace {

using pawl::Code;

constexpr int kHeuristicCandidates = 32;
constexpr std::array<std::uint16_t, 8> kClusters{
    CUBLASLT_CLUSTER_SHAPE_AUTO,  CUBLASLT_CLUSTER_SHAPE_1x1x1, CUBLASLT_CLUSTER_SHAPE_2x1x1,
    CUBLASLT_CLUSTER_SHAPE_1x2x1, CUBLASLT_CLUSTER_SHAPE_2x2x1, CUBLASLT_CLUSTER_SHAPE_4x1x1,
    CUBLASLT_CLUSTER_SHAPE_1x4x1, CUBLASLT_CLUSTER_SHAPE_8x1x1};

// The parts of cublasLtMatmulAlgo_t that a search varies.
struct AlgorithmConfig {
  std::int32_t id = 0;
  std::uint32_t tile = 0;
  std::uint32_t stages = 0;
  std::int32_t split = 1;
  std::uint32_t reduction = 0;
  std::uint32_t swizzle = 0;
  std::uint16_t inner_shape = 0;
  std::uint16_t cluster = 0;
  auto operator<=>(const AlgorithmConfig&) const = default;
};

// Calls visit(attribute, field) for each; one list for reading and writing.
template <class Config, class Visitor>
void VisitConfig(Config& config, Visitor visit) {
  visit(CUBLASLT_ALGO_CONFIG_TILE_ID, config.tile);
  visit(CUBLASLT_ALGO_CONFIG_STAGES_ID, config.stages);
  visit(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, config.split);
  visit(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, config.reduction);
  visit(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, config.swizzle);
  visit(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, config.inner_shape);
  visit(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, config.cluster);
}

AlgorithmConfig ReadConfig(const cublasLtMatmulAlgo_t& algorithm) {
  AlgorithmConfig config;
  std::size_t written = 0;
  // An attribute that an algorithm does not have keeps its default.
  cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_ID, &config.id,
                                       sizeof(config.id), &written);
  VisitConfig(config, [&](cublasLtMatmulAlgoConfigAttributes_t attribute, auto& field) {
    cublasLtMatmulAlgoConfigGetAttribute(&algorithm, attribute, &field, sizeof(field), &written);
  });
  return config;
}

struct LayoutDeleter {
  void operator()(cublasLtMatrixLayout_t layout) const { cublasLtMatrixLayoutDestroy(layout); }
};
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, LayoutDeleter>;

// A row-major [rows, cols] matrix is what cuBLASLt calls a column-major [cols, rows] one.
pawl::Result<Layout> MakeLayout(cudaDataType_t type, std::int64_t rows, std::int64_t cols) {
  cublasLtMatrixLayout_t layout = nullptr;
  PAWL_TRY(FromCublas(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(cols),
                                                 static_cast<std::uint64_t>(rows), cols),
                      "describing a matrix"));
  return Layout(layout);
}

struct OperationDeleter {
  void operator()(cublasLtMatmulDesc_t operation) const { cublasLtMatmulDescDestroy(operation); }
};
using Operation = std::unique_ptr<cublasLtMatmulDescOpaque_t, OperationDeleter>;

template <class T>
pawl::Status SetOperation(const Operation& operation, cublasLtMatmulDescAttributes_t attribute,
                          T value) {
  return FromCublas(
      cublasLtMatmulDescSetAttribute(operation.get(), attribute, &value, sizeof(value)),
      "describing a product");
}

cublasOperation_t ToCublas(Operand operand) {
  return operand == Operand::kTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

pawl::Result<Operation> MakeOperation(const MatmulSpec& spec) {
  cublasLtMatmulDesc_t raw = nullptr;
  PAWL_TRY(FromCublas(cublasLtMatmulDescCreate(&raw, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                      "describing a product"));
  Operation operation(raw);
  // D' = op(B)' op(A)': the library's first operand is our second.
  PAWL_TRY(SetOperation(operation, CUBLASLT_MATMUL_DESC_TRANSA, ToCublas(spec.b)));
  PAWL_TRY(SetOperation(operation, CUBLASLT_MATMUL_DESC_TRANSB, ToCublas(spec.a)));
  if (spec.epilogue == MatmulEpilogue::kRelu) {
    PAWL_TRY(SetOperation(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_RELU));
  }
  if (spec.sm_count > 0) {
    PAWL_TRY(SetOperation(operation, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, spec.sm_count));
  }
  return operation;
}

template <class T>
std::vector<T> Capability(const cublasLtMatmulAlgo_t& algorithm,
                          cublasLtMatmulAlgoCapAttributes_t attribute) {
  std::size_t bytes = 0;
  cublasLtMatmulAlgoCapGetAttribute(&algorithm, attribute, nullptr, 0, &bytes);
  std::vector<T> values(bytes / sizeof(T));
  if (!values.empty()) {
    cublasLtMatmulAlgoCapGetAttribute(&algorithm, attribute, values.data(), bytes, &bytes);
  }
  return values;
}

}  // namespace

std::string MatmulSpec::Key() const {
  std::string key = std::to_string(rows) + "x" + std::to_string(cols) + "x" + std::to_string(inner);
  key += a == Operand::kTransposed ? " t" : " n";
  key += b == Operand::kTransposed ? "t" : "n";
  key += output == MatmulOutput::kFp32 ? " fp32" : " bf16";
  if (add_c) key += " +c";
  if (epilogue == MatmulEpilogue::kRelu) key += " relu";
  if (sm_count > 0) key += " sm" + std::to_string(sm_count);
  return key;
}

double MatmulSpec::flops() const {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(cols) * static_cast<double>(inner);
}

pawl::Result<CublasLtHandle> CublasLtHandle::Create() {
  CublasLtHandle handle;
  PAWL_TRY(FromCublas(cublasLtCreate(&handle.handle_), "starting cuBLASLt"));
  return handle;
}

CublasLtHandle::~CublasLtHandle() {
  if (handle_ != nullptr) static_cast<void>(cublasLtDestroy(handle_));
}

CublasLtHandle::CublasLtHandle(CublasLtHandle&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)) {}

CublasLtHandle& CublasLtHandle::operator=(CublasLtHandle&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

std::string CublasLtHandle::Version() {
  const std::size_t version = cublasLtGetVersion();
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

struct CublasLtMatmul::Impl {
  cublasLtHandle_t handle = nullptr;
  MatmulSpec spec;
  std::size_t workspace_bytes = 0;
  Operation operation;
  Layout a, b, d;
  cublasLtMatmulAlgo_t algorithm{};

  pawl::Result<std::vector<cublasLtMatmulAlgo_t>> Heuristics(int count) const;
  std::vector<cublasLtMatmulAlgo_t> Neighbours(
      const std::vector<cublasLtMatmulAlgo_t>& named) const;
  bool Accepts(const cublasLtMatmulAlgo_t& candidate) const;
  pawl::Status Enqueue(const cublasLtMatmulAlgo_t& candidate, const MatmulArgs& args,
                       const MatmulWorkspace& workspace, CUstream_st* stream) const;
};

pawl::Result<std::vector<cublasLtMatmulAlgo_t>> CublasLtMatmul::Impl::Heuristics(int count) const {
  cublasLtMatmulPreference_t preference = nullptr;
  PAWL_TRY(FromCublas(cublasLtMatmulPreferenceCreate(&preference), "asking for algorithms"));
  std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(count));
  int found = 0;
  cublasStatus_t code =
      cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                           &workspace_bytes, sizeof(workspace_bytes));
  if (code == CUBLAS_STATUS_SUCCESS) {
    code = cublasLtMatmulAlgoGetHeuristic(handle, operation.get(), b.get(), a.get(), d.get(),
                                          d.get(), preference, count, results.data(), &found);
  }
  cublasLtMatmulPreferenceDestroy(preference);
  PAWL_TRY(FromCublas(code, "no algorithm for " + spec.Key()));
  std::vector<cublasLtMatmulAlgo_t> algorithms;
  for (int i = 0; i < found; ++i) {
    const auto& result = results[static_cast<std::size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS) algorithms.push_back(result.algo);
  }
  if (algorithms.empty()) {
    return pawl::MakeError(Code::kUnsupported, "cuBLASLt has no algorithm for " + spec.Key());
  }
  return algorithms;
}

bool CublasLtMatmul::Impl::Accepts(const cublasLtMatmulAlgo_t& candidate) const {
  cublasLtMatmulHeuristicResult_t result{};
  return cublasLtMatmulAlgoCheck(handle, operation.get(), b.get(), a.get(), d.get(), d.get(),
                                 &candidate, &result) == CUBLAS_STATUS_SUCCESS &&
         result.workspaceSize <= workspace_bytes;
}

std::vector<cublasLtMatmulAlgo_t> CublasLtMatmul::Impl::Neighbours(
    const std::vector<cublasLtMatmulAlgo_t>& named) const {
  std::vector<cublasLtMatmulAlgo_t> found;
  std::set<AlgorithmConfig> seen;
  const auto consider = [&](const cublasLtMatmulAlgo_t& origin, const AlgorithmConfig& config) {
    if (!seen.insert(config).second) return;
    cublasLtMatmulAlgo_t candidate = origin;
    VisitConfig(config, [&](cublasLtMatmulAlgoConfigAttributes_t attribute, const auto& field) {
      // What an algorithm cannot be told is caught by the check below.
      cublasLtMatmulAlgoConfigSetAttribute(&candidate, attribute, &field, sizeof(field));
    });
    if (Accepts(candidate)) found.push_back(candidate);
  };
  for (const cublasLtMatmulAlgo_t& origin : named) {
    const AlgorithmConfig base = ReadConfig(origin);
    for (const std::uint32_t tile : Capability<std::uint32_t>(origin, CUBLASLT_ALGO_CAP_TILE_IDS)) {
      for (const std::uint16_t cluster : kClusters) {
        for (const std::uint32_t swizzle : {0U, 1U}) {
          AlgorithmConfig config = base;
          config.tile = tile;
          config.cluster = cluster;
          config.swizzle = swizzle;
          consider(origin, config);
        }
      }
    }
  }
  return found;
}

pawl::Status CublasLtMatmul::Impl::Enqueue(const cublasLtMatmulAlgo_t& candidate,
                                           const MatmulArgs& args, const MatmulWorkspace& workspace,
                                           CUstream_st* stream) const {
  const float alpha = 1.0F;
  const float beta = spec.add_c ? 1.0F : 0.0F;
  const void* const c = spec.add_c ? args.c : args.d;
  return FromCublas(cublasLtMatmul(handle, operation.get(), &alpha, args.b, b.get(), args.a,
                                   a.get(), &beta, c, d.get(), args.d, d.get(), &candidate,
                                   workspace.data, workspace.size_bytes, stream),
                    "product " + spec.Key());
}

CublasLtMatmul::CublasLtMatmul(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
CublasLtMatmul::~CublasLtMatmul() = default;
CublasLtMatmul::CublasLtMatmul(CublasLtMatmul&&) noexcept = default;
CublasLtMatmul& CublasLtMatmul::operator=(CublasLtMatmul&&) noexcept = default;

pawl::Result<CublasLtMatmul> CublasLtMatmul::Create(const CublasLtHandle& handle,
                                                    const MatmulSpec& spec,
                                                    std::size_t workspace_bytes) {
  if (spec.rows < 1 || spec.cols < 1 || spec.inner < 1) {
    return pawl::MakeError(Code::kInvalidArgument, "product " + spec.Key() + " has an empty side");
  }
  auto impl = std::make_unique<Impl>();
  impl->handle = handle.get();
  impl->spec = spec;
  impl->workspace_bytes = workspace_bytes;
  PAWL_ASSIGN(impl->operation, MakeOperation(spec));
  const bool a_plain = spec.a == Operand::kPlain;
  const bool b_plain = spec.b == Operand::kPlain;
  PAWL_ASSIGN(impl->a, MakeLayout(CUDA_R_16BF, a_plain ? spec.rows : spec.inner,
                                  a_plain ? spec.inner : spec.rows));
  PAWL_ASSIGN(impl->b, MakeLayout(CUDA_R_16BF, b_plain ? spec.inner : spec.cols,
                                  b_plain ? spec.cols : spec.inner));
  PAWL_ASSIGN(impl->d, MakeLayout(spec.output == MatmulOutput::kFp32 ? CUDA_R_32F : CUDA_R_16BF,
                                  spec.rows, spec.cols));
  PAWL_ASSIGN(const auto algorithms, impl->Heuristics(1));
  impl->algorithm = algorithms.front();
  return CublasLtMatmul(std::move(impl));
}

pawl::Status CublasLtMatmul::Run(const MatmulArgs& args, const MatmulWorkspace& workspace,
                                 CUstream_st* stream) const {
  return impl_->Enqueue(impl_->algorithm, args, workspace, stream);
}

pawl::Result<MatmulTuning> CublasLtMatmul::Tune(const MatmulArgs& args,
                                                const MatmulWorkspace& workspace,
                                                MatmulSearch search, CUstream_st* stream) {
  PAWL_ASSIGN(std::vector<cublasLtMatmulAlgo_t> candidates,
              impl_->Heuristics(kHeuristicCandidates));
  if (search == MatmulSearch::kNeighbours) {
    const auto neighbours = impl_->Neighbours(candidates);
    candidates.insert(candidates.end(), neighbours.begin(), neighbours.end());
  }
  PAWL_ASSIGN(const DeviceTimer timer, DeviceTimer::Create(stream));
  const auto time_ms = [&](const cublasLtMatmulAlgo_t& candidate,
                           int repeats) -> pawl::Result<double> {
    PAWL_ASSIGN(const auto samples,
                timer.Sample([&] { return impl_->Enqueue(candidate, args, workspace, stream); }, 0,
                             repeats));
    return Median(samples);
  };
  PAWL_TRY(impl_->Enqueue(candidates.front(), args, workspace, stream));

  // A quick round over all, which drops the clearly slow after one run.
  constexpr double kHopeless = 1.3;
  std::vector<std::pair<double, std::size_t>> ranking;
  double best_ms = 1e30;
  for (std::size_t i = 1; i < candidates.size(); ++i) {
    auto once_ms = time_ms(candidates[i], 1);
    if (!once_ms.ok()) continue;  // accepted by the check and refused by the kernel: not usable
    if (*once_ms > kHopeless * best_ms) continue;
    PAWL_ASSIGN(const double quick_ms, time_ms(candidates[i], 3));
    ranking.emplace_back(quick_ms, i);
    best_ms = std::min(best_ms, quick_ms);
  }
  std::sort(ranking.begin(), ranking.end());

  // Then the best few and the library's first choice in turns: the chip slows down as it warms up,
  // and turns share that evenly.
  constexpr std::size_t kFinalists = 6;
  constexpr int kRounds = 12;
  std::vector<std::size_t> finalists{0};
  for (std::size_t i = 0; i < ranking.size() && i < kFinalists; ++i) {
    finalists.push_back(ranking[i].second);
  }
  std::vector<std::vector<double>> samples_ms(finalists.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < finalists.size(); ++i) {
      PAWL_ASSIGN(const double sample_ms, time_ms(candidates[finalists[i]], 1));
      samples_ms[i].push_back(sample_ms);
    }
  }
  MatmulTuning tuning{search, static_cast<int>(candidates.size()), 0, 1e30};
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    std::sort(samples_ms[i].begin(), samples_ms[i].end());
    const double median_ms = Median(samples_ms[i]);
    if (i == 0) tuning.first_ms = median_ms;
    if (median_ms >= tuning.best_ms) continue;
    tuning.best_ms = median_ms;
    impl_->algorithm = candidates[finalists[i]];
  }
  return tuning;
}

std::string CublasLtMatmul::SaveAlgorithm() const {
  constexpr char kDigits[] = "0123456789abcdef";
  std::array<unsigned char, sizeof(cublasLtMatmulAlgo_t)> bytes{};
  std::memcpy(bytes.data(), &impl_->algorithm, bytes.size());
  std::string text;
  for (const unsigned char byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

pawl::Status CublasLtMatmul::RestoreAlgorithm(std::string_view text) {
  const auto refuse = [&](std::string_view why) {
    return pawl::MakeError(Code::kInvalidArgument,
                           "stored algorithm for " + impl_->spec.Key() + " " + std::string(why),
                           "tune again: algorithms are valid for one device and library version");
  };
  std::array<unsigned char, sizeof(cublasLtMatmulAlgo_t)> bytes{};
  if (text.size() != 2 * bytes.size()) return refuse("has the wrong length");
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return refuse("is not hexadecimal");
    bytes[i / 2] = static_cast<unsigned char>(bytes[i / 2] * 16 + digit);
  }
  cublasLtMatmulAlgo_t algorithm{};
  std::memcpy(&algorithm, bytes.data(), bytes.size());
  if (!impl_->Accepts(algorithm)) return refuse("is refused by the library");
  impl_->algorithm = algorithm;
  return pawl::OkStatus();
}

const MatmulSpec& CublasLtMatmul::spec() const {
  return impl_->spec;
}

std::string CublasLtMatmul::Describe() const {
  const AlgorithmConfig config = ReadConfig(impl_->algorithm);
  return "algo " + std::to_string(config.id) + " tile " + std::to_string(config.tile) + " stages " +
         std::to_string(config.stages) + " cluster " + std::to_string(config.cluster) + " split " +
         std::to_string(config.split) + " swizzle " + std::to_string(config.swizzle);
}

}  // namespace lab::cuda
