#include "tensor/cuda/cublaslt_matmul.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/device_timer.h"

namespace lab::cuda {
namespace {

using pawl::Code;

constexpr int kHeuristicCandidates = 32;
constexpr std::array<std::uint16_t, 7> kClusters{
    CUBLASLT_CLUSTER_SHAPE_1x1x1, CUBLASLT_CLUSTER_SHAPE_2x1x1, CUBLASLT_CLUSTER_SHAPE_1x2x1,
    CUBLASLT_CLUSTER_SHAPE_2x2x1, CUBLASLT_CLUSTER_SHAPE_4x1x1, CUBLASLT_CLUSTER_SHAPE_1x4x1,
    CUBLASLT_CLUSTER_SHAPE_8x1x1};
// Large tiles only: our products are large, and the library knows some six hundred tiles.
constexpr std::array<std::uint32_t, 34> kTiles{
    CUBLASLT_MATMUL_TILE_64x256,  CUBLASLT_MATMUL_TILE_256x64,  CUBLASLT_MATMUL_TILE_128x128,
    CUBLASLT_MATMUL_TILE_128x144, CUBLASLT_MATMUL_TILE_144x128, CUBLASLT_MATMUL_TILE_128x160,
    CUBLASLT_MATMUL_TILE_160x128, CUBLASLT_MATMUL_TILE_128x176, CUBLASLT_MATMUL_TILE_176x128,
    CUBLASLT_MATMUL_TILE_128x192, CUBLASLT_MATMUL_TILE_192x128, CUBLASLT_MATMUL_TILE_128x208,
    CUBLASLT_MATMUL_TILE_208x128, CUBLASLT_MATMUL_TILE_128x224, CUBLASLT_MATMUL_TILE_224x128,
    CUBLASLT_MATMUL_TILE_128x240, CUBLASLT_MATMUL_TILE_240x128, CUBLASLT_MATMUL_TILE_128x256,
    CUBLASLT_MATMUL_TILE_256x128, CUBLASLT_MATMUL_TILE_192x96,  CUBLASLT_MATMUL_TILE_96x192,
    CUBLASLT_MATMUL_TILE_192x160, CUBLASLT_MATMUL_TILE_160x192, CUBLASLT_MATMUL_TILE_192x192,
    CUBLASLT_MATMUL_TILE_256x96,  CUBLASLT_MATMUL_TILE_96x256,  CUBLASLT_MATMUL_TILE_256x144,
    CUBLASLT_MATMUL_TILE_144x256, CUBLASLT_MATMUL_TILE_256x160, CUBLASLT_MATMUL_TILE_160x256,
    CUBLASLT_MATMUL_TILE_256x176, CUBLASLT_MATMUL_TILE_176x256, CUBLASLT_MATMUL_TILE_256x192,
    CUBLASLT_MATMUL_TILE_192x256};

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
pawl::Result<Layout> MakeLayout(cudaDataType_t type, std::int64_t rows, std::int64_t cols,
                                std::int64_t batch) {
  cublasLtMatrixLayout_t layout = nullptr;
  PAWL_TRY(FromCublas(cublasLtMatrixLayoutCreate(&layout, type, static_cast<std::uint64_t>(cols),
                                                 static_cast<std::uint64_t>(rows), cols),
                      "describing a matrix"));
  Layout owner(layout);
  if (batch == 1) return owner;
  const auto batch_count = static_cast<std::int32_t>(batch);
  const std::int64_t stride = rows * cols;
  PAWL_TRY(FromCublas(cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
                                                       &batch_count, sizeof(batch_count)),
                      "describing a stack of matrices"));
  PAWL_TRY(
      FromCublas(cublasLtMatrixLayoutSetAttribute(
                     layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof(stride)),
                 "describing a stack of matrices"));
  return owner;
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

}  // namespace

LinearSpecs SpecsOfLinear(std::int64_t rows, std::int64_t out, std::int64_t in) {
  LinearSpecs specs;
  specs.forward.rows = rows, specs.forward.cols = out, specs.forward.inner = in;
  specs.forward.b = Operand::kTransposed;
  specs.input_gradient.rows = rows, specs.input_gradient.cols = in;
  specs.input_gradient.inner = out;
  specs.weight_gradient.rows = out, specs.weight_gradient.cols = in;
  specs.weight_gradient.inner = rows;
  specs.weight_gradient.a = Operand::kTransposed;
  return specs;
}

std::string MatmulSpec::Key() const {
  std::string key = std::to_string(rows) + "x" + std::to_string(cols) + "x" + std::to_string(inner);
  key += a == Operand::kTransposed ? " t" : " n";
  key += b == Operand::kTransposed ? "t" : "n";
  key += output == MatmulOutput::kFp32 ? " fp32" : " bf16";
  if (add_c) key += " +c";
  if (epilogue == MatmulEpilogue::kRelu) key += " relu";
  if (sm_count > 0) key += " sm" + std::to_string(sm_count);
  if (batch > 1) key += " batch" + std::to_string(batch);
  return key;
}

double MatmulSpec::flops() const {
  return 2.0 * static_cast<double>(batch) * static_cast<double>(rows) * static_cast<double>(cols) *
         static_cast<double>(inner);
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
  // `origin` with that configuration, if the library takes it.
  std::optional<cublasLtMatmulAlgo_t> Varied(const cublasLtMatmulAlgo_t& origin,
                                             const AlgorithmConfig& config) const;
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

std::optional<cublasLtMatmulAlgo_t> CublasLtMatmul::Impl::Varied(
    const cublasLtMatmulAlgo_t& origin, const AlgorithmConfig& config) const {
  cublasLtMatmulAlgo_t candidate = origin;
  VisitConfig(config, [&](cublasLtMatmulAlgoConfigAttributes_t attribute, const auto& field) {
    // What an algorithm cannot be told is caught by the check below.
    cublasLtMatmulAlgoConfigSetAttribute(&candidate, attribute, &field, sizeof(field));
  });
  if (!Accepts(candidate)) return std::nullopt;
  return candidate;
}

pawl::Status CublasLtMatmul::Impl::Enqueue(const cublasLtMatmulAlgo_t& candidate,
                                           const MatmulArgs& args, const MatmulWorkspace& workspace,
                                           CUstream_st* stream) const {
  const float alpha = args.alpha;
  const float beta = spec.add_c ? args.beta : 0.0F;
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
  if (spec.rows < 1 || spec.cols < 1 || spec.inner < 1 || spec.batch < 1) {
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
                                  a_plain ? spec.inner : spec.rows, spec.batch));
  PAWL_ASSIGN(impl->b, MakeLayout(CUDA_R_16BF, b_plain ? spec.inner : spec.cols,
                                  b_plain ? spec.cols : spec.inner, spec.batch));
  PAWL_ASSIGN(impl->d, MakeLayout(spec.output == MatmulOutput::kFp32 ? CUDA_R_32F : CUDA_R_16BF,
                                  spec.rows, spec.cols, spec.batch));
  PAWL_ASSIGN(const auto algorithms, impl->Heuristics(1));
  impl->algorithm = algorithms.front();
  return CublasLtMatmul(std::move(impl));
}

pawl::Status CublasLtMatmul::Run(const MatmulArgs& args, const MatmulWorkspace& workspace,
                                 CUstream_st* stream) const {
  return impl_->Enqueue(impl_->algorithm, args, workspace, stream);
}

// Times candidates and keeps them ranked.
class CublasLtMatmul::Search {
 public:
  Search(const Impl& impl, const DeviceTimer& timer, const MatmulArgs& args,
         const MatmulWorkspace& workspace, CUstream_st* stream)
      : impl_(impl), timer_(timer), args_(args), workspace_(workspace), stream_(stream) {}

