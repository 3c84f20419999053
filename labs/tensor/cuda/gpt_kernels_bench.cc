// gpt_kernels_bench RECORD.json: everything of the GPT lab's training step that is neither a
// product nor attention, at the default recipe's shapes (micro-batch of 262,144 tokens, width 512,
// 4 heads, vocabulary 8192). Tensors are 268 MB and more, far beyond the L2 cache, unless a row's
// note says otherwise.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"
#include "tensor/cuda/bench_record.h"
#include "tensor/cuda/column_sums.h"
#include "tensor/cuda/cross_entropy.h"
#include "tensor/cuda/cuda_status.h"
#include "tensor/cuda/device_data.h"
#include "tensor/cuda/device_memory.h"
#include "tensor/cuda/device_timer.h"
#include "tensor/cuda/embedding.h"
#include "tensor/cuda/gpt_bench_parts.h"
#include "tensor/cuda/qk_rope.h"
#include "tensor/cuda/rms_norm.h"

namespace lab::cuda {
namespace {

constexpr std::int64_t kTokens = 262144;
constexpr std::int64_t kRowTokens = 2048;
constexpr std::int64_t kWidth = 512;
constexpr std::int64_t kHeads = 4;
constexpr std::int64_t kVocab = 8192;
constexpr double kD = 2.0 * static_cast<double>(kTokens * kWidth);  // bytes of one tensor
constexpr double kTableBytes = 4.0 * static_cast<double>(kVocab * kWidth);

pawl::Result<DeviceMemory> RandomBf16(std::int64_t count, float amplitude, std::uint64_t seed) {
  PAWL_ASSIGN(DeviceMemory memory, DeviceMemory::Allocate(static_cast<std::size_t>(count) * 2));
  PAWL_TRY(FillUniformBf16(memory.data(), count, amplitude, seed, nullptr));
  return memory;
}

template <class T>
pawl::Result<DeviceMemory> Upload(const std::vector<T>& values) {
  PAWL_ASSIGN(DeviceMemory memory, DeviceMemory::Allocate(values.size() * sizeof(T)));
  PAWL_TRY(FromCuda(
      cudaMemcpy(memory.data(), values.data(), memory.size_bytes(), cudaMemcpyHostToDevice),
      "uploading"));
  return memory;
}

// Log-uniform ids: the most frequent token owns about 8 % of the batch.
std::vector<std::int32_t> TokenIds() {
  std::mt19937_64 engine(7);
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(kTokens));
  for (std::int32_t& id : ids) {
    id = static_cast<std::int32_t>(std::exp(unit(engine) * std::log(double{kVocab} + 1)) - 1);
    id = std::min(id, static_cast<std::int32_t>(kVocab) - 1);
  }
  return ids;
}

struct Tensors {
  DeviceMemory x, x0, u, d_x, d_x0;  // [tokens, width]
  DeviceMemory qkv, d_qkv;           // [tokens, 3 * width]
  DeviceMemory logits;               // [16384, vocab]
  DeviceMemory table, d_table, gate_weight, rope, scales, d_scales;
  DeviceMemory inverse_rms, gate, d_gate, loss, d_gate_weight, scratch;
  DeviceMemory ids, positions, offsets;
};
constexpr std::int64_t kLogitRows = 16384;

pawl::Result<Tensors> MakeTensors() {
  Tensors t;
  std::uint64_t seed = 1;
  for (auto* memory : {&t.x, &t.x0, &t.u, &t.d_x, &t.d_x0}) {
    PAWL_ASSIGN(*memory, RandomBf16(kTokens * kWidth, 1.7F, seed++));
  }
  PAWL_ASSIGN(t.qkv, RandomBf16(kTokens * 3 * kWidth, 1.7F, seed++));
  PAWL_ASSIGN(t.d_qkv, RandomBf16(kTokens * 3 * kWidth, 1.7F, seed++));
  PAWL_ASSIGN(t.logits, RandomBf16(kLogitRows * kVocab, 4.0F, seed++));
  PAWL_ASSIGN(t.table, RandomBf16(kVocab * kWidth, 1.7F, seed++));
  PAWL_ASSIGN(t.gate_weight, RandomBf16(kHeads * kGateColumns, 0.1F, seed++));
  PAWL_ASSIGN(t.rope, Upload(RopeTable(kRowTokens)));
  PAWL_ASSIGN(t.scales, Upload(std::vector<float>{1.0F, 0.1F}));
  PAWL_ASSIGN(t.d_scales, Upload(std::vector<float>{0, 0}));
  PAWL_ASSIGN(t.d_table, DeviceMemory::Allocate(kVocab * kWidth * 4));
  PAWL_ASSIGN(t.inverse_rms, DeviceMemory::Allocate(kTokens * 2 * kHeads * 4));
  PAWL_ASSIGN(t.gate, DeviceMemory::Allocate(kTokens * kHeads * 4));
  PAWL_ASSIGN(t.d_gate, DeviceMemory::Allocate(kTokens * kHeads * 4));
  PAWL_ASSIGN(t.loss, DeviceMemory::Allocate(kTokens * 4));
  PAWL_ASSIGN(t.d_gate_weight, DeviceMemory::Allocate(kHeads * kGateColumns * 4));
  PAWL_ASSIGN(t.scratch, DeviceMemory::Allocate(EmbeddingScratchBytes({kTokens, kWidth, kVocab})));
  const std::vector<std::int32_t> ids = TokenIds();
  PAWL_ASSIGN(const TokenOrder order, OrderTokens(ids, kVocab));
  PAWL_ASSIGN(t.ids, Upload(ids));
  PAWL_ASSIGN(t.positions, Upload(order.positions));
  PAWL_ASSIGN(t.offsets, Upload(order.offsets));
  return t;
}

class KernelBench {
 public:
  KernelBench(const DeviceTimer& timer, const Tensors& tensors, BenchRecord& record)
      : timer_(timer), t_(tensors), record_(record) {}

