"""Programs that mean no good, by group, and how each kind of sandbox ends them."""

from __future__ import annotations

from dataclasses import dataclass

NAMED = ("time", "memory", "output", "processes", "refused", "killed", "error")
"""Every reason for which a program may be stopped."""


@dataclass(frozen=True)
class Hostile:
    """One program of the corpus.

    reasons: by kind, every reason it may end with, separated by "|"; "" stands for a program that runs to its end and
    reaches nothing. `*` is the entry of kinds not named. secret: what its output must not hold. unsafe: whether it can
    be run without walls; the others would reach the machine that runs the tests. endless: it can last until the
    wall-clock limit.
    """

    group: str
    name: str
    code: str
    reasons: dict[str, str]
    secret: tuple[str, ...] = ()
    unsafe: bool = False
    endless: bool = False

    def allowed(self, kind: str) -> set[str]:
        """The reasons it may end with in a sandbox of this kind."""
        return set(self.reasons.get(kind, self.reasons.get("*", "")).split("|"))


def _loop(name: str, code: str, **reasons: str) -> Hostile:
    return Hostile("endless loops", name, code, {"*": "time", **reasons}, unsafe=True, endless=True)


def _memory(name: str, code: str, endless: bool = False, **reasons: str) -> Hostile:
    return Hostile("memory", name, code, {"*": "memory", **reasons}, unsafe=True, endless=endless)


def _numbers(name: str, code: str, **reasons: str) -> Hostile:
    return Hostile("huge numbers and texts", name, code, {"*": "time|memory", **reasons}, unsafe=True, endless=True)


def _output(name: str, code: str, **reasons: str) -> Hostile:
    return Hostile("output", name, code, {"*": "output", **reasons}, unsafe=True)


def _depth(name: str, code: str, reasons: str, endless: bool = False, **others: str) -> Hostile:
    return Hostile("depth", name, code, {"*": reasons, **others}, unsafe=True, endless=endless)


def _processes(name: str, code: str, endless: bool = False, **reasons: str) -> Hostile:
    return Hostile("processes", name, code, {"monty": "error", "bwrap": "processes", **reasons}, endless=endless)


def _files(name: str, code: str, bwrap: str, monty: str = "refused", secret: tuple[str, ...] = ()) -> Hostile:
    return Hostile("files", name, code, {"monty": monty, "bwrap": bwrap}, secret=secret)


def _disk(name: str, code: str, bwrap: str, monty: str = "refused|error") -> Hostile:
    return Hostile("disk", name, code, {"monty": monty, "bwrap": bwrap})


def _network(name: str, code: str, bwrap: str = "refused|error", monty: str = "error") -> Hostile:
    return Hostile("network", name, code, {"monty": monty, "bwrap": bwrap})


def _escape(name: str, code: str, bwrap: str, monty: str = "error", secret: tuple[str, ...] = ()) -> Hostile:
    return Hostile("escapes", name, code, {"monty": monty, "bwrap": bwrap}, secret=secret)


def _kill(name: str, code: str, bwrap: str, endless: bool = False) -> Hostile:
    return Hostile("signals and the parent", name, code, {"monty": "error", "bwrap": bwrap}, endless=endless)


def _fake(name: str, code: str, bwrap: str, monty: str) -> Hostile:
    return Hostile("faked results", name, code, {"monty": monty, "bwrap": bwrap, "unsafe": bwrap}, unsafe=True)


_ROOT = ("root:", "/bin/sh", "/bin/bash")

