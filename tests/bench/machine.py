"""What a table must say of the machine and the JDK that it was measured with."""

import os
import platform
import re
from pathlib import Path


def facts():
    match = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.M)
    processor = match[1] if match else platform.machine()
    return f"{processor}, {os.cpu_count()} processors, Linux {platform.release()}"


def jdk_version(jdk):
    release = (Path(jdk) / "release").read_text()
    return re.search(r'^JAVA_(?:RUNTIME_)?VERSION="(.*)"', release, re.M)[1]


def jdk_major(jdk):
    return int(re.match(r"\d+", jdk_version(jdk))[0])
