"""pytorch_baseline.py RECORD.json: the GPT lab's matrix products and attention through PyTorch.

Writes rows of the names that cublaslt_matmul_bench and cudnn_attention_bench use, so that the two
can be read side by side.
"""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

TOKENS = 262144


def sample_ms(work):
    start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    work()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop)


def measure(work):
    """Settled and sustained medians, as the C++ benches take them."""
    torch.cuda.synchronize()
    time.sleep(0.2)
    for _ in range(5):
        work()
    settled = statistics.median(sample_ms(work) for _ in range(20))
    for _ in range(min(5000, max(20, int(400 / settled)))):
        work()
    return settled, statistics.median(sample_ms(work) for _ in range(20))


def random(*shape):
    # Drawn in fp32: a bf16 draw has few significant bits, which costs less power and so runs faster.
    return (torch.rand(*shape, device="cuda") * 2 - 1).bfloat16()


def matmul_rows():
    layers = {"qkv": (1536, 512), "attention out": (512, 512), "mlp up": (2048, 512),
              "mlp down": (512, 2048), "head": (8192, 512)}
    for layer, (out, inner) in layers.items():
        x, w, dy = random(TOKENS, inner), random(out, inner), random(TOKENS, out)
        y, dx, dw = torch.empty_like(dy), torch.empty_like(x), torch.empty_like(w)
        flops = 2 * TOKENS * out * inner
        yield f"{layer} forward", measure(lambda: torch.mm(x, w.t(), out=y)), flops
        yield f"{layer} dgrad", measure(lambda: torch.mm(dy, w, out=dx)), flops
        yield f"{layer} wgrad bf16", measure(lambda: torch.mm(dy.t(), x, out=dw)), flops


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

        yield "forward full", measure(forward), flops
        yield "backward full", measure(backward), flops * 5 // 2


def main():
    rows = [{"name": name, "median_ms": settled, "sustained_ms": sustained,
             "tflops": flops / settled * 1e-9}
            for source in (matmul_rows(), attention_rows())
            for name, (settled, sustained), flops in source]
    record = {"bench": "pytorch_baseline", "command": " ".join(sys.argv),
              "machine": {"gpu": torch.cuda.get_device_name(), "cuda_runtime": torch.version.cuda},
              "libraries": {"torch": torch.__version__,
                            "cudnn": str(torch.backends.cudnn.version())},
              "rows": rows}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(record, file, indent=2)
    for row in rows:
        print(f"{row['name']:28} {row['median_ms']:7.3f} ms {row['sustained_ms']:7.3f} sustained"
              f" {row['tflops']:5.0f} TFLOP/s")


main()
