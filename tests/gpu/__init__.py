"""The promises on a CUDA device: kernels, dtypes and memory that a CPU does not have."""
