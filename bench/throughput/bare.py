#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the sources that `hone compile --all --sources DIR` wrote in a bare loop of NVRTC calls: WORKERS processes take
one after the other, and nothing else happens. No tuner with as many workers can be faster.

    bare.py DIR WORKERS [KEPT]     prints a line of JSON; KEPT: keeps cubins and logs there, for replay_nvrtc.c
"""

import ctypes
import fcntl
import glob
import json
import mmap
import os
import pathlib
import struct
import sys
import time

OPTIONS = ["-no-cache", "--ptxas-options=-v", "--modify-stack-limit=false", "--std=c++17"]  # as Hone


def find_nvrtc():
    """Where Hone finds it: HONE_NVRTC, the toolkit, else the wheels."""
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    patterns = [os.environ.get("HONE_NVRTC", ""), f"{toolkit}/lib64/libnvrtc.so.1?"]
    patterns += [f"{folder}/nvidia/cu13/lib/libnvrtc.so.1?" for folder in sys.path]
    found = [path for pattern in patterns if pattern for path in sorted(glob.glob(pattern))]
    return found[0] if found else "libnvrtc.so"


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return value


def strings(items):
    return (ctypes.c_char_p * max(len(items), 1))(*[item.encode() for item in items])


def fetch(program, get_size, get):
    size = ctypes.c_size_t()
    get_size(program, ctypes.byref(size))
    data = ctypes.create_string_buffer(max(size.value, 1))
    get(program, data)
    return data.raw[:size.value]


def compile_one(nvrtc, job):
    """Its cubin (None when it does not compile) and log."""
    program = ctypes.c_void_p()
    includes = job["includes"]
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), job["text"].encode(), job["name"].encode(), len(includes),
                             strings([file["text"] for file in includes]), strings([file["name"] for file in includes]))
    options = [f"--gpu-architecture={job['architecture']}"] + OPTIONS + job["options"]
    good = nvrtc.nvrtcCompileProgram(program, len(options), strings(options)) == 0
    log = fetch(program, nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog)
    cubin = fetch(program, nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN) if good else None
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return cubin, log


def take(counter, lock):
    fcntl.flock(lock, fcntl.LOCK_EX)
    index = struct.unpack_from("q", counter)[0]
    struct.pack_into("q", counter, 0, index + 1)
    fcntl.flock(lock, fcntl.LOCK_UN)
    return index


def work(library, jobs, counter, lock):
    nvrtc = ctypes.CDLL(library)
    done = []
    while (index := take(counter, lock)) < len(jobs):
        done.append((jobs[index], *compile_one(nvrtc, jobs[index])))
    return done


def keep(done, folder):
    for job, cubin, log in done:
        stem = pathlib.Path(folder, f"{fnv1a(job['text'].encode()):016x}")
        if cubin is not None:
            stem.with_suffix(".cubin").write_bytes(cubin)
        stem.with_suffix(".log").write_bytes(log.rstrip(b"\0"))


def main():
    folder, workers = sys.argv[1], int(sys.argv[2])
    kept = sys.argv[3] if len(sys.argv) > 3 else None
    library = find_nvrtc()
    jobs = [json.loads(path.read_text()) for path in sorted(pathlib.Path(folder).glob("*.json"))]
    counter = mmap.mmap(-1, mmap.PAGESIZE)
    ends = mmap.mmap(-1, 24 * workers)  # of each worker: when, processor time, good ones
    lock_path = f"{folder}/lock"
    if kept:
        os.makedirs(kept, exist_ok=True)
    start = time.perf_counter()
    for worker in range(workers):
        if os.fork() == 0:
            done = work(library, jobs, counter, os.open(lock_path, os.O_RDWR | os.O_CREAT, 0o600))
            good = sum(cubin is not None for _, cubin, _ in done)
            struct.pack_into("ddq", ends, 24 * worker, time.perf_counter(), time.process_time(), good)
            if kept:
                keep(done, kept)
            os._exit(0)
    for _ in range(workers):
        os.wait()
    rows = [struct.unpack_from("ddq", ends, 24 * worker) for worker in range(workers)]
    json.dump({"points": len(jobs), "good": sum(row[2] for row in rows), "workers": workers,
               "wall_s": max(row[0] for row in rows) - start, "cpu_s": sum(row[1] for row in rows), "nvrtc": library},
              sys.stdout)
    print()


if __name__ == "__main__":
    main()
