"""Writes random programs of the accepted subset, each statement tried on sample values as it is written.

    write(seed)  →  Program(text, args, argnums)

In a branch or a loop a name that existed before keeps its kind.
"""

from __future__ import annotations

import copy
import random
import warnings

import numpy as np

from tests.random import arguments
from tests.random import expressions as texts
from tests.random.program import Program
from tests.random.sampling import Env, Impossible, Sampler, is_float, is_reasonable, kind

NAMES = """y z u w h r p q total kept x_bar t y_bar acc value result items_0 out loss_dot known e mean_z i_1 first last f_grad"""


def write(seed: int, size: int = 9) -> Program:
    """The program of a seed; `size` is the largest number of statements outside of blocks."""
    while True:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return Writer(random.Random(seed), size).program()
        except Impossible:
            seed += 1_000_003


class Writer(Sampler):
    def __init__(self, rng: random.Random, size: int) -> None:
        super().__init__(rng)
        self.size = size
        self.lines: list[str] = []
        self.indent = 1
        self.in_loop = False
        self.has_writes = rng.random() < 0.6
        self.outer: set[str] = set()  # names of the function around a nested one, which may only be read
        names = NAMES.split()
        self.fresh = iter([*rng.sample(names, len(names)), *(f"v{n}" for n in range(200))])

    def program(self) -> Program:
        rng = self.rng
        parameters, args, argnums = [], [], []
        is_single = rng.random() < 0.12
        for n, name in enumerate(rng.sample(["x", "a", "b", "c", "d", "guard", "params", "s"], rng.randint(1, 4))):
            text = arguments.leaf(rng, is_single) if n == 0 else arguments.argument(rng, is_single)
            parameters.append(name)
            args.append(text)
            if self.bind(name, eval(text, self.module)) and (n == 0 or rng.random() < 0.7):
                argnums.append(n)
        default = rng.choice([", power=2", ", *, flag=True", *[""] * 8])
        if default:
            self.env["power" if "power" in default else "flag"] = 2 if "power" in default else True
        self.statements(rng.randint(1, self.size))
        self.emit(f"return {self.result()}")
        text = f"{texts.HELPERS}def f({', '.join(parameters)}{default}):\n" + "\n".join(self.lines) + "\n"
        return Program(text, f"({', '.join(args)},)", tuple(argnums))

    def result(self) -> str:
        """A scalar that depends on several of the names."""
        names = [n for n, v in self.env.items() if is_float(v)]
        parts = []
        for name in dict.fromkeys(names[-3:] + self.rng.sample(names, min(2, len(names)))):
            sums = [f"np.sum({name})", f"np.mean({name} * {name})", f"{name}.sum()", f"np.sum(np.sin({name}))"]
            parts.append(name if isinstance(self.env[name], float) else self.rng.choice(sums))
        return f" {self.rng.choice('+*-+')} ".join(parts)

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.indent + line)

    # ------------------------------------------------------------ statements

    def statements(self, count: int) -> None:
        for _ in range(count):
            self.statement()

    def statement(self) -> None:
        """A statement of a random sort; what raises on the samples is not written."""
        weights = {
            self.new: 8, self.renew: 5, self.augment: 2, self.unpack: 2, self.comprehension: 2,
            self.container: 1, self.function: 1, self.early_return: 1,
        }  # fmt: skip
        if self.has_writes:
            weights |= {self.write: 6, self.view: 3, self.buffer: 2, self.fill: 2, self.write_item: 2, self.change: 1}
        if self.indent < 4:
            weights |= {
                self.branch: 3,
                self.count_loop: 3,
                self.item_loop: 3,
                self.container_loop: 2,
                self.while_loop: 1,
                self.list_loop: 3,
            }
        if self.in_loop:
            weights[self.jump] = 2
        lines, env, containers = len(self.lines), dict(self.env), dict(self.containers)
        place = self.indent, self.in_loop, self.outer
        for _ in range(4):
            try:
                return self.rng.choices(list(weights), list(weights.values()))[0]()
            except Exception:
                del self.lines[lines:]
                self.env, self.containers = dict(env), dict(containers)
                self.indent, self.in_loop, self.outer = place
        return None

    def assign(self, name: str, text: str) -> None:
        value = self.evaluated(text)
        self.emit(f"{name} = {text}")
        self.env.pop(name, None)
        self.env[name] = value

    def new(self) -> None:
        self.assign(next(self.fresh), self.expression())

    def own(self) -> list[str]:
        """Names that may be assigned again."""
        return [n for n, v in self.env.items() if n.isidentifier() and n not in self.outer and is_float(v)]

    def renew(self) -> None:
        name = self.rng.choice(self.own())
        try:
            text = self.expression(like=self.env[name])
        except Impossible:
            text = self.rng.choice([f"{name} * 0.9 + 0.1", f"np.tanh({name}) * K", f"{name} - 0.3 * {name} ** 2"])
        self.assign(name, text)

    def augment(self) -> None:
        """On a number, or now and then on an array, which srcdiff may refuse."""
        name = self.rng.choice([n for n in self.own() if self.has_writes or not isinstance(self.env[n], np.ndarray)])
        operator, operand = self.rng.choice("++-**/"), self.operand("scalar", 0)
        value = self.evaluated(f"{name} {operator} ({operand})")
        if not is_reasonable(value) or kind(value) != kind(self.env[name]):
            raise Impossible
        self.emit(f"{name} {operator}= {operand}")
        self.env[name] = value

    def run(self, line: str) -> None:
        """Write a statement that changes something, and change the samples."""
        exec(line, self.scope())
        self.emit(line)

    def write(self) -> None:
        """Into an array: a name's, a view's, or one that a container holds."""
        line = self.filled(self.rng.choice(texts.ARRAY_WRITES), 0)
        target = next(n for n in self.names("array") if line.startswith(n) or f"({n}" in line)
        if not is_float(self.env[target]):
            raise Impossible
        trial = {**self.scope(), **{n: copy.deepcopy(v) for n, v in {**self.containers, **self.env}.items() if n.isidentifier()}}
        exec(line, trial)
        values = [v for v in trial.values() if isinstance(v, np.ndarray) and is_float(v) and v.size]
        if not all(is_reasonable(v) for v in values):
            raise Impossible
        self.run(line)

    def view(self) -> None:
        self.assign(next(self.fresh), self.array_of(texts.VIEW_EXPRESSIONS))

    def buffer(self) -> None:
        self.assign(next(self.fresh), self.array_of(texts.BUFFER_EXPRESSIONS))

    def array_of(self, templates: list[str]) -> str:
        text = self.filled(self.rng.choice(templates), -1)
        if not is_reasonable(self.evaluated(text)) or np.ndim(self.evaluated(text)) == 0:
            raise Impossible
        return text

    def fill(self) -> None:
        """An array that a loop fills, item by item."""
        rng = self.rng
        name, source = next(self.fresh), rng.choice(self.names("array"))
        saved = dict(self.env)
        self.assign(name, rng.choice([f"np.zeros(len({source}))", f"np.zeros_like({source})", f"np.ones({source}.shape)"]))
        if not is_float(self.env[name]):
            raise Impossible
        buffer = self.env[name]
        self.emit(f"for i in range({rng.choice(['', '1, '])}len({source})):")
        self.env |= {f"{source}[i]": self.env[source][0], f"{name}[i - 1]": buffer[-1], "i": 0}
        item = self.expression(like=buffer[0])
        self.indent += 1
        if rng.random() < 0.3:
            self.emit(f"if {self.condition()}:")
            self.emit("    continue")
        self.emit(rng.choice(texts.ITEM_WRITES).format(f"{name}[i]", item))
        self.indent -= 1
        buffer[...] = self.evaluated(item)
        self.env = {**saved, name: buffer}

    def write_item(self) -> None:
        """Another value of its kind into a place of a container."""
        places = [n for n, v in self.env.items() if n.endswith("]") and n.split("[")[0] in self.containers and is_float(v)]
        place = self.rng.choice([n for n in places if not self.is_fixed(n)])
        item = self.expression(like=self.env[place])
        self.env[place] = self.evaluated(item)
        self.emit(f"{place} = {item}")

    def is_fixed(self, place: str) -> bool:
        holder = place[: place.rindex("[")]
        return "." in place or not isinstance(self.containers.get(holder), (list, dict))

    def change(self) -> None:
        """A list or dict gets more items or fewer: only in straight-line code, where its structure is known."""
        if self.indent > 1:
            raise Impossible
        name = self.rng.choice([n for n, v in self.containers.items() if isinstance(v, (list, dict)) and n.isidentifier()])
        value = self.containers[name]
        kinds = texts.LIST_WRITES if isinstance(value, list) else texts.DICT_WRITES
        line = self.rng.choice(kinds).format(name, self.expression())
        scope = self.scope()
        exec(line, scope)
        self.emit(line)
        self.env = {n: v for n, v in self.env.items() if not n.startswith(f"{name}[")}
        self.bind(name, scope[name])

    def unpack(self) -> None:
        rng = self.rng
        if rng.random() < 0.3:
            a, b = rng.sample(self.own(), 2)
            if kind(self.env[a]) == kind(self.env[b]):
                self.emit(f"{a}, {b} = {b}, {a} * 0.8")
                self.env[a], self.env[b] = self.env[b], self.evaluated(f"{a} * 0.8")
                return
        values = [self.expression() for _ in range(4)]
        a, b, c, d = (next(self.fresh) for _ in range(4))
        text = rng.choice(texts.UNPACKINGS).format(*values, a=a, b=b, c=c, d=d)
        self.emit(text)
        scope = self.scope()
        exec(text, scope)
        for name in (a, b, c, d, f"{c}_"):
            if name in scope:
                self.bind(name, scope[name])

    def container(self) -> None:
        """A local tuple, list, dict or record, read by its parts from then on."""
        name = next(self.fresh)
        text = self.rng.choice(texts.CONTAINERS).format(self.expression(), self.expression())
        self.emit(f"{name} = {text}")
        self.bind(name, self.evaluated(text))

    def comprehension(self) -> None:
        rng = self.rng
        array, variable, name = rng.choice(self.names("array")), rng.choice(["v", "e", "row"]), next(self.fresh)
        saved = dict(self.env)
        self.env[variable] = self.env[array][0]
        item = self.expression()
        condition = f" if {self.condition()}" if rng.random() < 0.4 else ""
        self.env = saved
        text = rng.choice(texts.OF_COMPREHENSIONS).format(f"{item} for {variable} in {array}{condition}")
        if not is_reasonable(self.evaluated(text)):
            raise Impossible
        self.assign(name, text)

    def function(self) -> None:
        """A nested function that reads names from around it, called on the spot."""
        name, parameter, result = next(self.fresh), next(self.fresh), next(self.fresh)
        argument = self.expression()
        saved, first = dict(self.env), len(self.lines)
        self.env[parameter] = self.evaluated(argument)
        if self.rng.random() < 0.4:
            self.emit(f"{name} = lambda {parameter}: {self.expression()}")
        else:
            self.definition(name, parameter, set(saved))
        self.env = saved
        scope = self.scope()
        exec("\n".join(line[4 * self.indent :] for line in self.lines[first:]), scope)
        self.env[result] = eval(f"{name}({argument})", scope)
        if not is_reasonable(self.env[result]):
            raise Impossible
        self.emit(f"{result} = {name}({argument})")

    def definition(self, name: str, parameter: str, outer: set[str]) -> None:
        self.emit(f"def {name}({parameter}, k_1=0.5):")
        self.env["k_1"] = 0.5
        was, self.in_loop, self.outer = (self.in_loop, self.outer), False, outer
        self.indent += 1
        if self.rng.random() < 0.5:
            self.emit(f"if {self.condition()}:")
            self.emit(f"    return {parameter} * k_1")
        self.emit(f"k_2 = {parameter} * k_1")
        self.env["k_2"] = self.evaluated(f"{parameter} * k_1")
        self.emit(f"return {self.expression(like=self.env['k_2'])}")
        self.indent -= 1
        self.in_loop, self.outer = was

    def early_return(self) -> None:
        self.emit(f"if {self.condition()}:")
        self.emit(f"    return {self.result()}")

    def jump(self) -> None:
        self.emit(f"if {self.condition()}:")
        self.emit(f"    {self.rng.choice(['break', 'continue'])}")

    # ------------------------------------------------------------ blocks

    def block(self, count: int, *, in_loop: bool | None = None) -> Env:
        """An indented block; the names at its end."""
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
        if rng.random() < 0.7:
            self.emit("else:")
            ends.append(self.other_arm(ends[0]))
        else:
            ends.append(self.env)
        common = {n: v for n, v in ends[0].items() if all(n in e and kind(e[n]) == kind(v) for e in ends)}
        self.env = {**self.env, **common}

    def other_arm(self, first: Env) -> Env:
        """An else, which binds some of the names that the first arm bound."""
        saved = dict(self.env)
        self.indent += 1
        for name in [n for n in first if n not in saved and n.isidentifier() and self.rng.random() < 0.6]:
            self.assign(name, self.expression(like=first[name]))
        self.indent -= 1
        after = self.block(self.rng.randint(1, 2))
        self.env = saved
        return after

    def loop(self, header: str, names: Env, *, leaves: bool) -> None:
        """A loop over targets with these samples; sometimes with an else, sometimes its names live on."""
        rng = self.rng
        saved = dict(self.env)
        self.emit(f"for {header}:")
        self.env.update(names)
        after = self.block(rng.randint(1, 4), in_loop=True)
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
            self.assign(next(self.fresh), self.rng.choice(["0.0", "1.0", self.expression()]))

    def count_loop(self) -> None:
        rng = self.rng
        self.accumulator()
        i, a = rng.choice(["i", "j", "k", "_"]), rng.choice([*self.names("array"), None])
        over = rng.choice(texts.COUNTS if a is None else texts.COUNTS_OF_ARRAYS).format(a=a)
        first = list(self.evaluated(over))[:1] or [0]
        self.loop(f"{i} in {over}", {} if i == "_" else {i: first[0]}, leaves=over == "range(3)")

    def item_loop(self) -> None:
        rng = self.rng
        self.accumulator()
        a = rng.choice(self.names("array"))
        b = rng.choice([n for n in self.names("array") if len(self.env[n]) == len(self.env[a])])
        v, w = next(self.fresh), next(self.fresh)
        header = rng.choice(texts.ITEMS).format(v=v, w=w, a=a, b=b)
        self.loop(header, self.targets(header), leaves=True)

    def container_loop(self) -> None:
        rng = self.rng
        v, name = next(self.fresh), rng.choice([n for n in self.env if is_float(self.env[n])])
        options = [f"{v} in ({name}, {name} * 0.5)", f"{v} in [{name}, {name} + 1, {name} * K]"]
        for path, value in self.containers.items():
            if isinstance(value, list) and value and isinstance(value[0], tuple):
                options += [f"{v}, h_1 in {path}"] * 3
            elif isinstance(value, list) and len({kind(x) for x in value}) == 1:
                options += [f"{v} in {path}", f"{v} in reversed({path})", f"i, {v} in enumerate({path})"]
            elif isinstance(value, dict) and len({kind(x) for x in value.values()}) == 1:
                options += [f"key, {v} in {path}.items()", f"{v} in {path}.values()"]
        self.accumulator()
        header = rng.choice(options)
        self.loop(header, {n: s for n, s in self.targets(header).items() if n != "key"}, leaves=True)

    def targets(self, header: str) -> Env:
        """The samples of a loop's targets: those of its first trip."""
        scope = self.scope()
        before = dict(scope)
        exec(f"for {header}:\n    break", scope)
        return {n: v for n, v in scope.items() if n != "__builtins__" and (n not in before or v is not before[n])}

    def while_loop(self) -> None:
        rng = self.rng
        n = next(self.fresh)
        self.assign(n, "0")
        more = f" and ({self.condition()})" if rng.random() < 0.5 else ""
        self.emit(f"while {n} < {rng.randint(1, 4)}{more}:")
        self.emit(f"    {n} += 1")
        self.env[n] = 1
        self.block(rng.randint(1, 3), in_loop=True)
        if rng.random() < 0.2:
            self.emit("else:")
            self.block(1)

    def list_loop(self) -> None:
        """A list that grows in a loop, then is read."""
        rng = self.rng
        items, v, name = next(self.fresh), next(self.fresh), next(self.fresh)
        self.emit(f"{items} = {rng.choice(['[]', '[]', 'list()'])}")
        arrays = self.names("array")
        header = f"{v} in {rng.choice(arrays)}" if arrays and rng.random() < 0.6 else f"i in range({rng.choice('342')})"
        saved = dict(self.env)
        self.emit(f"for {header}:")
        self.env.update(self.targets(header))
        self.indent += 1
        was, self.in_loop = self.in_loop, True
        self.statements(rng.randint(0, 2))
        item = self.expression()
        value = self.evaluated(item)
        if rng.random() < 0.3:
            self.emit(f"if {self.condition()}:")
            item = f"    {items}.append({item})"
        else:
            item = f"{items}.append({item})"
        self.emit(item)
        self.statements(rng.choice([0, 0, 0, 1]))
        self.indent -= 1
        self.env, self.in_loop = saved, was
        # How many items there are is not known here, so that the shape of what is read must not depend on it.
        self.containers[items] = [value, value]
        read = rng.choice(texts.OF_LISTS if np.ndim(value) == 0 else texts.OF_LISTS + texts.OF_LISTS_OF_ARRAYS)
        self.assign(name, read.format(items))
        if not is_float(self.env[name]):
            raise Impossible
