"""The IR as text for people: one statement a line, blocks indented, versions numbered.

def loss(x):
    t = mul(x, x)
    x_1 = sub(t, 1)
    return x_1
"""

from __future__ import annotations

from srcdiff.errors import InternalError
from srcdiff.ir.nodes import (
    Apply,
    Block,
    Branch,
    Const,
    DictDisplay,
    End,
    Exit,
    Free,
    Function,
    If,
    ListDisplay,
    Loop,
    Next,
    Operand,
    Range,
    RecordDisplay,
    Ref,
    Return,
    SliceOf,
    Source,
    Stmt,
    Var,
    Yield,
)


def show(program: Function | Block) -> str:
    """The program as text; the same program gives the same text in any process."""
    return _Printer().program(program)


class _Printer:
    def __init__(self) -> None:
        self.names: dict[Var, str] = {}
        self.versions: dict[str, int] = {}
        self.lines: list[str] = []

    def program(self, program: Function | Block) -> str:
        if isinstance(program, Block):
            self.block(program, "")
        else:
            params = ", ".join(self.name(parameter.var) for parameter in program.params)
            self.lines.append(f"def {program.name}({params}):")
            self.block(program.body, "    ")
        return "\n".join(self.lines) + "\n"

    def name(self, var: Var) -> str:
        if var not in self.names:
            version = self.versions.get(var.hint, 0)
            self.versions[var.hint] = version + 1
            self.names[var] = var.hint if version == 0 else f"{var.hint}_{version}"
        return self.names[var]

    def names_of(self, variables: tuple[Var, ...]) -> str:
        return ", ".join(self.name(var) for var in variables)

    def operands(self, operands: tuple[Operand, ...]) -> str:
        return ", ".join(self.operand(operand) for operand in operands)

    def operand(self, operand: Operand) -> str:
        match operand:
            case Var():
                return self.name(operand)
            case Const(value):
                return repr(value)
            case Free(text):
                return f"free {text}"
            case Ref(value, text):
                return f"ref {text or getattr(value, '__name__', type(value).__name__)}"
            case tuple():
                return f"({self.operands(operand)}{',' * (len(operand) == 1)})"
            case SliceOf(start, stop, step):
                return ":".join(self.operand(part) for part in (start, stop, step))
            case ListDisplay(items):
                return f"[{self.operands(items)}]"
            case DictDisplay(keys, items):
                return "{" + ", ".join(f"{key!r}: {self.operand(item)}" for key, item in zip(keys, items)) + "}"
            case RecordDisplay(cls, fields, items):
                pairs = ", ".join(f"{field}={self.operand(item)}" for field, item in zip(fields, items))
                return f"{self.operand(cls)}({pairs})"
            case _:
                raise InternalError(f"not an operand: {operand!r}")

    def block(self, block: Block, indent: str) -> None:
        for stmt in block.stmts:
            self.stmt(stmt, indent)
        self.end(block.end, indent)

    def stmt(self, stmt: Stmt, indent: str) -> None:
        match stmt:
            case Apply(targets, op, args, kwargs):
                pairs = [f"{name}={self.operand(value)}" for name, value in kwargs]
                inside = ", ".join([self.operand(arg) for arg in args] + pairs)
                pattern = f"{op.pattern}" if op.style == "unpack" else ""
                left = f"{self.names_of(targets)} = " if targets else ""
                self.lines.append(f"{indent}{left}{op.key}{pattern}({inside})")
            case If(cond, then, orelse, results, _, around):
                left = f"{self.names_of(results)} = " if results else ""
                what = f"if {self.operand(cond)}" if around is None else type(around).__name__.lower()
                self.lines.append(f"{indent}{left}{what}:")
                self.block(then, indent + "    ")
                self.lines.append(f"{indent}else:")
                self.block(orelse, indent + "    ")
            case Loop(sources, params, inits, body, results):
                left = f"{self.names_of(results)} = " if results else ""
                header = ", ".join(self.source(source) for source in sources) or "ever"
                carried = ", ".join(f"{self.name(param)} from {self.operand(init)}" for param, init in zip(params, inits))
                carrying = f" carrying {carried}" if carried else ""
                self.lines.append(f"{indent}{left}for {header}{carrying}:")
                self.block(body, indent + "    ")
            case _:
                raise InternalError(f"not a statement: {stmt!r}")

    def source(self, source: Source) -> str:
        match source.iterable:
            case Range(start, stop, step):
                last = "…" if stop is None else self.operand(stop)
                text = f"{self.operand(start)}..{last}" + (f" by {self.operand(step)}" if step != Const(1) else "")
            case atom:
                text = self.operand(atom)
        target = source.target
        left = f"({self.names_of(target)})" if isinstance(target, tuple) else self.name(target)
        return f"{left} in {'reversed ' if source.is_reversed else ''}{text}"

    def end(self, end: End, indent: str) -> None:
        match end:
            case Yield(values):
                self.lines.append(f"{indent}yield {self.operands(values)}".rstrip())
            case Next(values):
                self.lines.append(f"{indent}next {self.operands(values)}".rstrip())
            case Exit(values):
                self.lines.append(f"{indent}exit {self.operands(values)}".rstrip())
            case Return(value):
                self.lines.append(f"{indent}return {self.operand(value)}")
            case Branch(cond, then, orelse):
                self.lines.append(f"{indent}branch {self.operand(cond)}:")
                self.block(then, indent + "    ")
                self.lines.append(f"{indent}else:")
                self.block(orelse, indent + "    ")
            case _:
                raise InternalError(f"not the end of a block: {end!r}")