  // A quick time; dropped after one run when clearly slow.
  pawl::Status Try(const cublasLtMatmulAlgo_t& candidate) {
    constexpr double kHopeless = 1.3;
    if (!seen_.insert(ReadConfig(candidate)).second) return pawl::OkStatus();
    auto once_ms = TimeMs(candidate, 1);
    // Accepted by the library's check and refused by its kernel: not usable.
    if (!once_ms.ok()) return pawl::OkStatus();
    if (!ranking_.empty() && *once_ms > kHopeless * ranking_.front().quick_ms) {
      return pawl::OkStatus();
    }
    PAWL_ASSIGN(const double quick_ms, TimeMs(candidate, 3));
    const auto slower = [](double ms, const Ranked& ranked) { return ms < ranked.quick_ms; };
    ranking_.insert(std::upper_bound(ranking_.begin(), ranking_.end(), quick_ms, slower),
                    {quick_ms, candidate});
    return pawl::OkStatus();
  }

  // Other tiles for the best few, then other clusters and orders for the best few of all.
  pawl::Status TryNeighbours() {
    for (const cublasLtMatmulAlgo_t& origin : Best(3)) {
      for (const std::uint32_t tile : kTiles) {
        AlgorithmConfig config = ReadConfig(origin);
        config.tile = tile;
        PAWL_TRY(TryVaried(origin, config));
      }
    }
    for (const cublasLtMatmulAlgo_t& origin : Best(6)) {
      for (const std::uint16_t cluster : kClusters) {
        for (const std::uint32_t swizzle : {0U, 1U}) {
          AlgorithmConfig config = ReadConfig(origin);
          config.cluster = cluster;
          config.swizzle = swizzle;
          PAWL_TRY(TryVaried(origin, config));
        }
      }
    }
    return pawl::OkStatus();
  }

