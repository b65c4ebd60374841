"""The process that runs a student's code, and what keeps it in.

In: settings (interpreter, limits, sandbox or not), the files beside a submission, code and requests.
Out: outputs and plain data that nobody trusts yet.

In the grader's own process:

- `student_kernel` starts a kernel, runs cells and asks for evaluations; `outputs` keeps what cells
  display, made safe and short.
- `kernel_memory` limits, from outside, the memory that a kernel has left while a line is evaluated;
  `processor_time` measures what it computes, and limits that.
- `control_group` lets Linux count and limit what a kernel's processes use together, where it may.
- `relay` bounds what a kernel sends before this process's libzmq takes it.
- `jupyter_adapter` is all that depends on how jupyter_client works inside.
- `forkserver` starts fork servers and asks them for kernels.
- `versions` tells the versions that a verdict depends on.

In the fork server and the kernels, which run in the students' Python (`c.Grader.python`):

- `forkserver_main` forks kernels from a process that has imported everything; `preload` is what it
  imports; `process_limits` sets a kernel's limits when a grader asks for it.
- `sandbox` is what a kernel can see, use up and reach on Linux, with `mounts`, `seccomp` and `watcher`; it
  joins the `control_group`.
- `own_user` is what keeps a kernel in where the grader is root and namespaces are refused.
- `protocol` (what both sides agree on) and `linux` (system calls).

These import nothing but the standard library, numpy, ipykernel and, if they are there, torch and
matplotlib, and of this project only one another, `autograder.instructor_settings`, `autograder.errors`,
`autograder.package` and `autograder.runtime`.

Must not import grade or anything above it: a kernel knows no answer key, no seed and no gradebook.
"""
