#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a search space of 10^12 combinations, of which about 10^7 are valid, with its exact count in the head: that is
counted here without looking at the points one by one, so that it can hold hone to it.

    bench/space/generate.py tiles > tiles.yaml
    bench/space/generate.py products --limit 2000 > products.yaml

tiles: six parameters of 100 values, bounds on products as tiled kernels have. products: twelve parameters of 10 values in
pairs that divide each other, and a bound on the product of all.
"""
import argparse
import collections


def write(kernel, count, parameters, constraints):
    combinations = 1
    for values in parameters.values():
        combinations *= len(values)
    print(f"# {kernel}: made by bench/space/generate.py.")
    print(f"# {combinations} points before the constraints, {count} after.")
    print(f"kernel: {kernel}\nparameters:")
    for name, values in parameters.items():
        print(f"  {name}: {{range: [{values[0]}, {values[-1]}]}}")
    print("constraints:")
    for constraint in constraints:
        print(f'  - "{constraint}"')


def tiles(limit):
    """Pairs of block and of tile sizes, then what shared memory leaves; the divisors of each unroll are counted apart."""
    parameters = {name: range(1, 101) for name in ("block_x", "block_y", "tile_x", "tile_y", "unroll", "stages")}
    blocks = [(x, y) for x in range(1, 101) for y in range(1, 101) if x * y <= 200]
    sizes = [(x, y) for x in range(1, 101) for y in range(1, 101) if x * y <= 256]
    unrolls = [0] * 101
    for most in range(1, 101):
        unrolls[most] = unrolls[most - 1] + 100 // most
    count = 0
    for block_x, block_y in blocks:
        fitting = sum((block_x * x + 2) * (block_y * y + 2) * 4 <= limit for x, y in sizes)
        count += fitting * unrolls[block_x]
    write("tiles", count, parameters, [
        "block_x * block_y <= 200",
        "tile_x * tile_y * 4 <= 1024",
        f"(block_x * tile_x + 2) * (block_y * tile_y + 2) * 4 <= {limit}",
        "unroll % stages == 0",
        "stages <= block_x",
    ])


def products(limit):
    parameters = {f"p{i}": range(1, 11) for i in range(12)}
    pairs = collections.Counter(x * y for x in range(1, 11) for y in range(1, 11) if x % y == 0 or y % x == 0)
    counts = collections.Counter({1: 1})
    for _ in range(6):
        longer = collections.Counter()
        for product, count in counts.items():
            for pair, ways in pairs.items():
                if product * pair <= limit:
                    longer[product * pair] += count * ways
        counts = longer
    write("products", sum(counts.values()), parameters,
          [f"p{i} % p{i + 1} == 0 or p{i + 1} % p{i} == 0" for i in range(0, 12, 2)] +
          [" * ".join(parameters) + f" <= {limit}"])


SHAPES = {"tiles": (tiles, 4096), "products": (products, 1500)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("--limit", type=int, help="of shared memory, or of the product: moves the number of valid points")
    arguments = parser.parse_args()
    make, limit = SHAPES[arguments.shape]
    make(arguments.limit or limit)


if __name__ == "__main__":
    main()
