"""The gradient of L = (a·b + c)·f by all four numbers, and the program that computes it."""

from srcdiff import grad


@grad(argnums=("a", "b", "c", "f"))
def L(a, b, c, f):
    e = a * b
    d = e + c
    return d * f


def main():
    numbers = {"a": 2.0, "b": -3.0, "c": 10.0, "f": 5.0}
    gradient = L(**numbers)
    print(f"L = {L.primal(**numbers):g}")
    for name, bar in zip(numbers, gradient):
        print(f"dL/d{name} = {bar:g}")
    print()
    print(L.source_for(**numbers))


if __name__ == "__main__":
    main()
