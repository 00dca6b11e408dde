"""What PyTorch makes of the rows of `device_bench --suite kernels`: eager and torch.compile.

device_bench --peers python3 starts this with --measure. It reads names of rows, one a line, and answers
each with a line of JSON: microseconds of a call under "eager", "compile" and "copy" (a copy of as many
bytes, to compare with device_bench's own), or "problem". With --prepare it only compiles, so that a
later run finds everything in PyTorch's caches on disk.

A time is the median over replays, taken in turns, of a CUDA graph whose calls walk through inputs
and results that together exceed twice the L2 cache.
"""

import collections
import json
import re
import statistics
import sys

import torch
import torch.nn.functional as F

GPU = "cuda"
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
BF16 = torch.bfloat16


def normal(*sizes, dtype=BF16):
    return torch.randn(sizes, device=GPU, dtype=torch.float32).to(dtype)


def offsets(lengths, dtype=torch.int32):
    return torch.tensor(lengths, device=GPU).cumsum(0).to(dtype)


def random_lengths(count, total):
    cuts = torch.randint(total, (count - 1,)).sort().values
    bounds = torch.cat([torch.tensor([0]), cuts, torch.tensor([total])])
    return (bounds[1:] - bounds[:-1]).tolist()


def segment_of(lengths):
    numbers = torch.arange(len(lengths), device=GPU)
    return numbers.repeat_interleave(torch.tensor(lengths, device=GPU))


def kl_div(log_input, target):
    t = target.float()
    return torch.where(t > 0, t * (t.log() - log_input.float()), 0).sum(1)


def jsd(log_p, log_q):
    lp, lq = log_p.float(), log_q.float()
    p, q = lp.exp(), lq.exp()
    middle = ((p + q) / 2).log()
    return (p * (lp - middle) + q * (lq - middle)).sum(1) / 2


def rope(x, cos, sin):
    a, b = x.float().chunk(2, -1)
    c, s = cos[:, None], sin[:, None]
    return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)


def rms_backward(dy, x, weight, rstd):
    grad, hat = dy.float(), x.float() * rstd[:, None]
    scaled = grad * weight.float()
    b = (scaled * hat).mean(1, keepdim=True)
    return ((scaled - hat * b) * rstd[:, None]).to(x.dtype), (grad * hat).sum(0)


def layer_backward(dy, x, weight, mean, rstd):
    n = [x.shape[1]]
    return torch.ops.aten.native_layer_norm_backward(
        dy, x, n, mean[:, None], rstd[:, None], weight, weight, [True, True, True])


def two_pass_softmax(x):
    return F.softmax(x, 1)


def int4_matmul(x, weights, scales):
    signed = weights.view(torch.int8)
    low, high = (signed << 4) >> 4, signed >> 4
    return ((x @ torch.cat([low, high]).to(x.dtype)) * scales).to(x.dtype)


def fp8_matmul(a, b, rows, cols):
    return torch._scaled_mm(a, b, scale_a=rows, scale_b=cols, out_dtype=BF16)


def jagged_softmax(x, segment, count):
    index = segment[:, None].expand_as(x)
    top = x.new_zeros(count, x.shape[1]).scatter_reduce(0, index, x, "amax", include_self=False)
    e = (x - top[segment]).exp()
    return e / x.new_zeros(count, x.shape[1]).index_add(0, segment, e)[segment]


def chunk_scan(cb, x, dt, decay, c, states, d):
    length = cb.shape[1]
    fade = (decay[..., :, None] - decay[..., None, :]).exp() * dt[..., None, :]
    weight = (cb[:, None].float() * fade).tril().to(x.dtype)  # chunk, head, row, past
    by_head = x.transpose(1, 2)  # chunk, head, row, feature
    before = (c[:, None].float() * decay[..., None].exp()).to(x.dtype)
    y = weight @ by_head + before @ states.transpose(-1, -2) + by_head * d[:, None, None].to(x.dtype)
    return y.transpose(1, 2)[:, :length].contiguous()


def moe(lengths):
    bounds = [0, *torch.tensor(lengths).cumsum(0).tolist()]

    def run(x, experts, tokens, weights):
        y = x.new_zeros(x.shape[0], experts.shape[2], dtype=torch.float32)
        for e in range(len(lengths)):
            part = slice(bounds[e], bounds[e + 1])
            product = x[tokens[part]] @ experts[e]
            y.index_add_(0, tokens[part], product.float() * weights[part, None])
        return y

    return run