  pawl::Status Norms() {
    constexpr NormShape kShape{kTokens, kWidth};
    PAWL_TRY(Report("norm forward", 2 * kD, "",
                    [&] { return RmsNorm(t_.x.data(), t_.u.data(), kShape, nullptr); }));
    PAWL_TRY(Report("norm backward", 3 * kD, "no residual gradient: the head's norm", [&] {
      return RmsNormBackward(t_.x.data(), t_.u.data(), nullptr, t_.d_x.data(), kShape, nullptr);
    }));
    PAWL_TRY(Report("norm backward, residual", 4 * kD, "", [&] {
      return RmsNormBackward(t_.x.data(), t_.u.data(), t_.d_x0.data(), t_.d_x.data(), kShape,
                             nullptr);
    }));
    PAWL_TRY(Report("mix and norm forward", 4 * kD, "x in place", [&] {
      return MixNorm({t_.x.data(), t_.x0.data(), t_.scales.as<float>(), t_.scales.as<float>() + 1,
                      t_.d_x.data(), t_.u.data()},
                     kShape, nullptr);
    }));
    PAWL_TRY(Report("mix and norm backward", 7 * kD, "two sums for the scalars' gradients included",
                    [&] { return MixNormBackward(MixArgs(false), kShape, nullptr); }));
    return Report("mix and norm backward, gate", 7 * kD, "the same in a layer with a value gate",
                  [&] { return MixNormBackward(MixArgs(true), kShape, nullptr); });
  }

  pawl::Status Rope() {
    constexpr QkRopeShape kShape{kTokens, kRowTokens, kHeads};
    const ValueEmbedding values{t_.table.data(),    kVocab, t_.ids.as<std::int32_t>(),
                                t_.u.data(),        kWidth, t_.gate_weight.data(),
                                t_.gate.as<float>()};
    PAWL_TRY(Report("qk norm and rope forward", 4 * kD, "in place", [&] {
      return QkRope(t_.qkv.data(), t_.rope.data(), t_.inverse_rms.as<float>(), {}, kShape, nullptr);
    }));
    PAWL_TRY(
        Report("qk norm and rope forward, values", 6 * kD, "with the gated value embedding", [&] {
          return QkRope(t_.qkv.data(), t_.rope.data(), t_.inverse_rms.as<float>(), values, kShape,
                        nullptr);
        }));
    PAWL_TRY(Report("qk norm and rope backward", 6 * kD, "in place", [&] {
      return QkRopeBackward(t_.qkv.data(), t_.rope.data(), t_.inverse_rms.as<float>(),
                            t_.d_qkv.data(), kShape, nullptr);
    }));
    const double gate_bytes = static_cast<double>(kTokens) * (2.0 * kGateColumns + 4.0 * kHeads);
    return Report("value gate weight gradient", gate_bytes, "fits the L2 cache", [&] {
      return GateWeightGradient(t_.d_gate.as<float>(), t_.u.data(), kWidth, kTokens, kHeads, true,
                                t_.d_gate_weight.as<float>(), t_.scratch.data(), nullptr);
    });
  }