CORPUS = (
    _loop("pass", "while True: pass"),
    _loop("caught", "while True:\n    try:\n        while True: pass\n    except BaseException: pass"),
    _loop("sum of a long range", "sum(range(10 ** 12))"),
    _loop("sleep", "import time\nfor _ in range(1000): time.sleep(0.1)"),
    _loop("one long sleep", "import time\ntime.sleep(1000)"),
    _loop("generator", "def g():\n    while True: yield 1\nfor _ in g(): pass", monty="error"),
    _loop("in a sort key", "def key(x):\n    while True: pass\nsorted([1, 2], key=key)"),
    _loop("in a repr", "class A:\n    def __repr__(self):\n        while True: pass\nA()"),
    _loop("permutations", "import itertools\nfor p in itertools.permutations(range(30)): pass"),
    _loop("regex", "import re\nre.match(r'(a+)+\\1$', 'a' * 60 + 'b')", monty="time|error|"),
    _loop("regex alternatives", "import re\nre.match(r'(a|a)*(?=c)$', 'a' * 60 + 'b')", monty="time|error|"),
    _loop("after output", "print('begun')\nwhile True: pass"),
    _memory("one list", "x = [0] * 10 ** 10"),
    _memory("one text", "x = 'a' * 10 ** 10"),
    _memory("one bytes", "x = bytes(10 ** 10)"),
    _memory("growing list", "x = []\nwhile True: x.append('a' * 10 ** 6 + str(len(x)))"),
    _memory("growing dict", "x = {}\nwhile True: x[len(x)] = [0] * 10 ** 5"),
    _memory("doubling", "x = [1]\nwhile True: x = x + x"),
    _memory(
        "caught",
        "x = []\nwhile True:\n    try: x.append('a' * 10 ** 7)\n    except MemoryError: pass",
        endless=True,
        bwrap="time",
        unsafe="time",
    ),
    _memory("padding", "'{:>10000000000}'.format(1)", bwrap="memory|error", unsafe="memory|error"),
    _memory("nested tuples", "x = ()\nwhile True: x = (x, [0] * 10 ** 4)"),
    _numbers("power", "x = 3 ** 10 ** 9"),
    _numbers("power that fits the memory", "x = 3 ** 10 ** 8"),
    _numbers("power of powers", "x = 9 ** 9 ** 9"),
    _numbers("shift", "x = 1 << 10 ** 12", bwrap="memory|error", unsafe="memory|error"),
    _numbers("growing shift", "x = 1\nwhile True: x = x << 10 ** 6"),
    _numbers("factorial", "import math\nmath.factorial(10 ** 7)"),
    _numbers("comb", "import math\nmath.comb(10 ** 8, 5 * 10 ** 7)"),
    _numbers("digits", "print(7 ** 500000)", bwrap="error|time", unsafe="error|time", monty="error|time"),
    _numbers("to int", "int('9' * 100000)", bwrap="error|time", unsafe="error|time", monty="error|time"),
    _numbers("replace", "'a' * 10 ** 6 and ('a' * 10 ** 5).replace('a', 'b' * 10 ** 6)"),
    _output("one print", "print('x' * 10 ** 7)"),
    _output("prints", "while True: print('x' * 100)", bwrap="output", monty="output"),
    _output("short prints", "while True: print(1)"),
    _output("without newlines", "while True: print('x', end='')"),
    _output("last line", "'x' * 10 ** 7"),
    _output("to stderr", "import sys\nwhile True: print('x' * 1000, file=sys.stderr)"),
    _output("wide characters", "print('\\U0001F600' * 10 ** 6)"),
    _output("and then an error", "print('x' * 10 ** 5)\n1 / 0"),
    _depth("recursion", "def f(): return f()\nf()", "error"),
    _depth(
        "recursion caught",
        "def f():\n    try: return f()\n    except RecursionError: return f()\nf()",
        "time|error|killed",
        endless=True,
    ),
    _depth("recursive repr", "x = []\nfor _ in range(100000): x = [x]\nrepr(x)", "error|output", monty="error|output|"),
    _depth("parentheses", "(" * 5000 + "1" + ")" * 5000, "error|memory"),
    _depth("minus", "-" * 15000 + "1", "error|memory|killed"),
    _depth("sum of ones", "+".join(["1"] * 9000), "error||memory|killed"),
    _depth("blocks", "".join(" " * i + "if 1:\n" for i in range(150)) + " " * 150 + "pass", "error", monty=""),
    _depth(
        "recursion limit",
        "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(x): return f([x])\nf(0)",
        "killed|memory|error|time",
        endless=True,
    ),
    _depth("compile", "compile('(' * 10 ** 5, 'x', 'eval')", "error|memory", monty="error"),
    _processes("fork bomb", "import os\nwhile True: os.fork()"),
    _processes("patient fork bomb", "import os, time\nwhile True:\n    os.fork()\n    time.sleep(0.001)"),
    _processes(
        "fork bomb that catches",
        "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    ),
    _processes("forks in sessions of their own", "import os\nwhile True:\n    if os.fork() == 0: os.setsid()"),
    _processes(
        "threads",
        "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(100,)).start()",
        endless=True,
        bwrap="processes|memory|error|time",
    ),
    _processes("subprocess", "import subprocess\nsubprocess.run(['/bin/sh', '-c', 'echo out'])", bwrap="error"),
    _processes("system", "import os\nprint(os.system('cat /etc/passwd'))", bwrap=""),
    _processes(
        "a child that stays",
        "import os, time\nif os.fork() == 0:\n    while True: time.sleep(1)\nprint('left')",
        bwrap="",
    ),
    _processes(
        "a child that floods memory",
        "import os, time\nfor i in range(5):\n    if os.fork() == 0:\n"
        "        x = 'a' * (30 << 20)\n        time.sleep(9)\ntime.sleep(9)",
        bwrap="memory",
    ),
    _files("passwd", "print(open('/etc/passwd').read())", "error", secret=_ROOT),
    _files("through pathlib", "import pathlib\nprint(pathlib.Path('/etc/passwd').read_text())", "error", secret=_ROOT),
    _files(
        "home", "import os\nprint(os.listdir(os.path.expanduser('~')), os.listdir('/home'))", "error", "error|refused"
    ),
    _files("the tests", f"print(open({__file__!r}).read())", "error", secret=("Hostile",)),
    _files(
        "environ of a process", "print(open('/proc/self/environ', 'rb').read())", "error", secret=("PYTHONHASHSEED",)
    ),
    _files("memory of the parent", "open('/proc/1/mem', 'rb').read(1)", "error"),
    _files("write to the root", "open('/written', 'w').write('x')", "refused"),
    _files("write to the library", "import os, math\nopen(os.__file__, 'a').write('x')", "refused", "error"),
    _files("write to a device", "open('/dev/sda', 'wb').write(b'x')", "refused"),
    _files("dots", "open('../../../../../../etc/shadow').read()", "error"),
    _files("link", "import os\nos.symlink('/etc/passwd', 'p')\nopen('p').read()", "error", "error|refused"),
    _files("remove everything", "import shutil\nshutil.rmtree('/')", "refused", "error"),
    _disk("one large file", "f = open('/tmp/x', 'wb')\nwhile True: f.write(b'x' * 10 ** 6)", "refused"),
    _disk("many files", "i = 0\nwhile True:\n    i += 1\n    open(f'/tmp/{i}', 'w').write('x')", "refused"),
    _disk("a sparse file", "import os\nos.truncate(os.open('/tmp/x', os.O_CREAT | os.O_RDWR), 10 ** 12)", "refused"),
    _disk(
        "memory files",
        "import os\nwhile True: os.write(os.memfd_create('x'), b'x' * 10 ** 6)",
        "refused",
        "error",
    ),
    _disk("shared memory", "open('/dev/shm/x', 'wb').write(b'x' * 10 ** 8)", "error|refused"),
    _network("connect", "import socket\nsocket.create_connection(('127.0.0.1', 22), 1)"),
    _network("listen", "import socket\ns = socket.socket()\ns.bind(('', 8080))\ns.listen()"),
    _network("urllib", "import urllib.request\nurllib.request.urlopen('http://example.org', timeout=1)"),
    _network("name server", "import socket\nsocket.getaddrinfo('example.org', 80)"),
    _network("unix socket", "import socket\nsocket.socket(socket.AF_UNIX).connect('/var/run/docker.sock')"),
    _network("netlink", "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)"),
    _escape(
        "subclasses",
        "for c in ().__class__.__bases__[0].__subclasses__():\n"
        "    if c.__name__ == 'Popen': print(c(['id']))\nprint('nothing')",
        "error|",
    ),
    _escape(
        "globals of a function",
        "def f(): pass\nprint(open(f.__globals__['__file__']).read())",
        "error",
        "error|refused",
    ),
    _escape("builtins", "print(__builtins__.__dict__['__import__']('os').listdir('/etc'))", "error"),
    _escape("import by parts", "__import__('o' + 's').listdir('/root/.ssh')", "error|refused"),
    _escape(
        "frames", "import sys\nf = sys._getframe()\nwhile f: f = f.f_back or print(sorted(f.f_locals)[:99])", "|error"
    ),
    _escape("importlib", "import importlib\nimportlib.import_module('esagent')", "error"),
    _escape("ctypes null pointer", "import ctypes\nctypes.string_at(0)", "killed"),
    _escape("ctypes mount", "import ctypes\nc = ctypes.CDLL(None)\nprint(c.mount(b'/', b'/tmp', b'', 4096, 0))", ""),
    _escape(
        "ctypes new user namespace",
        "import ctypes\nc = ctypes.CDLL(None)\nassert c.unshare(0x10000000) == 0, 'refused'",
        "error",
    ),
    _escape(
        "ctypes clone with a namespace",
        "import ctypes\nc = ctypes.CDLL(None)\nassert c.syscall(56, 0x10000011, 0, 0, 0, 0) >= 0, 'refused'",
        "error",
    ),
    _escape(
        "ctypes ptrace", "import ctypes\nc = ctypes.CDLL(None)\nassert c.ptrace(16, 2, 0, 0) == 0, 'refused'", "error"
    ),
    _escape(
        "ctypes shared memory",
        "import ctypes\nc = ctypes.CDLL(None)\nassert c.shmget(1, 1 << 20, 0o1666) >= 0, 'refused'",
        "error",
    ),
    _escape("chroot", "import os\nos.chroot('/tmp')", "refused"),
    _escape("setuid", "import os\nos.setuid(12345)", "error|refused"),
    _escape(
        "code object",
        "def f(): pass\nf.__code__ = f.__code__.replace(co_code=b'\\xff' * 64)\nf()",
        "error|killed||memory",
    ),
    _escape("pickle", "import pickle\npickle.loads(b'cos\\nsystem\\n(S\"cat /etc/passwd\"\\ntR.')", "", secret=_ROOT),
    _escape(
        "descriptors",
        "import os\nfor d in range(3, 1000):\n    try: print(d, os.read(d, 99))\n    except OSError: pass",
        "",
        "error",
    ),
    _kill("the parent", "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)", "error|killed|"),
    _kill("everybody", "import os, signal\nos.kill(-1, signal.SIGKILL)", "error|"),
    _kill(
        "the first processes",
        "import os\nfor p in range(2, 300):\n    try: os.kill(p, 9)\n    except OSError: pass",
        "",
    ),
    _kill("the process group", "import os\nos.killpg(0, 9)", "killed|error|"),
    _kill("itself", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", "killed|"),
    _kill("abort", "import os\nos.abort()", "killed"),
    _kill(
        "all signals ignored",
        "import signal\nfor s in signal.valid_signals():\n"
        "    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
        "while True: pass",
        "time",
        endless=True,
    ),
    _kill(
        "an alarm without end",
        "import signal\nsignal.signal(14, lambda *a: signal.alarm(1))\nsignal.alarm(1)\nwhile True: pass",
        "time",
        endless=True,
    ),
    _kill("a higher limit", "import resource\nresource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "error|refused"),
    _fake("a reply in JSON", 'print(\'{"ok": true, "output": "42", "reason": ""}\')\n1 / 0', "error", "error"),
    _fake(
        "a frame on every descriptor",
        'import os\nm = b\'\\0\\0\\0*\' + b\'{"ok": true, "output": "42", "reason": ""} \'\n'
        "for d in range(3, 200):\n    try: os.write(d, m)\n    except OSError: pass\n1 / 0",
        "error",
        "error",
    ),
    _fake("an exit that looks well", "print(42)\nimport os\nos._exit(0)", "", "error"),
    _fake("an exit that looks like a limit", "import os\nos._exit(71)", "memory", "error"),
    _fake("another print", "print = None\n1 + 1", "", ""),
    _fake("a closed output", "import os\nos.close(1)\nos.close(2)\nprint(1)", "error|refused", "error"),
    _fake("an error that fails", "class E(Exception):\n    def __str__(self): 1 / 0\nraise E", "error", "error"),
)
"""At least 60 programs, some of each sort."""
