"""Measure a cold `irlens inspect softmax`, relative to bare scripts that compile the kernel.

    python benchmarks/cold_compile.py [RUNS]

The bare scripts compile the same kernel for the same GPU with the same Triton, and analyze nothing:
one calls the kernel's `warmup` under a driver that needs no GPU, the other hands the types of the
arguments to `triton.compile`. Up to Triton 3.7 `warmup` imports PyTorch where it is installed;
`triton.compile` never does. `inspect` also disassembles the cubin unless told otherwise: its
yardstick is then a script and nvdisasm.

Each run has empty caches, and all compile the same PTX. Prints the median processor time of each,
and of its ratio to either yardstick in the same round.
"""

import os
import resource
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from irlens.artifacts import tools
from irlens.compiler.toolchains import triton_version

ROOT = Path(__file__).resolve().parents[1]
SETUP = f"""
import sys
sys.dont_write_bytecode = True  # beside the samples
sys.path.insert(0, {str(ROOT / "kernels")!r})
import triton
from triton.backends.compiler import GPUTarget
from softmax import softmax_kernel as kernel
H100, constexprs = GPUTarget("cuda", 90, 32), {{"BLOCK_SIZE": 1024, "num_stages": 4}}
"""
WARMUP = """
from triton.backends.driver import DriverBase
from triton.runtime.jit import MockTensor

class Stub(DriverBase):
    def __init__(self):
        pass
    @classmethod
    def is_active(cls):
        return True
    def map_python_to_cpp_type(self, ty):
        raise NotImplementedError
    def get_current_target(self):
        return H100
    def get_current_device(self):
        return 0
    def get_current_stream(self, device=None):
        return 0
    def get_active_torch_device(self):
        raise NotImplementedError
    def get_benchmarker(self):
        raise NotImplementedError

triton.runtime.driver.set_active(Stub())
pointer = MockTensor(triton.language.float32)
kernel.warmup(pointer, pointer, 1024, 1024, 4096, 1024, **constexprs, num_warps=8, grid=(1,))
"""
COMPILE = """
names = ["output_ptr", "input_ptr", "input_row_stride", "output_row_stride", "n_rows", "n_cols"]
types = dict(zip(names, ["*fp32"] * 2 + ["i32"] * 4)) | dict.fromkeys(constexprs, "constexpr")
divisible = {(index,): [["tt.divisibility", 16]] for index in range(len(names))}
from triton.compiler import ASTSource
source = ASTSource(kernel, types, constexprs, divisible)
triton.compile(source, target=H100, options={"num_warps": 8, "num_stages": 3})
"""
CUBIN = ROOT / "samples" / "captures" / "softmax-h100" / "softmax_kernel.cubin"
IRLENS = [sys.executable, "-m", "irlens", "inspect", "softmax", "-t", "h100"]
COMMANDS = {
    "bare script, kernel.warmup": [sys.executable, "-W", "ignore", "-c", SETUP + WARMUP],
    "bare script, triton.compile": [sys.executable, "-W", "ignore", "-c", SETUP + COMPILE],
    "nvdisasm": [str(tools.find("nvdisasm")), "-c", "-gi", "-gp", str(CUBIN)],
    "irlens inspect softmax -t h100 --no-sass": [*IRLENS, "--no-sass"],
    "irlens inspect softmax -t h100": IRLENS,
}


def processor_time(command: list[str]) -> tuple[float, set[str]]:
    """Return the seconds that a command takes with empty caches, and the PTX that it compiles."""
    with TemporaryDirectory() as folder:
        variables = {"TRITON_CACHE_DIR": f"{folder}/triton", "IRLENS_CACHE_DIR": f"{folder}/irlens"}
        # As installed: pip compiles to bytecode what it installs.
        inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=inherited | variables)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return used, {path.read_text() for path in Path(folder).rglob("*.ptx")}


def main() -> None:
    """Print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    rounds: list[dict[str, float]] = []
    for _ in range(runs + 1):
        answers = {name: processor_time(command) for name, command in COMMANDS.items()}
        programs = {ptx for _, compiled in answers.values() for ptx in compiled}
        assert len(programs) == 1, "the scripts and irlens compile different programs"
        rounds.append({name: used for name, (used, _) in answers.items()})
    del rounds[0]  # it only warms the file system's cache
    torch = "with PyTorch" if find_spec("torch") is not None else "without PyTorch"
    print(f"Triton {triton_version()} {torch}, median of {runs} runs, processor time")
    print("                warmup  triton.compile")
    warmup, compiled, disassembler, _, disassembling = COMMANDS
    for name in COMMANDS:
        also = disassembler if name == disassembling else None
        ratios = [
            median(each[name] / (each[bare] + (each[also] if also else 0)) for each in rounds)
            for bare in (warmup, compiled)
        ]
        ours = f"{ratios[0]:6.2f} x  {ratios[1]:12.2f} x" if "irlens" in name else " " * 24
        print(f"{median(each[name] for each in rounds) * 1e3:9.0f} ms  {ours}  {name}")


if __name__ == "__main__":
    main()