  pawl::Status Embeddings() {
    constexpr EmbeddingShape kShape{kTokens, kWidth, kVocab};
    PAWL_TRY(Report("embedding table norm", kTableBytes, "8192 rows, stays in the L2 cache", [&] {
      return RmsNorm(t_.table.data(), t_.u.data(), {kVocab, kWidth}, nullptr);
    }));
    PAWL_TRY(Report("embedding gather", kD, "the table stays in the L2 cache", [&] {
      return EmbeddingGather(t_.table.data(), t_.ids.as<std::int32_t>(), t_.x.data(), kShape,
                             nullptr);
    }));
    const EmbeddingGradientArgs dense{
        t_.d_x.data(),
        kWidth,
        {t_.ids.as<std::int32_t>(), t_.positions.as<std::int32_t>(), t_.offsets.as<std::int32_t>()},
        t_.d_table.as<float>(),
        true,
        t_.scratch.data()};
    PAWL_TRY(Report("embedding gradient", kD + 2 * kTableBytes, "added in fp32",
                    [&] { return EmbeddingGradient(dense, kShape, nullptr); }));
    EmbeddingGradientArgs packed = dense;
    packed.d_out = t_.d_qkv.as<std::uint16_t>() + 2 * kWidth;
    packed.d_out_pitch = 3 * kWidth;
    return Report("value embedding gradient", kD + 2 * kTableBytes,
                  "from packed rows, with the gate's gradient", [&] {
                    return ValueEmbeddingGradient(
                        {packed, t_.table.data(), t_.gate.as<float>(), t_.d_gate.as<float>()},
                        kShape, nullptr);
                  });
  }

  // The gradient's scale keeps repeated runs on values of the size of logits.
  pawl::Status Losses() {
    for (const std::int64_t rows : {std::int64_t{1024}, kLogitRows}) {
      const CrossEntropyShape shape{rows, kVocab, 15};
      const double bytes = 2.0 * static_cast<double>(rows * kVocab);
      const std::string note = rows == 1024 ? "16.8 MB, stays in the L2 cache" : "268 MB";
      PAWL_TRY(Report(pawl::Format("cross entropy, loss only, {} rows", rows), bytes, note, [&] {
        return CrossEntropyLoss(t_.logits.data(), t_.ids.as<std::int32_t>(), t_.loss.as<float>(),
                                shape, nullptr);
      }));
      PAWL_TRY(Report(pawl::Format("cross entropy, {} rows", rows), 2 * bytes, note, [&] {
        return CrossEntropy(t_.logits.data(), t_.ids.as<std::int32_t>(), t_.loss.as<float>(),
                            static_cast<float>(kVocab), shape, nullptr);
      }));
    }
    return Report("loss sum", 4.0 * kTokens, "one block; in the L2 cache", [&] {
      return ColumnSums(t_.loss.as<float>(), kTokens, 1, false, t_.d_scales.as<float>(), 1,
                        nullptr);
    });
  }

 private:
  MixNormBackwardArgs MixArgs(bool gated) const {
    MixNormBackwardArgs args;
    args.x_before = t_.x.data(), args.x0 = t_.x0.data();
    args.x_scale = t_.scales.as<float>(), args.x0_scale = t_.scales.as<float>() + 1;
    args.d_u = t_.u.data(), args.d_x = t_.d_x.data();
    if (gated) {
      args.d_gate = t_.d_gate.as<float>();
      args.gate_weight = t_.gate_weight.data();
      args.gate_heads = kHeads;
    }
    args.d_x_before = t_.d_qkv.data();  // apart from d_x, so that repeated runs do not grow it
    args.d_x0 = t_.d_x0.data(), args.add_to_d_x0 = true;
    args.d_x_scale = t_.d_scales.as<float>(), args.d_x0_scale = t_.d_scales.as<float>() + 1;
    args.add_to_d_scales = true;
    args.scratch = t_.scratch.data();
    return args;
  }

  pawl::Status Report(const std::string& name, double bytes, const std::string& note,
                      const DeviceWork& work) {
    PAWL_ASSIGN(const BenchTimes times, TimeWork(timer_, work));
    record_.Add({name, times, 0, bytes, {{"note", note}}});
    return pawl::OkStatus();
  }

  const DeviceTimer& timer_;
  const Tensors& t_;
  BenchRecord& record_;
};

pawl::Status Bench(const std::string& command, const std::string& path) {
  PAWL_ASSIGN(BenchRecord record, BenchRecord::Create("gpt_kernels", command, nullptr));
  PAWL_ASSIGN(const DeviceTimer timer, DeviceTimer::Create(nullptr));
  {
    PAWL_ASSIGN(const Tensors tensors, MakeTensors());
    KernelBench bench(timer, tensors, record);
    PAWL_TRY(bench.Norms());
    PAWL_TRY(bench.Rope());
    PAWL_TRY(bench.Embeddings());
    PAWL_TRY(bench.Losses());
  }
  PAWL_TRY(BenchHead(timer, record));
  PAWL_TRY(BenchOptimizers(timer, record));
  std::fputs(BenchTable(record.json()).c_str(), stdout);
  return record.Write(path);
}

}  // namespace
}  // namespace lab::cuda

int main(int argc, char** argv) {
  return lab::cuda::BenchMain(argc, argv, "gpt_kernels_bench", &lab::cuda::Bench);
}
