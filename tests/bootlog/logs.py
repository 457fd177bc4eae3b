"""Excerpts of boot logs in the wording of five engine versions. Written from the public formats, with the numbers of recorded boots.

The real log is data/cpu-tiny-0.31.0.log.
"""

from __future__ import annotations

V028 = """\
(APIServer pid=11) INFO 09-01 10:00:00 [model.py:1547] Using max model len 65536
(EngineCore_DP0 pid=42) INFO 09-01 10:00:09 [core.py:77] Initializing a V1 LLM engine (v0.28.0) with config: model='x', compilation_config={"cudagraph_mode":[2,1],"cudagraph_capture_sizes":[1,2,4,8,16,24,32,40],"cudagraph_num_of_warmups":1}
(EngineCore_DP0 pid=42) INFO 09-01 10:00:12 [cuda.py:355] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN'].
(EngineCore_DP0 pid=42) INFO 09-01 10:00:12 [interface.py:512] Setting attention block size to 432 tokens to ensure that attention page size is >= mamba page size.
(EngineCore_DP0 pid=42) INFO 09-01 10:00:12 [interface.py:536] Padding mamba page size by 3.11% to ensure that mamba page size and attention page size are exactly equal.
(EngineCore_DP0 pid=42) INFO 09-01 10:00:40 [gpu_model_runner.py:3421] Model loading took 14.2600 GiB and 21.412345 seconds
(EngineCore_DP0 pid=42) INFO 09-01 10:01:30 [gpu_worker.py:375] Available KV cache memory: 4.63 GiB
(EngineCore_DP0 pid=42) ERROR 09-01 10:01:30 [core.py:866] ValueError: To serve at least one request with the models's max seq len (65536), (4.76 GiB KV cache is needed, which is larger than the available KV cache memory (4.63 GiB). Based on the available memory, the estimated maximum model length is 63072. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.
"""
V029 = """\
(APIServer pid=11) INFO 09-18 10:00:00 [model.py:1610] Using max model len 65536
(EngineCore pid=42) INFO 09-18 10:00:09 [core.py:93] Initializing a V1 LLM engine (v0.29.0) with config: model='x', compilation_config={'cudagraph_capture_sizes': [1, 2, 4, 8, 16, 24, 32, 40]}
(EngineCore pid=42) INFO 09-18 10:00:12 [cuda.py:388] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER'].
(EngineCore pid=42) INFO 09-18 10:00:12 [interface.py:611] Setting attention block size to 432 tokens to ensure that attention page size is >= mamba page size.
(EngineCore pid=42) INFO 09-18 10:00:40 [gpu_model_runner.py:4102] Model loading took 14.26 GiB memory and 21.412345 seconds
(EngineCore pid=42) INFO 09-18 10:01:30 [gpu_worker.py:433] Available KV cache memory: 5.37 GiB
(EngineCore pid=42) INFO 09-18 10:01:30 [kv_cache_utils.py:1421] GPU KV cache size: 73,631 tokens
(EngineCore pid=42) INFO 09-18 10:01:30 [kv_cache_utils.py:1426] Maximum concurrency for 65,536 tokens per request: 1.12x
(EngineCore pid=42) INFO 09-18 10:01:41 [gpu_model_runner.py:5123] Graph capturing finished in 9 secs, took 0.09 GiB
(EngineCore pid=42) INFO 09-18 10:01:41 [gpu_worker.py:540] CUDA graph pool memory: 0.09 GiB (actual), 1.03 GiB (estimated), difference: 0.94 GiB (1044.4%).
(EngineCore pid=42) INFO 09-18 10:01:41 [gpu_worker.py:512] Free memory on device (23.30/23.56 GiB) on startup. Desired GPU memory utilization is (0.9, 21.2 GiB). Actual usage is 14.26 GiB for weight, 0.41 GiB for peak activation, 0.13 GiB for non-torch memory, and 0.09 GiB for CUDAGraph memory.
(EngineCore pid=42) INFO 09-18 10:01:41 [core.py:259] init engine (profile, create kv cache, warmup model) took 61.20 seconds
INFO:     Application startup complete.
"""
V030 = """\
(APIServer pid=11) INFO 10-02 10:00:00 [model.py:1702] Using max model len 65536
(EngineCore pid=42) INFO 10-02 10:00:09 [core.py:101] Initializing a V1 LLM engine (v0.30.0) with config: model='x', compilation_config={'cudagraph_capture_sizes': [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64]}
(Worker pid=44) INFO 10-02 10:00:12 [cuda.py:431] Using AttentionBackendEnum.FLASH_ATTN backend.
(Worker pid=44) INFO 10-02 10:00:12 [cuda.py:431] Using AttentionBackendEnum.FLASH_ATTN backend.
(EngineCore pid=42) INFO 10-02 10:00:12 [interface.py:700] Setting attention block size to 448 tokens to ensure that attention page size is >= mamba page size.
(EngineCore pid=42) WARNING 10-02 10:00:12 [kv_cache_utils.py:1122] Add 3 padding layers, may waste at most 60.00% KV cache memory
(EngineCore pid=42) INFO 10-02 10:00:40 [gpu_model_runner.py:4302] Model loading took 15.46 GiB memory and 24.100000 seconds
(EngineCore pid=42) INFO 10-02 10:01:30 [gpu_worker.py:401] Initial free memory 23.30 GiB, reserved 5.20 GiB memory for KV Cache as specified by kv_cache_memory_bytes config and skipped memory profiling.
(EngineCore pid=42) \x1b[32mINFO\x1b[0m 10-02 10:01:30 [kv_cache_utils.py:1600] GPU KV cache size: 68,605 tokens, Maximum concurrency for 65,536 tokens per request: 1.05x
(EngineCore pid=42) INFO 10-02 10:01:41 [gpu_model_runner.py:5400] Graph capturing finished in 12 secs, took 1.45 GiB
(EngineCore pid=42) INFO 10-02 10:01:41 [core.py:290] init engine (profile, create kv cache, warmup model) took 70.10 s (compilation: 22.00 s)
INFO:     Application startup complete.
"""
V032 = V030.replace("v0.30.0", "v0.32.0").replace("68,605", "69,758") + (
    "(EngineCore pid=42) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 960.00 MiB.\n"
)
V033 = """\
(APIServer pid=11) INFO 11-20 10:00:00 [model.py:2210] Using max model len 131072
(EngineCore pid=42) INFO 11-20 10:00:09 [core.py:140] Initializing a V1 LLM engine (v0.33.0) with config: model='x', compilation_config={'cudagraph_capture_sizes': [1, 2, 4, 8]}
(EngineCore pid=42) INFO 11-20 10:00:12 [utils.py:343] Using LBHNC KV cache layout.
(EngineCore pid=42) INFO 11-20 10:00:12 [cuda.py:466] Using AttentionBackendEnum.TRITON_ATTN backend.
(EngineCore pid=42) INFO 11-20 10:00:12 [cuda.py:527] Using FLASH_ATTN attention backend out of potential backends: ['FLASH_ATTN', 'TRITON_ATTN'].
(EngineCore pid=42) INFO 11-20 10:00:12 [cuda.py:610] Using FlashAttention version 3
(EngineCore pid=42) INFO 11-20 10:00:12 [interface.py:990] Setting attention block size to 864 tokens to ensure that attention page size is >= mamba page size.
(EngineCore pid=42) INFO 11-20 10:01:30 [kv_cache_utils.py:2464] GPU KV cache size: 136,429 tokens, Maximum concurrency for 131,072 tokens per request: 1.04x
(EngineCore pid=42) INFO 11-20 10:01:41 [gpu_worker.py:933] Free memory on device (23.3/23.56 GiB) on startup. Desired GPU memory utilization is (0.93, 21.91 GiB). Actual usage is 15.61 GiB for consumed memory (weights + non-torch), 1.09 GiB for peak activation, and 1.4 GiB for CUDAGraph memory.
INFO:     Application startup complete.
"""