  // The median of each in turns: the chip slows down as it warms up, and turns share that evenly.
  pawl::Result<std::vector<double>> TakeTurns(
      const std::vector<cublasLtMatmulAlgo_t>& finalists) const {
    constexpr int kRounds = 12;
    std::vector<std::vector<double>> samples_ms(finalists.size());
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < finalists.size(); ++i) {
        PAWL_ASSIGN(const double sample_ms, TimeMs(finalists[i], 1));
        samples_ms[i].push_back(sample_ms);
      }
    }
    std::vector<double> medians_ms;
    for (auto& samples : samples_ms) {
      std::sort(samples.begin(), samples.end());
      medians_ms.push_back(Median(samples));
    }
    return medians_ms;
  }

  std::vector<cublasLtMatmulAlgo_t> Best(std::size_t count) const {
    std::vector<cublasLtMatmulAlgo_t> best;
    for (const Ranked& ranked : ranking_) {
      if (best.size() < count) best.push_back(ranked.algorithm);
    }
    return best;
  }
  int tried() const { return static_cast<int>(seen_.size()); }

 private:
  struct Ranked {
    double quick_ms = 0;
    cublasLtMatmulAlgo_t algorithm;
  };

  pawl::Status TryVaried(const cublasLtMatmulAlgo_t& origin, const AlgorithmConfig& config) {
    const auto candidate = impl_.Varied(origin, config);
    return candidate ? Try(*candidate) : pawl::OkStatus();
  }

  pawl::Result<double> TimeMs(const cublasLtMatmulAlgo_t& candidate, int repeats) const {
    PAWL_ASSIGN(const auto samples,
                timer_.Sample([&] { return impl_.Enqueue(candidate, args_, workspace_, stream_); },
                              0, repeats));
    return Median(samples);
  }

  const Impl& impl_;
  const DeviceTimer& timer_;
  const MatmulArgs& args_;
  const MatmulWorkspace& workspace_;
  CUstream_st* stream_;
  std::set<AlgorithmConfig> seen_;
  std::vector<Ranked> ranking_;  // fastest first
};

pawl::Result<MatmulTuning> CublasLtMatmul::Tune(const MatmulArgs& args,
                                                const MatmulWorkspace& workspace,
                                                MatmulSearch search, CUstream_st* stream) {
  constexpr std::size_t kFinalists = 6;
  PAWL_ASSIGN(const auto guesses, impl_->Heuristics(kHeuristicCandidates));
  PAWL_ASSIGN(const DeviceTimer timer, DeviceTimer::Create(stream));
  PAWL_TRY(impl_->Enqueue(guesses.front(), args, workspace, stream));  // loads the kernel
  Search candidates(*impl_, timer, args, workspace, stream);
  for (const cublasLtMatmulAlgo_t& guess : guesses) PAWL_TRY(candidates.Try(guess));
  if (search == MatmulSearch::kNeighbours) PAWL_TRY(candidates.TryNeighbours());

  std::vector<cublasLtMatmulAlgo_t> finalists = candidates.Best(kFinalists);
  finalists.insert(finalists.begin(), guesses.front());
  PAWL_ASSIGN(const auto medians_ms, candidates.TakeTurns(finalists));
  const auto best = std::min_element(medians_ms.begin(), medians_ms.end());
  impl_->algorithm = finalists[static_cast<std::size_t>(best - medians_ms.begin())];
  return MatmulTuning{search, candidates.tried(), medians_ms.front(), *best};
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
