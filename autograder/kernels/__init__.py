"""The process that runs a student's code, and what keeps it in.

In: settings (interpreter, limits, sandbox or not), the files beside a submission, code and requests.
Out: outputs and plain data that nobody trusts yet.

In the grader's own process:

- `student_kernel` starts a kernel, runs cells and asks for evaluations; `outputs` keeps what cells
  display, made safe and short.
- `jupyter_adapter` is all that depends on how jupyter_client works inside.
- `forkserver` starts fork servers and asks them for kernels.
- `versions` tells the versions that a verdict depends on.

In the fork server and the kernels, which run in the students' Python (`c.Grader.python`):

- `forkserver_main` forks kernels from a process that has imported everything; `preload` is what it
  imports.
- `sandbox` is what a kernel can see, use up and reach on Linux, with `mounts`, `seccomp` and `watcher`.
- `protocol` (what both sides agree on) and `linux` (system calls).

These import nothing but the standard library, numpy, torch, ipykernel and, if it is there, matplotlib,
and of this project only one another, `autograder.instructor_settings`, `autograder.errors` and
`autograder.runtime`.

Must not import grade or anything above it: a kernel knows no answer key, no seed and no gradebook.
"""
