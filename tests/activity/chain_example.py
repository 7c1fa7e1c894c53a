"""Activities with ids from Python, through the C library's stable ABI: prints the ids, one a line."""
import ctypes
import sys
import time

library = ctypes.CDLL(sys.argv[1])
library.treadle_activity_begin.restype = ctypes.c_uint64
library.treadle_activity_adopt.restype = ctypes.c_uint64
text = ctypes.create_string_buffer(33)

library.treadle_activity_push(b"first", None)
library.treadle_activity_pop()
print("ready", flush=True)
while sys.stdin.readline():  # once it is watched
    library.treadle_activity_begin(b"request", b"GET")
    library.treadle_activity_id(text)
    sent = text.value
    library.treadle_activity_push(b"inner", None)
    library.treadle_activity_pop()
    library.treadle_activity_pop()
    library.treadle_activity_adopt(sent, b"serve", None)
    time.sleep(0.001)
    library.treadle_activity_pop()
    library.treadle_activity_adopt(b"no id", b"nothing", None)
    library.treadle_activity_pop()
    print(sent.decode(), library.treadle_activity_id(text), flush=True)
