"""Writes random programs of the accepted subset, each statement tried on sample values as it is written.

    write(seed)  →  Program(text, args, argnums)

What a name holds is known by its sample, so shapes fit without a type system: what raises is thrown away. In a branch or
a loop a name that existed before keeps its kind.
"""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np

from tests.random import expressions as texts
from tests.random.program import Program

NAMES = (
    "y z u w h r p q total kept x_bar t y_bar acc value result items_0 out loss_dot known e mean_z i_1 first last f_grad".split()
)
LARGEST = 50.0
_HOLE = re.compile(r"\{([xyabstnc])\}")
Env = dict[str, Any]


class Impossible(Exception):
    """No expression of the wanted kind was found."""


def write(seed: int, size: int = 6) -> Program:
    while True:
        try:
            with np.errstate(all="ignore"):
                return Writer(seed, size).program()
        except Impossible:
            seed += 1_000_003


def kind(value: Any) -> Any:
    """What a name keeps where paths meet: numbers of a type are one kind, arrays by shape and dtype."""
    if isinstance(value, (bool, int)):
        return type(value)
    if isinstance(value, (float, np.generic, np.ndarray)):
        array = np.asarray(value)
        return array.dtype, array.shape
    return type(value), id(value)


class Writer:
    def __init__(self, seed: int, size: int) -> None:
        self.rng = random.Random(seed)
        self.size = size
        self.lines: list[str] = []
        self.indent = 1
        self.in_loop = False
        self.outer: set[str] = set()  # names of the function around a nested one, which may only be read
        self.module: Env = {"__name__": __name__}
        exec(texts.HELPERS, self.module)
        self.env: Env = {}
        self.containers: Env = {}
        self.fresh = iter([n for n in self.rng.sample(NAMES, len(NAMES))] + [f"v{n}" for n in range(200)])

    # ------------------------------------------------------------ the program

    def program(self) -> Program:
        rng = self.rng
        parameters, args, argnums = [], [], []
        is_single = rng.random() < 0.12
        for n, name in enumerate(rng.sample(["x", "a", "b", "c", "d", "guard", "params", "s"], rng.randint(1, 4))):
            text = self.argument(is_single, must_be_float=n == 0)
            value = eval(text, self.module)
            parameters.append(name)
            args.append(text)
            if self.bind(name, value) and (n == 0 or rng.random() < 0.7):
                argnums.append(n)
        default = ""
        if rng.random() < 0.2:
            default = ", power=2" if rng.random() < 0.5 else ", *, flag=True"
            self.env["power" if "power" in default else "flag"] = 2 if "power" in default else True
        self.statements(self.size)
        self.emit(f"return {self.result()}")
        text = f"{texts.HELPERS}def f({', '.join(parameters)}{default}):\n" + "\n".join(self.lines) + "\n"
        return Program(text, f"({', '.join(args)},)", tuple(argnums))

    def argument(self, is_single: bool, must_be_float: bool) -> str:
        rng = self.rng
        choice = rng.random()
        if must_be_float or choice < 0.62:
            return self.leaf(is_single)
        if choice < 0.67:
            return str(rng.choice([2, 3, True, False]))
        if choice < 0.71:
            return rng.choice(["np.array([1, 0, 2])", "np.array([True, False, True])", "'tanh'", "None", "np.array([[1, 2, 0]])"])
        leaves = [self.leaf(is_single) for _ in range(rng.randint(1, 3))]
        sort = rng.choice(["list", "tuple", "dict", "Point", "State", "pairs", "floats", "long", "arrays"])
        match sort:
            case "list":
                return f"[{', '.join(leaves)}]"
            case "tuple":
                return f"({', '.join(leaves)}, ({self.number()}, {self.leaf(is_single)}))"
            case "dict":
                return "{" + ", ".join(f"{k!r}: {v}" for k, v in zip("wbk", leaves)) + "}"
            case "Point" | "State":
                return f"{sort}({leaves[0]}, {leaves[-1]})"
            case "pairs":
                return f"[({leaves[0]}, {self.number()}), ({leaves[0]}, {self.number()})]"
            case "floats":
                return f"[{self.number()}, {self.number()}]"
            case "long":
                return "[" + ", ".join(self.number() for _ in range(10)) + "]"
            case _:
                shape = rng.choice([(3,), (2, 3), (1,)])
                return f"[{', '.join(self.array(shape, is_single) for _ in range(rng.choice([2, 3, 9])))}]"

    def leaf(self, is_single: bool) -> str:
        rng = self.rng
        if rng.random() < 0.3:
            return rng.choice(["{}", "{}", "np.float64({})" if not is_single else "np.float32({})", "np.array({})"]).format(
                self.number()
            )
        shape = rng.choice(
            [
                (3,),
                (3,),
                (1,),
                (2,),
                (2, 3),
                (3, 3),
                (3, 1),
                (1, 3),
                (1, 1),
                (2, 1),
                (3, 2),
                (2, 3, 1),
                (1, 2, 3),
                (2, 2, 3),
                (3, 1, 2),
            ]
        )
        return self.array(shape, is_single)

    def number(self) -> str:
        return repr(round(self.rng.uniform(-1.5, 1.5), 3) or 0.5)

    def array(self, shape: tuple[int, ...], is_single: bool) -> str:
        def nested(axes: tuple[int, ...]) -> str:
            return self.number() if not axes else "[" + ", ".join(nested(axes[1:]) for _ in range(axes[0])) + "]"

        return f"np.array({nested(shape)}" + (", dtype=np.float32)" if is_single else ")")

    def bind(self, path: str, value: Any) -> bool:
        """Make an argument's leaves known by their paths; whether one has a derivative."""
        if isinstance(value, dict):
            self.containers[path] = value
            return any([self.bind(f"{path}[{k!r}]", v) for k, v in value.items()])
        if hasattr(value, "_fields") or hasattr(value, "energy"):
            self.containers[path] = value
            fields = ("a", "b") if hasattr(value, "_fields") else ("u", "v")
            return any([self.bind(f"{path}.{k}", getattr(value, k)) for k in fields])
        if isinstance(value, (tuple, list)):
            self.containers[path] = value
            return any([self.bind(f"{path}[{n}]", v) for n, v in enumerate(value)])
        if value is None or isinstance(value, str):
            self.containers[path] = value
            return False
        self.env[path] = value
        return isinstance(value, float) or (not isinstance(value, int) and value.dtype.kind == "f")

    def result(self) -> str:
        """A scalar that depends on several of the names."""
        names = [n for n, v in self.env.items() if np.asarray(v).dtype.kind == "f"]
        recent = names[-3:] + self.rng.sample(names, min(2, len(names)))
        parts = []
        for name in dict.fromkeys(recent):
            value = self.env[name]
            parts.append(
                name
                if isinstance(value, float)
                else self.rng.choice([f"np.sum({name})", f"np.mean({name} * {name})", f"{name}.sum()", f"np.sum(np.sin({name}))"])
            )
        return f" {self.rng.choice('+*-+')} ".join(parts)

    # ------------------------------------------------------------ expressions

    def evaluated(self, text: str) -> Any:
        return eval(text, self.module, _Scope(self.env, self.containers))

    def filled(self, template: str, depth: int) -> str:
        filled: dict[str, str] = {}

        def fill(match: re.Match[str]) -> str:
            if match[1] not in filled:
                filled[match[1]] = one(match[1])
            return filled[match[1]]

        def one(hole: str) -> str:
            if hole == "n":
                return self.rng.choice(["0", "-1", "1", "0", "None"])
            if hole == "c":
                return self.condition(depth)
            part = self.operand({"x": "any", "y": "any", "a": "array", "b": "array", "s": "scalar", "t": "scalar"}[hole], depth)
            return part if re.fullmatch(r"[\w.]+(\[[^ ]*\])?|\w[\w.]*\([^()]*\)", part) else f"({part})"

        return _HOLE.sub(fill, template)

    def operand(self, want: str, depth: int) -> str:
        rng = self.rng
        if want == "scalar" and rng.random() < 0.15:
            return rng.choice(["0.5", "2.0", "1.5", "2", "3", "K"])
        names = [n for n, v in self.env.items() if want == "any" or (np.ndim(v) > 0) == (want == "array")]
        if names and (depth <= 0 or rng.random() < 0.7):
            return rng.choice(names[-5:] if rng.random() < 0.6 else names)
        if depth <= -2:
            raise Impossible
        return self.expression(want, depth - 1)

    def expression(self, want: str = "any", depth: int = 1, like: Any = None) -> str:
        """An expression that has a reasonable value; of the kind of `like` if that is given."""
        rng = self.rng
        for _ in range(60):
            if want == "any":
                pool = rng.choice([texts.ANY_EXPRESSIONS, texts.ARRAY_EXPRESSIONS, texts.SCALAR_EXPRESSIONS])
            else:
                pool = rng.choice(
                    [texts.ANY_EXPRESSIONS, texts.ARRAY_EXPRESSIONS if want == "array" else texts.SCALAR_EXPRESSIONS]
                )
            try:
                text = self.filled(rng.choice(pool), depth)
                value = self.evaluated(text)
            except Impossible:
                continue
            except Exception:
                continue
            if not isinstance(value, (float, np.generic, np.ndarray)) or np.asarray(value).dtype not in (np.float64, np.float32):
                continue
            if np.size(value) == 0 or np.size(value) > 40:
                continue
            if not np.all(np.abs(value) < LARGEST) or (want == "array") == (np.ndim(value) == 0) and want != "any":
                continue
            if like is None or kind(value) == kind(like):
                return text
        raise Impossible

    def condition(self, depth: int = 0) -> str:
        for _ in range(40):
            try:
                text = self.filled(self.rng.choice(texts.CONDITION_EXPRESSIONS), min(depth, 0))
                if isinstance(self.evaluated(text), (bool, np.bool_)):
                    return text
            except Exception:
                continue
        raise Impossible

    # ------------------------------------------------------------ statements

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    def assign(self, name: str, text: str) -> None:
        value = self.evaluated(text)
        self.emit(f"{name} = {text}")
        self.env.pop(name, None)
        self.env[name] = value

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.statement()

    def statement(self) -> None:
        rng = self.rng
        deep = self.indent >= 4
        weights = {
            self.new: 8, self.renew: 5, self.augment: 2, self.unpack: 2, self.branch: 0 if deep else 3, self.count_loop: 0 if deep else 3,
            self.item_loop: 0 if deep else 3, self.while_loop: 0 if deep else 1, self.list_loop: 0 if deep else 3, self.comprehension: 2,
            self.container: 1, self.function: 1, self.early_return: 1, self.jump: 2 if self.in_loop else 0, self.container_loop: 0 if deep else 2,
        }  # fmt: skip
        saved = len(self.lines), dict(self.env), self.indent, self.in_loop, dict(self.containers), self.outer
        for _ in range(4):
            try:
                return rng.choices(list(weights), list(weights.values()))[0]()
            except Exception:  # what raises on the samples is not written
                del self.lines[saved[0] :]
                self.env, self.indent, self.in_loop, self.containers = dict(saved[1]), saved[2], saved[3], dict(saved[4])
                self.outer = saved[5]

    def new(self) -> None:
        self.assign(next(self.fresh), self.expression())

    def locals(self) -> list[str]:
        return [
            n
            for n in self.env
            if n.isidentifier()
            and n not in self.outer
            and n not in ("power", "flag")
            and np.asarray(self.env[n]).dtype.kind == "f"
        ]

    def renew(self) -> None:
        names = self.locals()
        if not names:
            raise Impossible
        name = self.rng.choice(names)
        value = self.env[name]
        try:
            text = self.expression("scalar" if np.ndim(value) == 0 else "array", like=value)
        except Impossible:
            text = self.rng.choice([f"{name} * 0.9 + 0.1", f"np.tanh({name}) * K", f"{name} - 0.3 * {name} ** 2"])
        self.assign(name, text)

    def augment(self) -> None:
        names = [n for n in self.locals() if np.ndim(self.env[n]) == 0 and not isinstance(self.env[n], np.ndarray)]
        if not names:
            raise Impossible
        name = self.rng.choice(names)
        operator = self.rng.choice(["+", "+", "-", "*", "*", "/"])
        operand = self.operand("scalar", 0)
        text = f"{name} {operator} ({operand})"
        value = self.evaluated(text)
        if not abs(value) < LARGEST or kind(value) != kind(self.env[name]):
            raise Impossible
        self.emit(f"{name} {operator}= {operand}")
        self.env[name] = value

    def unpack(self) -> None:
        rng = self.rng
        if rng.random() < 0.3 and len(self.locals()) >= 2:
            a, b = rng.sample(self.locals(), 2)
            if kind(self.env[a]) == kind(self.env[b]):
                self.emit(f"{a}, {b} = {b}, {a} * 0.8")
                self.env[a], self.env[b] = self.env[b], self.evaluated(f"{a} * 0.8")
                return
        values = [self.expression() for _ in range(4)]
        a, b, c, d = (next(self.fresh) for _ in range(4))
        pattern, text = rng.choice([
            (f"{a}, {b}, {c}, {d}", f"{values[0]}, {values[1]}, {values[2]}, {values[3]}"),
            (f"({a}, {b}), [{c}, {d}]", f"({values[0]}, {values[1]}), [{values[2]}, {values[3]}]"),
            (f"{a}, ({b}, *{c}_), {d}", f"{values[0]}, ({values[1]}, {values[2]}), {values[3]}"),
            (f"*{a}_, {d}", f"[{values[0]}, {values[1]}, {values[3]}]"),
            (f"{a}, {b}", f"pair({values[0]})"),
            (f"{a} = {b}", values[0]),
        ])  # fmt: skip
        self.emit(f"{pattern} = {text}")
        scope = dict(_Scope(self.env, self.containers))
        exec(f"{pattern} = {text}", self.module, scope)
        for name in (a, b, c, d):
            if name in scope:
                self.env[name] = scope[name]
            elif f"{name}_" in scope:
                self.bind(f"{name}_", scope[f"{name}_"])

    def block(self, count: int, *, in_loop: bool | None = None) -> Env:
        """A block; names keep their kinds in it. The names at its end."""
        saved, containers, was = dict(self.env), dict(self.containers), self.in_loop
        self.in_loop = was if in_loop is None else in_loop
        self.indent += 1
        start = len(self.lines)
        self.statements(count)
        if len(self.lines) == start:
            self.emit("pass")
        self.indent -= 1
        after = self.env
        self.env, self.containers, self.in_loop = saved, containers, was
        return after

    def branch(self) -> None:
        rng = self.rng
        self.emit(f"if {self.condition()}:")
        ends = [self.block(rng.randint(1, 3))]
        if rng.random() < 0.3:
            self.emit(f"elif {self.condition()}:")
            ends.append(self.block(rng.randint(1, 2)))
        has_else = rng.random() < 0.7
        if has_else:
            self.emit("else:")
            self.indent += 1
            for name in [n for n in ends[0] if n not in self.env and n.isidentifier() and rng.random() < 0.6]:
                value = ends[0][name]
                try:
                    self.assign(name, self.expression("scalar" if np.ndim(value) == 0 else "array", like=value))
                except Impossible:
                    continue
            self.indent -= 1
            ends.append(self.block(rng.randint(1, 2)))
        else:
            ends.append(self.env)
        common = {n: v for n, v in ends[0].items() if all(n in e and kind(e[n]) == kind(v) for e in ends)}
        self.env = {**self.env, **common}

    def loop(self, header: str, names: Env, count: int | None = None, *, leaves: bool = False) -> None:
        """A loop with these targets; sometimes with an else, sometimes its names live on."""
        rng = self.rng
        saved = dict(self.env)
        self.emit(header)
        self.env.update(names)
        after = self.block(count or rng.randint(1, 4), in_loop=True)
        self.env = saved
        if rng.random() < 0.12:
            self.emit("else:")
            self.block(1)
        if leaves and rng.random() < 0.4:
            self.env.update(names)
        if leaves and rng.random() < 0.3:
            self.env.update({n: v for n, v in after.items() if n not in self.env and n.isidentifier()})

    def accumulator(self) -> None:
        if self.rng.random() < 0.5:
            name = next(self.fresh)
            self.assign(name, self.rng.choice(["0.0", "1.0", self.expression()]))

    def count_loop(self) -> None:
        rng = self.rng
        self.accumulator()
        i = rng.choice(["i", "j", "k", "_"])
        header = rng.choice(["range(3)", "range(1, 4)", "range(2, -1, -1)", "range(0, 6, 2)", "range(0)", "reversed(range(3))"])
        names = {} if i == "_" else {i: 1}
        arrays = [n for n in self.env if np.ndim(self.env[n]) > 0]
        if arrays and rng.random() < 0.4:
            name = rng.choice(arrays)
            header = rng.choice(
                [f"range(len({name}))", f"range({name}.shape[0])", f"range({name}.shape[-1] - 1)", f"range(1, len({name}))"]
            )
            names = {} if i == "_" else {i: 0 if "(1" not in header else 1}
        self.loop(f"for {i} in {header}:", names, leaves=header.startswith("range(3"))

    def item_loop(self) -> None:
        rng = self.rng
        self.accumulator()
        arrays = [n for n in self.env if np.ndim(self.env[n]) > 0]
        if not arrays:
            raise Impossible
        a = rng.choice(arrays)
        item = self.env[a][0]
        v, w = next(self.fresh), next(self.fresh)
        others = [n for n in arrays if len(self.env[n]) == len(self.env[a])]
        b = rng.choice(others)
        i = rng.choice(["i", "j", "n"])
        header, names = rng.choice([
            (f"{v} in {a}", {v: item}), (f"{v} in {a}", {v: item}), (f"{i}, {v} in enumerate({a})", {i: 0, v: item}), (f"{i}, {v} in enumerate({a}, 1)", {i: 1, v: item}),
            (f"{i}, {v} in enumerate({a}, start=2)", {i: 2, v: item}), (f"{v}, {w} in zip({a}, {b})", {v: item, w: self.env[b][0]}), (f"{v} in reversed({a})", {v: item}),
            (f"{i}, ({v}, {w}) in enumerate(zip({a}, {b}))", {i: 0, v: item, w: self.env[b][0]}), (f"{v} in {a}[::-1]", {v: item}), (f"{v} in {a}[1:]", {v: item}),
            (f"{v}, {w} in zip({a}[:-1], {b}[1:])", {v: item, w: self.env[b][0]}), (f"{i}, {v} in zip(range(len({a})), {a})", {i: 0, v: item}),
        ])  # fmt: skip
        self.loop(f"for {header}:", names, leaves=True)

    def container_loop(self) -> None:
        rng = self.rng
        options = []
        v = next(self.fresh)
        for path, value in self.containers.items():
            if (
                isinstance(value, list)
                and value
                and not isinstance(value[0], (tuple, list))
                and len({kind(x) for x in value}) == 1
            ):
                options += [
                    (f"{v} in {path}", {v: value[0]}),
                    (f"{v} in reversed({path})", {v: value[-1]}),
                    (f"i, {v} in enumerate({path})", {"i": 0, v: value[0]}),
                ]
            if isinstance(value, list) and value and isinstance(value[0], tuple):
                options.append((f"{v}, h_1 in {path}", {v: value[0][0], "h_1": value[0][1]}))
            if isinstance(value, dict) and len({kind(x) for x in value.values()}) == 1:
                first = next(iter(value.values()))
                options += [(f"key, {v} in {path}.items()", {v: first}), (f"{v} in {path}.values()", {v: first})]
        if not options:
            names = [n for n in self.env if np.asarray(self.env[n]).dtype.kind == "f"]
            name = rng.choice(names)
            options = [
                (f"{v} in ({name}, {name} * 0.5)", {v: self.env[name]}),
                (f"{v} in [{name}, {name} + 1, {name} * K]", {v: self.env[name]}),
            ]
        self.accumulator()
        header, names = rng.choice(options)
        self.loop(f"for {header}:", names, leaves=True)

    def while_loop(self) -> None:
        rng = self.rng
        n = next(self.fresh)
        self.emit(f"{n} = 0")
        self.env[n] = 0
        condition = f"{n} < {rng.randint(1, 4)}"
        if rng.random() < 0.5:
            condition += f" and {self.condition()}"
        self.emit(f"while {condition}:")
        self.indent += 1
        self.emit(f"{n} += 1")
        self.indent -= 1
        self.env[n] = 1
        self.block(rng.randint(1, 3), in_loop=True)
        if rng.random() < 0.2:
            self.emit("else:")
            self.block(1)

    def list_loop(self) -> None:
        """A list that grows in a loop, then is read."""
        rng = self.rng
        items, v = next(self.fresh), next(self.fresh)
        self.emit(f"{items} = []" if rng.random() < 0.7 else f"{items} = list()")
        arrays = [n for n in self.env if np.ndim(self.env[n]) > 0]
        header, names = f"for i in range({rng.choice(['3', '4', '2'])}):", {"i": 1}
        if arrays and rng.random() < 0.6:
            a = rng.choice(arrays)
            header, names = f"for {v} in {a}:", {v: self.env[a][0]}
        saved = dict(self.env)
        self.emit(header)
        self.env.update(names)
        self.indent += 1
        was, self.in_loop = self.in_loop, True
        self.statements(rng.randint(0, 2))
        item = self.expression()
        value = self.evaluated(item)
        if rng.random() < 0.3:
            self.emit(f"if {self.condition()}:")
            self.emit(f"    {items}.append({item})")
        else:
            self.emit(f"{items}.append({item})")
        if rng.random() < 0.2:
            self.statements(1)
        self.in_loop = was
        self.indent -= 1
        self.env = saved
        self.containers[items] = [value, value]
        name = next(self.fresh)
        read = rng.choice(
            [
                f"sum({items})",
                f"np.sum({items})",
                f"{items}[-1] * {items}[0]",
                f"np.stack({items})",
                f"np.array({items})",
                f"np.mean(np.stack({items}), axis=0)",
                f"sum({items}[1:])",
                f"len({items}) * {items}[0]",
            ]
        )
        if np.ndim(value) > 0 and rng.random() < 0.3:
            read = f"np.concatenate({items})"
        saved_value = self.evaluated(read)
        if np.asarray(saved_value).dtype.kind != "f":
            raise Impossible
        self.emit(f"{name} = {read}")
        # How many items there are is not known here: the sample is used only where the shape doesn't depend on it.
        if not read.startswith(("np.stack", "np.array", "np.concatenate")):
            self.env[name] = saved_value
        else:
            self.emit(f"{name} = np.sum({name}{rng.choice(['', ' * ' + name, ', axis=0'])})")
            self.env[name] = eval(self.lines[-1].split("=", 1)[1].strip(), self.module, {name: saved_value})

    def comprehension(self) -> None:
        rng = self.rng
        arrays = [n for n in self.env if np.ndim(self.env[n]) > 0]
        if not arrays:
            raise Impossible
        a = rng.choice(arrays)
        saved = dict(self.env)
        variable = rng.choice(["v", "e", "row"])
        self.env[variable] = self.env[a][0]
        item = self.expression()
        condition = f" if {self.condition()}" if rng.random() < 0.4 else ""
        self.env = saved
        read = rng.choice(
            ["sum([{}])", "sum({})", "np.sum(np.stack([{}]))", "np.sum([{}], axis=0)", "sum([{}]) / 3", "np.mean([{}])"]
        )
        name = next(self.fresh)
        text = read.format(f"{item} for {variable} in {a}{condition}")
        try:
            value = self.evaluated(text)
        except Exception:
            raise Impossible from None
        if np.asarray(value).dtype.kind != "f" or not np.all(np.abs(value) < LARGEST):
            raise Impossible
        self.assign(name, text)

    def container(self) -> None:
        """A local tuple, list, dict or record, read by its parts from then on."""
        rng = self.rng
        values = [self.expression() for _ in range(2)]
        name = next(self.fresh)
        text = rng.choice([
            "({0}, {1})", "[{0}, {1}]", "{{'m': {0}, 'v': {1}}}", "Point({0}, {1})", "State({0}, v={1})", "dict(m={0}, v={1})", "Point(b={0}, a={1})", "({0}, ({1}, {0}))", "[({0}, {1})]",
        ]).format(*values)  # fmt: skip
        self.emit(f"{name} = {text}")
        self.bind(name, self.evaluated(text))

    def function(self) -> None:
        """A nested function that reads a name from around it, called on the spot and kept for later."""
        rng = self.rng
        name, u = next(self.fresh), next(self.fresh)
        argument = self.expression()
        saved = dict(self.env)
        self.env[u] = self.evaluated(argument)
        if rng.random() < 0.4:
            body = self.expression()
            self.emit(f"{name} = lambda {u}: {body}")
        else:
            self.emit(f"def {name}({u}, k_1=0.5):")
            self.env["k_1"] = 0.5
            start = len(self.lines)
            was, self.in_loop = self.in_loop, False
            outer, self.outer = self.outer, set(saved)
            self.indent += 1
            if rng.random() < 0.5:
                self.emit(f"if {self.condition()}:")
                self.emit(f"    return {u} * k_1")
            self.statements(1)
            body = u if any("return" in line for line in self.lines[start:]) else self.expression()
            self.emit(f"return {body}")
            self.in_loop, self.outer = was, outer
            self.indent -= 1
        self.env = saved
        lines = [line[4 * self.indent :] for line in self.lines]
        first = max(i for i, line in enumerate(lines) if line.startswith((f"{name} = lambda", f"def {name}(")))
        scope = dict(_Scope(self.env, self.containers))
        try:
            exec("\n".join(lines[first:]), {**self.module, **scope}, scope)
            value = eval(f"{name}({argument})", {**self.module, **scope})
        except Exception:
            raise Impossible from None
        if np.asarray(value).dtype.kind != "f" or not np.all(np.abs(value) < LARGEST):
            raise Impossible
        result = next(self.fresh)
        self.emit(f"{result} = {name}({argument})")
        self.env[result] = value

    def early_return(self) -> None:
        self.emit(f"if {self.condition()}:")
        self.emit(f"    return {self.result()}")

    def jump(self) -> None:
        self.emit(f"if {self.condition()}:")
        self.emit(f"    {self.rng.choice(['break', 'continue'])}")


class _Scope(dict):  # type: ignore[type-arg]
    """The names of an environment; paths such as `p.a` are read from the containers."""

    def __init__(self, env: Env, containers: Env) -> None:
        super().__init__({n: v for d in (containers, env) for n, v in d.items() if n.isidentifier()})
