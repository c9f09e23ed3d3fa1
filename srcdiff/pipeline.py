"""The pipeline: from a function and example arguments to a compiled variant.

    text ──read──▶ tree ──prepare──▶ primal ──transform──▶ program ──passes──▶ program ──emit──▶ text ──load──▶ function

Every step is a function from program to program; this file is their order. A variant holds for the kinds of the arguments
that it was compiled for, and its guard tells whether others are of these kinds.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import CodeType, FunctionType
from typing import Any

from srcdiff.depth import with_room
from srcdiff.emit.guard import emit_guard
from srcdiff.emit.load import load
from srcdiff.emit.python import Emitted, emit
from srcdiff.emit.scope import Scope
from srcdiff.errors import KindError, add_line_note
from srcdiff.ir.kinds import recording_facts
from srcdiff.ir.nodes import Block, Function, Return
from srcdiff.passes import PASSES
from srcdiff.passes.dead_code import drop_dead_code, drop_dead_code_in
from srcdiff.passes.hoist import hoist
from srcdiff.passes.split_records import split_records
from srcdiff.prepare.entry import Structure, describe, differentiated, unknown
from srcdiff.prepare.program import Primal, parameters, prepare
from srcdiff.prepare.values import operand_of
from srcdiff.read.source import FunctionSource, read_function
from srcdiff.read.subset import check_subset
from srcdiff.runtime import are_apart
from srcdiff.task import Task
from srcdiff.transform.gradient import Selector, gradient, pullback, pulled, value_function
from srcdiff.transform.jacobian import jacobian
from srcdiff.transform.jvp import linear_program, tangent_program, tangents_inside
from srcdiff.transform.procedures import Pairs

CHECKS: list[Callable[[Function], None]] = []
"""Run on the program after each step; tests put the checker of well-formedness here."""


@dataclass(frozen=True, eq=False)
class Variant:
    """One compiled form: its source, and the guard of the arguments that it is for. Of a vjp there are two functions."""

    name: str
    emitted: tuple[Emitted, ...]
    guard: Emitted
    result: Any = None

    @property
    def source(self) -> str:
        return "\n\n".join(e.source for e in self.emitted)


def compile_variant(f: FunctionType, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Variant:
    """Compile for the kinds of these arguments."""
    return compile_structures(f, task, describe_arguments(f, args, kwargs))


def compile_structures(f: FunctionType, task: Task, structures: dict[str, Structure]) -> Variant:
    source = read_function(f)
    check_subset(source)
    selected = select(task, source, structures)
    wanted = {name for name, _ in selected}
    structures = {name: differentiated(s) if name in wanted else s for name, s in structures.items()}
    with recording_facts() as facts:
        primal = settled(prepare(source, structures, derived))
        pairs = Pairs(primal.procedures)
        programs, result = transform(primal, task, selected, pairs)
        scope = Scope(f.__globals__, frozenset(source.cells) | frozenset(structures))
        emitted = []
        for program in programs:
            # The two functions of a vjp or of linearize, and those of a procedure, have been through the passes as one program.
            for step in (check, *(PASSES if task.mode not in ("vjp", "linearize") else (drop_dead_code,))):
                program = step(program)
                check(program)
            procedures = pairs.functions(program.body)
            for procedure in procedures.values():
                check(procedure)
            emitted.append(emit(program, scope, procedures, comments=task.comments))
    guard = emit_guard(source, structures, primal.requirements, facts, primal.holders)
    return Variant(programs[0].name, tuple(emitted), guard, result)


def settled(primal: Primal) -> Primal:
    """The primal with what is the same in every trip before its loops: no trip then keeps it."""
    result = Return(primal.returned())
    program = check(Function(primal.name, primal.params, Block(primal.stmts, result), primal.docstring))
    return replace(primal, stmts=hoist(program).body.stmts)


def derived(piece: Any, task: Task, selected: Sequence[Selector]) -> Any:
    """The derivative that a function takes inside, to be differentiated with it: a program, or the sweeps of a vjp."""
    result = Return(operand_of(piece.result, piece.store))
    body = hoist(Function(piece.name, piece.params, Block(piece.stmts, result))).body
    piece.stmts = body.stmts
    pairs = Pairs(piece.procedures, recomputes=True)
    if task.mode == "vjp":
        sweeps = pulled(piece, selected, pairs)
        piece.procedures = pairs.functions(Block((*sweeps.forward, *sweeps.reverse.stmts), sweeps.reverse.end), is_final=False)
        return sweeps
    if task.mode == "jvp":
        block, dots = tangents_inside(piece, selected, pairs)
        block = drop_dead_code_in(block)
        piece.procedures = pairs.functions(block, is_final=False)
        return block, dots
    (program,), _ = transform(piece, task, selected, pairs)
    program = split_records(drop_dead_code(program))
    piece.procedures = pairs.functions(program.body, is_final=False)
    return program


def check(program: Function) -> Function:
    for assertion in CHECKS:
        assertion(program)
    return program


def transform(primal: Primal, task: Task, selected: Sequence[Selector], pairs: Pairs) -> tuple[list[Function], Any]:
    name = "".join(c for c in primal.name if c.isidentifier() or c.isdigit()) or "f"
    if task.mode == "value":
        return [value_function(primal, name)], None
    if task.mode == "vjp":
        return pullback(primal, selected, pairs, is_single=task.is_single, has_aux=task.has_aux, name=name)
    if task.mode == "jvp":
        return tangent_program(primal, selected, pairs, has_aux=task.has_aux, name=f"{name}_jvp")
    if task.mode == "linearize":
        return linear_program(primal, selected, pairs, has_aux=task.has_aux, name=name)
    if task.mode in ("jacfwd", "jacrev", "jacobian"):
        forms = {"is_single": task.is_single, "has_aux": task.has_aux}
        return [jacobian(primal, selected, pairs, **forms, name=f"{name}_{task.mode}", mode=task.mode)], None
    with_value = task.mode == "value_and_grad"
    name = f"{name}_{'value_and_grad' if with_value else 'grad'}"
    options = {"is_single": task.is_single, "has_aux": task.has_aux, "with_value": with_value}
    return [gradient(primal, selected, pairs, **options, name=name)], None


# ---------------------------------------------------------------- arguments


def bound_arguments(f: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The argument of each parameter, with defaults where nothing is passed."""
    signature = inspect.signature(f, follow_wrapped=False)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{f.__name__}(): {error}") from None
    bound.apply_defaults()
    return bound.arguments


