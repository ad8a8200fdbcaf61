"""Code for the bodies of ranks (`shm_ranks`) that must meet their fate at one point of the native code.

The kernel stops, kills or holds a rank at a system call, or the rank learns that its main thread sleeps in the
segment. So nothing depends on how fast the machine is.
"""

NUMBERS = """
import ctypes, errno, platform, struct
KILL, TRAP, DENY, NOTIFY, ALLOW = 0x80000000, 0x00030000, 0x00050000 | errno.EACCES, 0x7FC00000, 0x7FFF0000
NUMBERS = {
    "x86_64": dict(
        fallocate=285, futex=202, membarrier=324, openat=257, process_vm_readv=310, seccomp=317, unlinkat=263
    ),
    "aarch64": dict(
        fallocate=47, futex=98, membarrier=283, openat=56, process_vm_readv=270, seccomp=277, unlinkat=35
    ),
}[platform.machine()]

def install_filter(name, action, flags=None, *, options=0):
    # From now on `action` instead of that call; with `flags` (of openat, unlinkat), only where it has one of them.
    load, equals, has_bits, finish = 0x20, 0x15, 0x45, 0x06
    steps = [(load, 0, 0, 0), (equals, 0, 1 if flags is None else 3, NUMBERS[name])]
    if flags is not None:
        steps += [(load, 0, 0, 32), (has_bits, 0, 1, flags)]
    steps += [(finish, 0, 0, action), (finish, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = ctypes.create_string_buffer(struct.pack("HP", len(steps), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)
    PR_SET_NO_NEW_PRIVS, SECCOMP_SET_MODE_FILTER = 38, 1
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    result = libc.syscall(NUMBERS["seccomp"], SECCOMP_SET_MODE_FILTER, options, program)
    assert result >= 0, os.strerror(ctypes.get_errno())
    return result
"""

AT_SYSTEM_CALL = (
    NUMBERS
    + """
at_system_call = install_filter

@ctypes.CFUNCTYPE(None, ctypes.c_int)
def stop(number):
    os.kill(os.getpid(), signal.SIGSTOP)

def stop_when_trapped():
    ctypes.CDLL(None).signal(signal.SIGSYS, stop)  # Python's own handlers would run too late
"""
)

HOLD_SYSTEM_CALL = (
    NUMBERS
    + """
import fcntl, select, socket

def hold_system_call(name, before):
    # Each such call of this thread waits in the kernel while a child process runs before(number of the call).
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        _, [listener], _, _ = socket.recv_fds(theirs, 1, 1)
        let_calls_pass(listener, before)
        os._exit(0)
    theirs.close()
    SECCOMP_FILTER_FLAG_NEW_LISTENER = 8
    listener = install_filter(name, NOTIFY, options=SECCOMP_FILTER_FLAG_NEW_LISTENER)
    socket.send_fds(ours, [b"x"], [listener])
    ours.close()
    os.close(listener)

def let_calls_pass(listener, before):
    RECEIVE, SEND, CONTINUE = 0xC0502100, 0xC0182101, 1
    number = 0
    while True:
        poll = select.poll()
        poll.register(listener, select.POLLIN)
        if not poll.poll()[0][1] & select.POLLIN:  # the held process has ended
            return
        call = bytearray(80)
        fcntl.ioctl(listener, RECEIVE, call)
        before(number)
        number += 1
        fcntl.ioctl(listener, SEND, call[:8] + struct.pack("qiI", 0, 0, CONTINUE))
"""
)

WHEN_WAITING = (
    NUMBERS
    + """
def when_waiting(act, *arguments):
    # Calls act(*arguments) in a thread as soon as this thread sleeps in the segment, waiting for other ranks.
    me = threading.get_native_id()

    def is_waiting():
        words = open(f"/proc/self/task/{me}/syscall").read().split()
        if words[0] != str(NUMBERS["futex"]):
            return False
        maps = [line.split(None, 5) for line in open("/proc/self/maps") if "/dev/shm/" in line]
        spans = [line[0].split("-") for line in maps]
        return any(int(begin, 16) <= int(words[1], 16) < int(end, 16) for begin, end in spans)

    def run():
        end = time.monotonic() + 60
        while not is_waiting():
            assert time.monotonic() < end, "it never waited"
            time.sleep(0.002)
        act(*arguments)

    threading.Thread(target=run, daemon=True).start()
"""
)


def interrupted_barrier(handler: str) -> str:
    """A program for ranks of shm: rank 0 gets SIGALRM while it waits in a barrier, the others call it when told."""
    return f"""{WHEN_WAITING}
comm = ShmCommunicator.attach(config())
{handler}
signal.signal(signal.SIGALRM, handler)
if rank == 0:
    when_waiting(os.kill, os.getpid(), signal.SIGALRM)
else:
    linger()
attempt(comm.barrier)
"""
