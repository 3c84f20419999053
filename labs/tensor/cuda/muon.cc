#include "tensor/cuda/muon.h"

#include <algorithm>
#include <utility>

#include "tensor/cuda/device_data.h"

namespace lab::cuda {
namespace {

constexpr std::size_t kAlignment = 256;

std::size_t Bf16Bytes(std::int64_t count, std::int64_t rows, std::int64_t cols) {
  return static_cast<std::size_t>(count * rows * cols) * 2;
}

struct Specs {
  MatmulSpec gram, square, apply;
};

Specs MakeSpecs(const MuonShape& shape) {
  const std::int64_t side = std::min(shape.rows, shape.cols);
  Specs s;
  s.gram.batch = s.square.batch = s.apply.batch = shape.count;
  s.gram.rows = s.gram.cols = side;
  s.gram.inner = std::max(shape.rows, shape.cols);
  s.square.rows = s.square.cols = s.square.inner = side;
  s.apply.rows = shape.rows, s.apply.cols = shape.cols, s.apply.inner = side;
  s.square.add_c = s.apply.add_c = true;
  if (shape.rows <= shape.cols) {
    s.gram.b = Operand::kTransposed;
  } else {
    s.gram.a = Operand::kTransposed;
  }
  return s;
}

void* At(void* base, std::size_t offset) {
  return static_cast<std::byte*>(base) + offset;
}

}  // namespace

Muon::Layout Muon::MakeLayout(const MuonShape& shape) {
  Layout layout;
  const auto place = [&](std::size_t& offset, std::size_t size_bytes) {
    offset = layout.size_bytes;
    layout.size_bytes += (size_bytes + kAlignment - 1) / kAlignment * kAlignment;
  };
  const std::int64_t side = std::min(shape.rows, shape.cols);
  place(layout.x, Bf16Bytes(shape.count, shape.rows, shape.cols));
  place(layout.other, Bf16Bytes(shape.count, shape.rows, shape.cols));
  place(layout.a, Bf16Bytes(shape.count, side, side));
  place(layout.b, Bf16Bytes(shape.count, side, side));
  place(layout.squares, MuonSquaresBytes(shape));
  place(layout.lines, MuonLineScratchBytes(shape));
  place(layout.factors, static_cast<std::size_t>(shape.count * shape.lines()) * sizeof(float));
  place(layout.products, kMatmulWorkspaceBytes);
  return layout;
}

Muon::Muon(const MuonShape& shape, CublasLtMatmul gram, CublasLtMatmul square, CublasLtMatmul apply)
    : shape_(shape),
      layout_(MakeLayout(shape)),
      gram_(std::move(gram)),
      square_(std::move(square)),
      apply_(std::move(apply)) {}

pawl::Result<Muon> Muon::Create(const CublasLtHandle& handle, const MuonShape& shape) {
  if (shape.count < 1 || shape.rows < 1 || shape.cols < 8 || shape.cols % 8 != 0) {
    return pawl::MakeError(pawl::Code::kInvalidArgument,
                           "Muon over " + std::to_string(shape.count) + " matrices of " +
                               std::to_string(shape.rows) + " x " + std::to_string(shape.cols) +
                               ": the columns must be a multiple of 8");
  }
  const Specs specs = MakeSpecs(shape);
  PAWL_ASSIGN(CublasLtMatmul gram, CublasLtMatmul::Create(handle, specs.gram));
  PAWL_ASSIGN(CublasLtMatmul square, CublasLtMatmul::Create(handle, specs.square));
  PAWL_ASSIGN(CublasLtMatmul apply, CublasLtMatmul::Create(handle, specs.apply));
  return Muon(shape, std::move(gram), std::move(square), std::move(apply));
}

pawl::Status Muon::Tune(void* scratch, CUstream_st* stream) {
  void* const x = At(scratch, layout_.x);
  void* const a = At(scratch, layout_.a);
  PAWL_TRY(FillUniformBf16(x, shape_.count * shape_.elements(), 0.1F, 1, stream));
  const MatmulWorkspace workspace{At(scratch, layout_.products), kMatmulWorkspaceBytes};
  const auto tune = [&](CublasLtMatmul& product, const MatmulArgs& args) -> pawl::Status {
    PAWL_TRY(product.Tune(args, workspace, MatmulSearch::kHeuristics, stream));
    return pawl::OkStatus();
  };
  PAWL_TRY(tune(gram_, {x, x, nullptr, a}));
  PAWL_TRY(tune(square_, {a, a, a, At(scratch, layout_.b)}));
  const bool wide = shape_.rows <= shape_.cols;
  return tune(apply_, {wide ? a : x, wide ? x : a, x, At(scratch, layout_.other)});
}

pawl::Result<void*> Muon::Orthogonalise(void* x, void* other, void* scratch,
                                        CUstream_st* stream) const {
  void* const a = At(scratch, layout_.a);
  void* const b = At(scratch, layout_.b);
  const MatmulWorkspace workspace{At(scratch, layout_.products), kMatmulWorkspaceBytes};
  const bool wide = shape_.rows <= shape_.cols;
  for (const PolarCoefficients& p : kPolarExpress) {
    PAWL_TRY(gram_.Run({x, x, nullptr, a}, workspace, stream));
    PAWL_TRY(square_.Run({a, a, a, b, p.c, p.b}, workspace, stream));
    PAWL_TRY(apply_.Run({wide ? b : x, wide ? x : b, x, other, 1.0F, p.a}, workspace, stream));
    std::swap(x, other);
  }
  return x;
}

pawl::Status Muon::Step(const MuonArgs& args, void* scratch, CUstream_st* stream) const {
  void* const first = At(scratch, layout_.x);
  auto* const squares = static_cast<float*>(At(scratch, layout_.squares));
  auto* const factors = static_cast<float*>(At(scratch, layout_.factors));
  PAWL_TRY(MuonMomentum(args.gradient, args.moment, first, squares, args.step, shape_, stream));
  PAWL_TRY(MuonNormalise(first, squares, shape_, stream));
  PAWL_ASSIGN(const void* x, Orthogonalise(first, At(scratch, layout_.other), scratch, stream));
  PAWL_TRY(MuonLineFactors(x, args.second_moment, factors, At(scratch, layout_.lines), args.step,
                           shape_, stream));
  return MuonUpdate(x, factors, args.parameter, args.bf16_copy, args.step, shape_, stream);
}

double Muon::flops() const {
  return static_cast<double>(kPolarExpress.size()) *
         (gram_.spec().flops() + square_.spec().flops() + apply_.spec().flops());
}

}  // namespace lab::cuda
