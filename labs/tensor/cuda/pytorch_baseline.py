"""pytorch_baseline.py RECORD.json: the GPT lab's matrix products and attention through PyTorch.

Writes rows of the names that cublaslt_matmul_bench and cudnn_attention_bench use, so that the two
can be read side by side. Median of 20 after 5 warm-ups, CUDA events, random data.
"""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

TOKENS = 262144


def median_ms(work):
    torch.cuda.synchronize()
    time.sleep(0.2)  # as the C++ benches do: a chip at its power limit slows down
    for _ in range(5):
        work()
    samples = []
    for _ in range(20):
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        work()
        stop.record()
        stop.synchronize()
        samples.append(start.elapsed_time(stop))
    return statistics.median(samples)


def random(*shape):
    return torch.rand(*shape, device="cuda", dtype=torch.bfloat16) * 2 - 1


def matmul_rows():
    layers = {"qkv": (1536, 512), "attention out": (512, 512), "mlp up": (2048, 512),
              "mlp down": (512, 2048), "head": (8192, 512)}
    for layer, (out, inner) in layers.items():
        x, w, dy = random(TOKENS, inner), random(out, inner), random(TOKENS, out)
        y, dx, dw = torch.empty_like(dy), torch.empty_like(x), torch.empty_like(w)
        flops = 2 * TOKENS * out * inner
        yield f"{layer} forward", median_ms(lambda: torch.mm(x, w.t(), out=y)), flops
        yield f"{layer} dgrad", median_ms(lambda: torch.mm(dy, w, out=dx)), flops
        yield f"{layer} wgrad bf16", median_ms(lambda: torch.mm(dy.t(), x, out=dw)), flops


def attention_rows():
    batch, heads, tokens, dim = 128, 4, 2048, 128
    q, k, v = (random(batch, tokens, heads, dim).transpose(1, 2).requires_grad_() for _ in range(3))
    d_out = random(batch, tokens, heads, dim).transpose(1, 2)
    flops = 2 * 2 * batch * heads * dim * (tokens * (tokens + 1) // 2)
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)

        def forward():
            with torch.no_grad():
                F.scaled_dot_product_attention(q, k, v, is_causal=True)

        def backward():
            torch.autograd.grad(out, (q, k, v), d_out, retain_graph=True)

        yield "forward full", median_ms(forward), flops
        yield "backward full", median_ms(backward), flops * 5 // 2


def main():
    rows = [{"name": name, "median_ms": ms, "tflops": flops / ms * 1e-9}
            for source in (matmul_rows(), attention_rows()) for name, ms, flops in source]
    record = {"bench": "pytorch_baseline", "command": " ".join(sys.argv),
              "machine": {"gpu": torch.cuda.get_device_name(), "cuda_runtime": torch.version.cuda},
              "libraries": {"torch": torch.__version__,
                            "cudnn": str(torch.backends.cudnn.version())},
              "rows": rows}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(record, file, indent=2)
    for row in rows:
        print(f"{row['name']:28} {row['median_ms']:7.3f} ms {row['tflops']:5.0f} TFLOP/s")


main()
