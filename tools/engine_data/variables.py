"""Environment variables that the libraries shipped with vLLM read, beside vLLM's own; each with the reader that makes it count."""

from __future__ import annotations

from collections.abc import Mapping

OTHER_VARIABLES: Mapping[str, str] = {
    "CUDA_HOME": "torch.utils.cpp_extension, flashinfer.jit and triton look for nvcc, headers and libraries there",
    "CUDA_PATH": "torch.utils.cpp_extension takes it where CUDA_HOME is not set",
    "CUDA_VISIBLE_DEVICES": "the CUDA driver numbers the devices by it, vllm.platforms.cuda maps it",
    "CUDA_DEVICE_ORDER": "the CUDA driver; vllm.platforms.cuda warns where cards differ and it is not PCI_BUS_ID",
    "FLASHINFER_CUDA_ARCH_LIST": "flashinfer.compilation_context: the architectures its kernels are built for",
    "FLASHINFER_NVCC": "flashinfer.jit.cpp_ext: the nvcc that builds its kernels",
    "FLASHINFER_WORKSPACE_BASE": "flashinfer.jit.env: where built kernels are kept",
    "HF_HOME": "huggingface_hub.constants: the download cache",
    "HF_HUB_OFFLINE": "huggingface_hub.constants: no download at all",
    "HF_TOKEN": "huggingface_hub.utils: the secret for gated downloads",
    "LD_LIBRARY_PATH": "the dynamic loader; also known to vllm.envs",
    "NCCL_CUMEM_ENABLE": "NCCL; vllm.envs sets it for its own communicator",
    "NCCL_DEBUG": "NCCL: how much it logs",
    "NCCL_P2P_DISABLE": "NCCL: no peer-to-peer copies between cards",
    "NCCL_SOCKET_IFNAME": "NCCL: the network interface between nodes",
    "OMP_NUM_THREADS": "OpenMP under torch; vllm.v1.executor.multiproc_executor sets it where it is not set",
    "PATH": "flashinfer.jit, triton and torch look there for ninja, nvcc and gcc",
    "PYTORCH_ALLOC_CONF": "torch.cuda's caching allocator, the newer name",
    "PYTORCH_CUDA_ALLOC_CONF": "torch.cuda's caching allocator; vllm checks it for expandable_segments",
    "TORCH_CUDA_ARCH_LIST": "torch.utils.cpp_extension: the architectures extensions are built for",
    "TORCHINDUCTOR_CACHE_DIR": "torch._inductor: where compiled graphs are kept",
    "TOKENIZERS_PARALLELISM": "tokenizers: whether it starts threads",
    "TRANSFORMERS_OFFLINE": "transformers.utils.hub: no download at all",
    "TRITON_CACHE_DIR": "triton.knobs: where compiled kernels are kept",
    "TRITON_LIBCUDA_PATH": "triton.knobs: where libcuda.so is",
    "TRITON_PTXAS_PATH": "triton.knobs: the assembler used to build kernels",
    "GLOO_SOCKET_IFNAME": "torch.distributed's gloo: the network interface between nodes",
    "SAFETENSORS_FAST_GPU": "safetensors: loads tensors straight to the device",
}