def row_of(name):
    """A function, and what makes its arguments, for the row of that name."""
    kind, *words = name.split()
    dtype = next((DTYPES[word] for word in words if word in DTYPES), BF16)
    size = [int(number) for number in re.findall(r"\d+", " ".join(w for w in words if w not in DTYPES))]
    if "^" in name:
        size = [size[0] ** size[1]]

    def x():
        return normal(*size, dtype=dtype)

    def vector(dtype=BF16, n=None):
        return normal(n or size[-1], dtype=dtype)

    groups = [17, 500, 1000, 2000, 3900, 64, 300, 411]
    rows = {
        "add": lambda: (torch.add, lambda: (x(), x())),
        "saxpy": lambda: (lambda a, b: b.add_(a, alpha=1.0), lambda: (x(), x())),
        "dropout": lambda: (lambda a: F.dropout(a, 0.25, True), lambda: (x(),)),
        "geglu": lambda: (lambda a, b: F.gelu(a, approximate="tanh") * b, lambda: (x(), x())),
        "swiglu": lambda: (lambda a, b: F.silu(a) * b, lambda: (x(), x())),
        "rope": lambda: (rope, lambda: (
            x(), normal(size[0], size[2] // 2, dtype=torch.float32),
            normal(size[0], size[2] // 2, dtype=torch.float32))),
        "transpose": lambda: (lambda a: a.t().contiguous(), lambda: (x(),)),
        "sum": lambda: (torch.sum, lambda: (x(),)),
        "sum_rows": lambda: (lambda a: a.sum(1), lambda: (x(),)),
        "long_sum": lambda: (lambda a: a.sum(1), lambda: (x(),)),
        "row_sum": lambda: (lambda a: a.sum(1), lambda: (x(),)),
        "row_minmax": lambda: (lambda a: torch.aminmax(a, dim=1), lambda: (x(),)),
        "welford": lambda: (lambda a: torch.var_mean(a, 1, correction=0), lambda: (x(),)),
        "embedding": lambda: (F.embedding, lambda: (
            torch.randint(size[1], (size[0],), device=GPU), normal(size[1], size[2]))),
        "segment_sum": lambda: (lambda a, s: a.new_zeros(16384, a.shape[1]).index_add(0, s, a), lambda: (
            x(), torch.randint(16384, (size[0],), device=GPU).sort().values)),
        "softmax": lambda: (lambda a: F.softmax(a, 1), lambda: (x(),)),
        "softmax_two_pass": lambda: (two_pass_softmax, lambda: (x(),)),
        "layer_norm": lambda: (lambda a, w, b: torch.native_layer_norm(a, [size[1]], w, b, 1e-5),
                               lambda: (x(), vector(), vector())),
        "rms_norm": lambda: (lambda a, w: F.rms_norm(a, [size[1]], w, 1e-5), lambda: (x(), vector())),
        "cross_entropy": lambda: (lambda a, t: F.cross_entropy(a, t, reduction="none"), lambda: (
            x(), torch.randint(size[1], (size[0],), device=GPU))),
        "kl_div": lambda: (kl_div, lambda: (x(), x())),
        "jsd": lambda: (jsd, lambda: (x(), x())),
        "layer_norm_backward": lambda: (layer_backward, lambda: (
            x(), x(), vector(), vector(torch.float32, size[0]), vector(torch.float32, size[0]))),
        "rms_norm_backward": lambda: (rms_backward, lambda: (
            x(), x(), vector(), vector(torch.float32, size[0]))),
        "matmul": lambda: (torch.mm, lambda: (normal(size[0], size[2]), normal(size[2], size[1]))),
        "linear_gelu": lambda: (lambda a, w, b: F.gelu(torch.addmm(b, a, w)), lambda: (
            normal(size[0], size[2]), normal(size[2], size[1]), vector(n=size[1]))),
        "split_k_matmul": lambda: (torch.mm, lambda: (
            normal(size[0], size[2]), normal(size[2], size[1]))),
        "split_k_matmul_ordered": lambda: (torch.mm, lambda: (
            normal(size[0], size[2]), normal(size[2], size[1]))),
        "batched_matmul": lambda: (torch.bmm, lambda: (
            normal(size[0], size[1], size[3]), normal(size[0], size[3], size[2]))),
        "fp8_matmul": lambda: (fp8_matmul, lambda: (
            normal(size[-3], size[-1], dtype=torch.float8_e4m3fn),
            normal(size[-2], size[-1], dtype=torch.float8_e4m3fn).t(),
            normal(size[-3], 1, dtype=torch.float32), normal(1, size[-2], dtype=torch.float32))),
        "int4_matmul": lambda: (int4_matmul, lambda: (
            normal(size[0], size[2]),
            torch.randint(256, (size[2] // 2, size[1]), device=GPU, dtype=torch.uint8),
            vector(torch.float32, size[1]))),
        "grouped_matmul": lambda: (
            lambda a, b, o: torch._grouped_mm(a, b, offs=o),
            lambda: (normal(sum(groups), 4096), normal(len(groups), 4096, 4096), offsets(groups))),
        "moe_matmul": lambda: (moe(groups), lambda: (
            normal(4096, 4096), normal(len(groups), 4096, 4096),
            torch.randint(4096, (sum(groups),), device=GPU),
            normal(sum(groups), dtype=torch.float32))),
        "jagged_softmax": lambda: (lambda a, s: jagged_softmax(a, s, 512), lambda: (
            normal(size[1], size[2], dtype=torch.float32), segment_of(random_lengths(512, size[1])))),
        "jagged_dense": lambda: (
            lambda a, o, s, b, bias: torch._grouped_mm(a, b, offs=o) + bias[s],
            lambda: (lambda l: (normal(size[1], size[2]), offsets(l), segment_of(l),
                                normal(512, size[2], size[3]), normal(512, size[3])))(
                                    random_lengths(512, size[1]))),
        "chunk_scan": lambda: (chunk_scan, lambda: (
            normal(size[0], size[1], size[1]), normal(*size),
            normal(size[0], size[2], size[1], dtype=torch.float32),
            -torch.rand(size[0], size[2], size[1], device=GPU).cumsum(2) * 0.1,
            normal(size[0], size[1], 128), normal(size[0], size[2], size[3], 128),
            vector(torch.float32, size[2]))),
    }
    return rows[kind]()


def bytes_of(values):
    if isinstance(values, torch.Tensor):
        return values.numel() * values.element_size()
    return sum(bytes_of(value) for value in values if value is not None)


def capture(run, sets, passes, stream):
    """A graph of passes over all sets; as many results live at a time as there are sets."""
    with torch.cuda.stream(stream):
        for arguments in sets[:2]:
            run(*arguments)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    kept = collections.deque(maxlen=len(sets))
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(passes):
            for arguments in sets:
                kept.append(run(*arguments))
    return graph


def time_of(graphs, calls, rounds, stream):
    times = [[] for _ in graphs]
    with torch.cuda.stream(stream):
        for graph in graphs:
            graph.replay()
        marks = []
        for turn in range(rounds):
            for i in range(len(graphs)):
                at = (turn + i) % len(graphs)
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                begin.record()
                graphs[at].replay()
                end.record()
                marks.append((at, begin, end))
    stream.synchronize()
    for at, begin, end in marks:
        times[at].append(1000 * begin.elapsed_time(end) / calls[at])
    return [statistics.median(one) for one in times]


def compiled(run):
    torch._dynamo.reset()
    return torch.compile(run, dynamic=False)


def prepare(name):
    run, make = row_of(name)
    arguments = make()
    compiled(run)(*arguments)
    return {"row": name}


def measure(name, rounds=7, replay_us=2000):
    run, make = row_of(name)
    first = make()
    moved = bytes_of(first) + bytes_of(run(*first))
    if name.startswith("embedding"):
        moved = 2 * bytes_of(run(*first))
    count = max(2, 2 * torch.cuda.get_device_properties(0).L2_cache_size // moved + 1)
    sets = [first] + [make() for _ in range(count - 1)]
    copies = [(torch.empty(moved // 2, dtype=torch.uint8, device=GPU),
               torch.empty(moved // 2, dtype=torch.uint8, device=GPU)) for _ in range(count)]
    contestants = {"copy": (lambda to, of: to.copy_(of), copies), "eager": (run, sets)}
    answer = {"row": name}
    try:
        fast = compiled(run)
        fast(*first)
        contestants["compile"] = (fast, sets)
    except Exception as error:
        answer["compile_problem"] = str(error).splitlines()[0]
    stream = torch.cuda.Stream()
    graphs, calls = [], []
    for function, arguments in contestants.values():
        once = capture(function, arguments, 1, stream)
        passes = max(1, min(200, int(replay_us / (time_of([once], [1], 1, stream)[0]) + 1)))
        graphs.append(capture(function, arguments, passes, stream) if passes > 1 else once)
        calls.append(passes * count)
    return answer | dict(zip(contestants, time_of(graphs, calls, rounds, stream)))


def main():
    torch.backends.cuda.matmul.allow_tf32 = False
    answer = prepare if "--prepare" in sys.argv else measure
    # A child answers over the socket that it got as file 3, and as its standard input.
    out = open(3, "w") if "--prepare" in sys.argv or "--measure" in sys.argv else sys.stdout
    for line in sys.stdin:
        name = line.strip()
        try:
            result = answer(name)
        except Exception as error:  # another row may do
            result = {"row": name, "problem": (str(error) or repr(error)).splitlines()[0]}
        print(json.dumps(result), file=out, flush=True)
        torch.cuda.empty_cache()


main()