def describe_arguments(f: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Structure]:
    """The structure of each parameter, with defaults where nothing is passed."""
    return {name: describe(value, name) for name, value in bound_arguments(f, args, kwargs).items()}


def unknown_arguments(f: FunctionType) -> dict[str, Structure]:
    """Structures for the general form: annotations and defaults tell, the rest is unknown."""
    out: dict[str, Structure] = {}
    for name, p in inspect.signature(f, follow_wrapped=False).parameters.items():
        annotation = (
            p.annotation if not isinstance(p.annotation, str) else {"float": float, "int": int, "bool": bool}.get(p.annotation)
        )
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            out[name] = describe(() if p.kind is p.VAR_POSITIONAL else {}, name)
        elif annotation in (float, int, bool):
            out[name] = unknown(name, annotation.__name__)
        elif p.default is not p.empty and not isinstance(p.default, (int, float)):
            out[name] = describe(p.default, name)
        else:
            out[name] = unknown(name)
    return out


def general_source(f: FunctionType, task: Task) -> str:
    """The source for arguments of any kind, with the imports of what it calls at run time."""
    variant = with_room(lambda: compile_structures(f, task, unknown_arguments(f)), f.__name__)
    lines = []
    for name, value in sorted({k: v for e in variant.emitted for k, v in e.bindings.items()}.items()):
        module = getattr(value, "__module__", None) or ""
        if module.startswith("srcdiff."):
            lines.append(f"from {module} import {name}\n")
    return "".join(lines) + ("\n\n" if lines else "") + variant.source


