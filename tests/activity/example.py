"""Logical stacks in Python, by ctypes: a context manager is all that a program needs.

    python3 example.py libtreadle-activity.so       runs until its standard input ends"""

import contextlib
import ctypes
import sys
import threading
import time

library = ctypes.CDLL(sys.argv[1])
library.treadle_activity_push.restype = ctypes.c_uint64
library.treadle_activity_push.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
library.treadle_activity_push_number.restype = ctypes.c_uint64
library.treadle_activity_push_number.argtypes = [ctypes.c_char_p, ctypes.c_int64]
library.treadle_activity_pop_to.argtypes = [ctypes.c_uint64]


@contextlib.contextmanager
def activity(identifier, parameter=None):
    if isinstance(parameter, int):
        mark = library.treadle_activity_push_number(identifier.encode(), parameter)
    else:
        mark = library.treadle_activity_push(identifier.encode(), parameter and parameter.encode())
    try:
        yield
    finally:
        library.treadle_activity_pop_to(mark)


def work():
    while True:
        with activity("query"):
            with activity("scan", "ORDERS"):
                time.sleep(0.02)
            with activity("batch", 7):
                time.sleep(0.02)


threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
sys.stdin.read()
