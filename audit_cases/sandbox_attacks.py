"""Attacks on the machine: what only the sandbox of a student's kernel prevents.

Each prints a line that begins with GOT if it gets what it wants. All are small, and stop by themselves.
"""

from __future__ import annotations

# name -> code; {root}, {port}, {left}: the repository, a listener on 127.0.0.1, a mark of what is left running
SANDBOX_ATTACKS: dict[str, str] = {
    "the repository looked through": """
        for folder, _, files in os.walk({root!r}):
            if "site-packages" in folder:
                continue
            found = [name for name in files if name.startswith(exercise)]
            if found or os.path.basename(folder) in ("solutions", "autograder", "exercises"):
                print("GOT", folder, found)
                break
    """,
    "the gradebook searched for on the whole disk": """
        wanted = {{"gradebook.db", "seeds.json", "timestamp.txt", exercise + ".json"}}
        for top in os.listdir("/"):
            if top not in ("proc", "usr", "lib"):
                for folder, folders, files in os.walk("/" + top):
                    folders[:] = [name for name in folders if name not in ("site-packages", "versions")]
                    if wanted & set(files):
                        print("GOT", folder, files)
    """,
    "passwords": """
        for path in ("/etc/shadow", "/etc/hosts", "/etc/hostname", "/var/log", "/run", "/boot"):
            if os.path.exists(path):
                print("GOT", path)
    """,
    "other processes listed": """
        # in a sandbox, process 1 is its first
        own = ("1", str(os.getpid()))
        others = [name for name in os.listdir("/proc") if name.isdigit() and name not in own]
        if others:
            print("GOT", others)
    """,
    "other processes' memory": """
        for pid in range(1, 70_000):
            if pid != os.getpid() and not os.path.exists(f"/proc/self/task/{{pid}}"):
                try:
                    print("GOT", open(f"/proc/{{pid}}/maps").readline())
                except OSError:
                    pass
    """,
    "signals to everybody": """
        for pid in range(2, 70_000):
            if pid != os.getpid() and not os.path.exists(f"/proc/self/task/{{pid}}"):
                try:
                    os.kill(pid, 0)
                    print("GOT", pid)
                except OSError:
                    pass
    """,
    "a connection to this machine": """
        import socket
        try:
            socket.create_connection(("127.0.0.1", {port}), timeout=2)
            print("GOT a connection")
        except OSError:
            pass
    """,
    "system calls that lead out": """
        import ctypes, errno, platform, signal
        c = ctypes.CDLL(None, use_errno=True)
        column = ("x86_64", "aarch64").index(platform.machine())
        # by name: numbers, then arguments with which an ordinary user is not refused otherwise
        calls = {{
            "unshare users": ((272, 97), 0x10000000),
            "unshare time": ((272, 97), 0x80),
            "unshare mounts": ((272, 97), 0x20000),
            "setns": ((308, 268), -1, 0),
            "clone3": ((435, 435), None, 0),
            "mount": ((165, 40), None, None, None, 0, None),
            "umount2": ((166, 39), b"/nowhere", 0),
            "open_tree": ((428, 428), -100, b"/nowhere", 0),
            "move_mount": ((429, 429), -1, None, -1, None, 0),
            "fsopen": ((430, 430), None, 0),
            "fsconfig": ((431, 431), -1, 0, None, None, 0),
            "fsmount": ((432, 432), -1, 0, 0),
            "fspick": ((433, 433), -1, None, 0),
            "mount_setattr": ((442, 442), -1, None, 0, None, 0),
            "pivot_root": ((155, 41), b"/nowhere", b"/nowhere"),
            "ptrace": ((101, 117), 0x4206, 1, 0, 0),
            "process_vm_readv": ((310, 270), os.getpid(), None, 0, None, 0, 0),
            "bpf": ((321, 280), 0, None, 0),
            "keyctl": ((250, 219), 0, -3, 0),
            "add_key": ((248, 217), b"user", b"message", b"x", 1, -3),
            "request_key": ((249, 218), b"user", b"message", None, -3),
            "setrlimit": ((160, 164), 9, b"\\xff" * 16),
            "prlimit64": ((302, 261), 0, 9, b"\\xff" * 16, None),
            "io_uring_setup": ((425, 425), 1, None),
            "io_uring_enter": ((426, 426), -1, 0, 0, 0, None, 0),
            "io_uring_register": ((427, 427), -1, 0, None, 0),
        }}
        def tried(name, numbers, *arguments):
            if c.syscall(numbers[column], *arguments) >= 0 or ctypes.get_errno() not in (errno.ENOSYS, errno.EPERM):
                print("GOT", name, ctypes.get_errno())
        for name, (numbers, *arguments) in calls.items():
            tried(name, numbers, *arguments)
        for flag in (0x10000000, 0x20000, 0x20000000, 0x40000000):
            ctypes.set_errno(0)
            pid = c.syscall((56, 220)[column], flag | signal.SIGCHLD, None, None, None, None)
            if pid == 0:
                os._exit(0)
            if pid > 0 or ctypes.get_errno() != errno.EPERM:
                print("GOT clone", hex(flag), pid)
    """,
    "a network": """
        import socket
        try:
            outside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            outside.connect(("192.0.2.1", 53))
            print("GOT a route", [name for _, name in socket.if_nameindex()])
        except OSError:
            pass
    """,
    "sockets of the fork server": """
        lines = open("/proc/net/unix").read().split("\\n")[1:]
        for line in lines:
            path = line.split()[-1] if len(line.split()) > 7 else ""
            if path and "/connection/" not in path:
                print("GOT", path)
    """,
    "a daemon that outlives the kernel": """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.chdir("/")
                os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)", {left!r}], {{}})
            os._exit(0)
    """,
    "a process without a parent's death signal, in a session of its own": """
        import ctypes
        c = ctypes.CDLL(None)
        c.prctl(1, 0, 0, 0, 0)
        for _ in range(2):
            if os.fork() == 0:
                c.prctl(1, 0, 0, 0, 0)
                os.setsid()
                for number in range(1, 32):
                    if number not in (signal.SIGKILL, signal.SIGSTOP):
                        signal.signal(number, signal.SIG_IGN)
                os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)", {left!r}], {{}})
        time.sleep(0.3)
    """,
    "the grader's command line, environment, frames and objects": """
        import gc
        names = ("auth" + "key", "sys_" + "argv", "db_" + "url", "see" + "ds")
        marks = ("sqlite:/" + "//", "postgresql:/" + "/", "gradebook" + ".db", "--schedul" + "er")
        for process in ("self", "1", str(os.getppid())):
            for path in ("cmdline", "environ"):
                try:
                    text = open(f"/proc/{{process}}/{{path}}").read()
                except OSError:
                    continue
                if any(mark in text for mark in marks):
                    print("GOT", text)
        for frame in sys._current_frames().values():
            while frame:
                if set(names) & set(frame.f_locals) and frame.f_globals is not globals():
                    print("GOT", frame)
                frame = frame.f_back
        for thing in gc.get_objects():
            if type(thing) is dict and thing is not globals():
                for value in list(thing.values()):
                    if type(value) is str and len(value) < 500 and any(mark in value for mark in marks):
                        print("GOT", value)
    """,
    "a fork storm": """
        children = []
        try:
            for _ in range(400):
                pid = os.fork()
                if pid == 0:
                    time.sleep(20)
                    os._exit(0)
                children.append(pid)
        except OSError:
            pass
        if len(children) > 200:
            print("GOT", len(children), "processes")
        for pid in children:
            os.kill(pid, 9)
    """,
    "processes that keep every core busy": """
        # each has a session of its own, and so its own share of the processor; they end with the sandbox
        import subprocess
        busy = ["/bin/sh", "-c", "while :; do :; done"]
        started = [subprocess.Popen(busy, start_new_session=True) for _ in range(60)]
        time.sleep(3)
        if len(started) < 60:
            print("only", len(started))
    """,
    "memory in one piece": """
        try:
            piece = np.ones(500_000_000)
            print("GOT", piece.nbytes)
        except MemoryError:
            pass
    """,
    "memory in many processes": """
        pipes = os.pipe()
        for _ in range(6):
            if os.fork() == 0:
                piece = np.ones(75_000_000)
                os.write(pipes[1], b"x")
                time.sleep(10)
                os._exit(0)
        os.close(pipes[1])
        # nothing is read once all of them have ended
        if all(os.read(pipes[0], 1) for _ in range(6)):
            print("GOT 3.6 GB")
    """,
    "every disk filled": """
        got = 0
        for place in (".", "/tmp", "/dev/shm", os.path.expanduser("~")):
            try:
                for number in range(20):
                    got += open(f"{{place}}/filling{{number}}", "wb").write(bytes(10_000_000))
            except OSError:
                pass
        if got > 200_000_000:
            print("GOT", got)
    """,
    "memory in files without a name": """
        held, piece = [], bytes(170_000_000)
        try:
            for _ in range(14):
                held.append(os.memfd_create("much"))
                os.write(held[-1], piece)
            time.sleep(1)
            print("GOT 2.4 GB")
        except OSError:
            pass
    """,
    "memory in shared mappings, mostly unmapped": """
        import ctypes
        c, size = ctypes.CDLL(None), 170_000_000
        c.mmap.restype = ctypes.c_void_p
        c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        c.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        files = [(-1, 0x21)]
        try:
            files.append((os.open("/dev/zero", os.O_RDWR), 1))
        except OSError:
            pass
        for file, flags in files:
            for number in range(14):
                start = c.mmap(None, size, 3, flags, file, 0)
                if start == 2**64 - 1:
                    break
                ctypes.memset(start, 1, size)
                c.munmap(start + 65536, size - 65536)
            else:
                time.sleep(1)
                print("GOT 2.4 GB")
    """,
    "memory in System V segments": """
        import ctypes
        c, size = ctypes.CDLL(None), 170_000_000
        c.shmat.restype = ctypes.c_void_p
        c.shmdt.argtypes = [ctypes.c_void_p]
        for number in range(14):
            segment = c.shmget(0, ctypes.c_size_t(size), 0o1600)
            if segment < 0:
                break
            start = c.shmat(segment, None, 0)
            ctypes.memset(start, 1, size)
            c.shmdt(start)
        else:
            time.sleep(1)
            print("GOT 2.4 GB")
    """,
    "memory of processes whose first thread has ended": """
        import ctypes
        c, pipes = ctypes.CDLL(None), os.pipe()
        leave = {{"x86_64": 60, "aarch64": 93}}[os.uname().machine]

        def fill():
            piece = np.ones(75_000_000)
            os.write(pipes[1], b"x")
            time.sleep(10)
            os._exit(0)

        for _ in range(6):
            if os.fork() == 0:
                threading.Thread(target=fill).start()
                c.syscall(leave, 0)
        os.close(pipes[1])
        # nothing is read once all of them have ended
        if all(os.read(pipes[0], 1) for _ in range(6)):
            print("GOT 3.6 GB")
    """,
    "one long file": """
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for place in (".", "/tmp", "/dev/shm", os.path.expanduser("~")):
            try:
                os.truncate(os.open(place + "/long", os.O_CREAT | os.O_RDWR), 10**10)
                print("GOT", place)
            except OSError:
                pass
    """,
    "very many files": """
        try:
            for number in range(30_000):
                os.mknod(f"file{{number}}")
            print("GOT 30,000 files")
        except OSError:
            pass
    """,
    "files among the grader's sockets": """
        try:
            open("../connection/mine", "w").write("x" * 1000)
            print("GOT a file")
        except OSError:
            pass
        try:
            os.unlink("../connection/connection.json")
            print("GOT rid of a file")
        except OSError:
            pass
    """,
    "poisoned packages": """
        import site
        for folder in [*site.getsitepackages(), sys.base_prefix, sys.prefix, "/usr/lib", "/etc"]:
            for name in ("sitecustomize.py", "poison.pth"):
                try:
                    open(os.path.join(folder, name), "x").close()
                    print("GOT", folder)
                    os.unlink(os.path.join(folder, name))
                except OSError:
                    pass
    """,
    "poisoned settings": """
        home = os.path.expanduser("~")
        for name in (".ipython/profile_default/startup/00.py", ".config/matplotlib/matplotlibrc", ".pythonrc"):
            os.makedirs(os.path.dirname(f"{{home}}/{{name}}"), exist_ok=True)
            if os.path.exists(f"{{home}}/{{name}}"):
                print("GOT another's", name)
            open(f"{{home}}/{{name}}", "w").write("import os; os._exit(3)")
    """,
    "more privileges": """
        import ctypes
        for what in (lambda: os.setuid(0), lambda: os.nice(-5), lambda: os.sethostname("mine") if hasattr(os, "sethostname")
                     else ctypes.CDLL(None).sethostname(b"mine", 4) and 1 / 0, lambda: os.chroot("/tmp"),
                     lambda: os.mknod("disk", 0o60666, os.makedev(8, 0)), lambda: os.remove("/etc/passwd"),
                     lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))):
            try:
                what()
                print("GOT privileges")
            except (OSError, ZeroDivisionError):
                pass
        status = open("/proc/self/status").read()
        if "CapEff:\\t0000000000000000" not in status or "NoNewPrivs:\\t1" not in status:
            print("GOT", status)
    """,
    "a disk of its own": """
        import subprocess
        script = (
            "mount -t tmpfs -o size=500m none /tmp && for part in 1 2 3; do "
            "head -c 150000000 /dev/urandom > /tmp/$part || exit 1; done"
        )
        try:
            if subprocess.run(["unshare", "-Urm", "sh", "-c", script], timeout=15).returncode == 0:
                print("GOT 450 MB")
        except FileNotFoundError:
            pass
    """,
    "system calls under other numbers": """
        import ctypes
        c = ctypes.CDLL(None)
        x32 = 0x40000000
        if c.syscall(x32 + 39) > 0 or c.syscall(x32 + 272, 0x10000000) == 0:
            print("GOT x32")
        if os.uname().machine == "x86_64":
            import mmap
            # getpid as a 32-bit system: mov eax, 20; int 0x80; ret
            code = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
            code.write(bytes.fromhex("b814000000cd80c3"))
            entry = ctypes.addressof(ctypes.c_char.from_buffer(code))
            if ctypes.CFUNCTYPE(ctypes.c_int)(entry)() > 0:
                print("GOT 32 bits")
    """,
    "a key for the next kernel": """
        import ctypes
        c = ctypes.CDLL(None)
        add_key, keyctl = (248, 250) if os.uname().machine == "x86_64" else (217, 219)
        if c.syscall(add_key, b"user", b"key", b"x", 1, -4) > 0:
            print("GOT a key")
        if c.syscall(keyctl, 0, -4, 1) > 0:
            print("GOT a keyring")
    """,
    "a message for the next kernel": """
        import ctypes
        c = ctypes.CDLL(None)
        c.shmat.restype = ctypes.c_void_p
        if c.shmget(0x5157, 4096, 0o666) >= 0:
            print("GOT a message")
        c.shmget(0x5157, 4096, 0o666 | 0o1000)
        for place in ("/dev/shm/message", "/tmp/message", "/var/tmp/message"):
            try:
                open(place, "x").write("x")
            except FileExistsError:
                print("GOT", place)
            except OSError:
                pass
    """,
    "sockets that belong to no namespace": """
        import socket
        for family in set(range(1, 50)) - {{socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}}:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
                try:
                    print("GOT", socket.socket(family, kind))
                except OSError:
                    pass
    """,
    "crashes that a program of the machine collects": """
        # Linux starts it, as root and outside of the sandbox, but for a process whose limit is 1
        import resource
        if resource.getrlimit(resource.RLIMIT_CORE) != (1, 1):
            print("GOT collected")
    """,
    "memory in locks of ranges of files": """
        # one lock shows whether there could be millions: another process sees it
        import fcntl, struct
        for command in (fcntl.F_SETLK, fcntl.F_SETLKW, 37, 38):
            with open("locked", "w") as file:
                request = struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 1, 0)
                try:
                    fcntl.fcntl(file, command, request)
                except OSError:
                    continue
                look, found = os.pipe()
                if os.fork() == 0:
                    with open("locked", "w") as own:
                        seen = fcntl.fcntl(own, 36 if command > 30 else fcntl.F_GETLK, request)
                    os.write(found, seen[:2])
                    os._exit(0)
                if struct.unpack("h", os.read(look, 2))[0] != fcntl.F_UNLCK:
                    print("GOT a lock by", command)
    """,
    "memory in a table for waiting threads": """
        import ctypes
        c = ctypes.CDLL(None)
        if c.prctl(78, 1, 1 << 10, 0, 0) == 0:
            print("GOT a table of any size")
    """,
    "memory in rules for oneself": """
        import ctypes
        c = ctypes.CDLL(None)
        ports = (ctypes.c_uint64 * 2)(0, 1)
        if c.syscall(444, ctypes.byref(ports), ctypes.c_size_t(16), 0) >= 0:
            print("GOT rules")
    """,
    "what all programs of the machine share": """
        import ctypes
        c = ctypes.CDLL(None)
        number = {{"x86_64": 206, "aarch64": 0}}[os.uname().machine]
        if c.syscall(number, 10, ctypes.byref(ctypes.c_ulong(0))) == 0:
            print("GOT requests", open("/proc/sys/fs/aio-nr").read())
    """,
    "what the machine's devices do": """
        import socket
        # netlink's protocol for events of devices, and others that tell of the machine or have Linux load a module
        for protocol in range(1, 32):
            try:
                with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, protocol) as events:
                    print("GOT", protocol, events)
            except OSError:
                pass
    """,
    "memory in very many mappings": """
        import subprocess
        fill = (
            "import ctypes, time; c, page, number = ctypes.CDLL(None), 4096, 60_000; c.mmap.restype = ctypes.c_void_p; "
            "c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]; "
            "start = c.mmap(None, number * page, 0, 0x4022, -1, 0); "
            "all(c.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(page), 1) == 0 "
            "for place in range(start, start + number * page, 2 * page)); print(flush=True); time.sleep(20)"
        )
        # each of them has 25 MB that none of its figures shows
        command = [sys.executable, "-S", "-E", "-c", fill]
        filled = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(10)]
        for process in filled:
            process.stdout.readline()
        time.sleep(4)
        print("GOT 600,000 mappings")
    """,
    "memory in buffers of sockets": """
        import socket
        held, total = [], 0
        piece = b"x" * 100_000
        while total < 2_200_000_000:
            pair = socket.socketpair()
            held.append(pair)
            for one in pair:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 10_000_000)
                one.setblocking(False)
                try:
                    while True:
                        total += one.send(piece)
                except BlockingIOError:
                    pass
            if len(held) == 200:
                # each process may have a few hundred descriptors
                if os.fork() == 0:
                    time.sleep(20)
                    os._exit(0)
                for pair in held:
                    for one in pair:
                        one.close()
                held.clear()
        print("GOT", total)
    """,
}