def select(task: Task, source: FunctionSource, structures: Mapping[str, Structure]) -> list[Selector]:
    """The parameters that `argnums` means; a position beyond the named ones is one of *args."""
    styles = [(name, style) for name, style, _ in parameters(source)]
    names = [name for name, style in styles if style in ("positional", "positional_only")]
    star = next((name for name, style in styles if style == "star"), None)
    everything = [name for name, _ in styles]
    place = source.origin(source.node)
    out: list[Selector] = []
    spoken = ", ".join(f"`{n}`" for n in everything) or "none"
    for argnum in task.argnums:
        if isinstance(argnum, str):
            if argnum not in everything:
                raise KindError(f"`{source.name}` has no parameter `{argnum}`", place, why=f"Its parameters are {spoken}.")
            out.append((argnum, None))
            continue
        count = len(names) + (len(getattr(structures[star], "items", ())) if star is not None else 0)
        position = argnum + count if argnum < 0 else argnum
        if not 0 <= position < count:
            raise KindError(
                f"argnums={argnum}, but `{source.name}` takes {count} positional argument{'s' if count != 1 else ''}",
                place,
                why=f"Its parameters are {spoken}.",
            )
        if position < len(names):
            out.append((names[position], None))
        else:
            assert star is not None
            out.append((star, position - len(names)))
    return out


# ---------------------------------------------------------------- variants of a function


@dataclass(eq=False)
class Live:
    """A variant made into functions for one function object: its globals and its cells are that function's."""

    variant: Variant
    guard: Callable[..., bool]
    functions: tuple[Callable[..., Any], ...]


def make_live(variant: Variant, f: FunctionType) -> Live:
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or ()))
    functions = []
    for i, emitted in enumerate(variant.emitted):
        fn = load(emitted, name=emitted.name, globals=f.__globals__, cells=cells)
        if i == 0:
            fn.__defaults__, fn.__kwdefaults__ = f.__defaults__, f.__kwdefaults__
        functions.append(fn)
    guard = load(variant.guard, name="guard", globals=f.__globals__, cells=cells)
    guard.__defaults__, guard.__kwdefaults__ = f.__defaults__, f.__kwdefaults__
    return Live(variant, guard, tuple(functions))


@dataclass(eq=False)
class Shelf:
    """The variants of one code object for one task, shared by all functions made of it."""

    variants: list[Variant] = field(default_factory=list)


_shelves: dict[int, dict[Any, Shelf]] = {}  # by the identity of the code: equal code may stand in two files
_lock = threading.RLock()


def find_or_compile(f: FunctionType, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Live:
    """The variant for these arguments, compiled if there is none."""
    with _lock:
        shelf = _shelves_of(f.__code__).setdefault((task, statics_of(f)), Shelf())
        for variant in shelf.variants:
            live = make_live(variant, f)
            if holds(live.guard, args, kwargs):
                return live
        variant, live = with_room(lambda: _compiled(f, task, args, kwargs), f.__name__)
        if any(held is are_apart for held in variant.guard.bindings.values()) and not holds(live.guard, args, kwargs):
            raise KindError(
                f"two arguments of `{f.__name__}` share memory, or are one object, and it writes to one of them",
                why="The other one changes with it, as far as they overlap.",
                instead="pass a copy of one of them.",
            )
        shelf.variants.append(variant)
        return live


def _compiled(f: FunctionType, task: Task, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Variant, Live]:
    variant = compile_variant(f, task, args, kwargs)
    return variant, make_live(variant, f)


def _shelves_of(code: CodeType) -> dict[Any, Shelf]:
    """The shelves of a code object; they go with it."""
    shelves = _shelves.get(id(code))
    if shelves is None:
        shelves = _shelves[id(code)] = {}
        weakref.finalize(code, _shelves.pop, id(code), None)
    return shelves


def holds(guard: Callable[..., bool], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    try:
        return bool(guard(*args, **kwargs))
    except (TypeError, AttributeError, KeyError, IndexError, ValueError):
        return False


def statics_of(f: FunctionType) -> tuple[Any, ...]:
    """What a closure's cells hold that a variant is compiled for: functions by their code."""
    out: list[Any] = []
    for cell in f.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            out.append(None)
            continue
        if isinstance(value, FunctionType):
            out.append((value.__code__, statics_of(value) if value is not f else ()))
        elif callable(value):
            out.append(id(value))
        else:
            out.append(type(value))
    return tuple(out)


def annotate(error: BaseException, live: Live, source: FunctionSource | None = None) -> None:
    """Name the user's line on an exception that was raised in emitted source."""
    places = []
    traceback = error.__traceback__
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        for emitted, fn in zip(live.variant.emitted, live.functions):
            if filename == fn.__code__.co_filename:
                places.append((emitted, traceback.tb_lineno))
        traceback = traceback.tb_next
    origins = (emitted.origin_of(line) for emitted, line in reversed(places))
    origin = next((origin for origin in origins if origin is not None), None)
    if origin is not None:
        add_line_note(error, origin)
