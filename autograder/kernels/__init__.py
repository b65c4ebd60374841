"""The process that runs a student's code, and what keeps it in.

In: code and requests, settings with limits. Out: outputs and plain data that nobody trusts yet.

- `student_kernel` is the grader's side: it starts a kernel, runs cells and asks for evaluations.
- `forkserver` forks kernels from a process that has imported everything; `preload` is what it imports.
- `sandbox` is what a kernel may see, use up and reach on Linux.
- `versions` tells the versions that a verdict depends on.

Must not import grade or anything above it: a kernel knows no answer key, no seed and no gradebook.
"""
