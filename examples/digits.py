"""Train a two-layer network on images of handwritten digits, with a gradient whose source you can read.

    make demo

It prints the loss and its gradient, checks the gradient, trains, times a step against the gradient that a person wrote,
and draws the learning curves and some of the images that the network has not seen, each with its prediction.
"""

import argparse
import inspect
import statistics
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.syntax import Syntax
from sklearn.datasets import load_digits

from srcdiff import check_grads, grad, value_and_grad

GOAL = 0.96


def loss(params, X, Y):
    """Cross-entropy of a network with one hidden layer; the rows of Y are 1 at the right digit."""
    h = np.tanh(X @ params["W1"] + params["b1"])
    z = h @ params["W2"] + params["b2"]
    z = z - np.max(z, axis=1, keepdims=True)
    log_p = z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))
    return -np.mean(np.sum(Y * log_p, axis=1))


def hand_written(params, X, Y):
    """The loss and its gradient as a person writes them, who knows that the softmax's adjoint is p - Y."""
    h = np.tanh(X @ params["W1"] + params["b1"])
    z = h @ params["W2"] + params["b2"]
    z -= np.max(z, axis=1, keepdims=True)
    e = np.exp(z)
    s = np.sum(e, axis=1, keepdims=True)
    value = -np.mean(np.sum(Y * (z - np.log(s)), axis=1))
    z_bar = (e / s - Y) / len(X)
    a_bar = (z_bar @ params["W2"].T) * (1 - h * h)
    return value, {"W1": X.T @ a_bar, "b1": np.sum(a_bar, axis=0), "W2": h.T @ z_bar, "b2": np.sum(z_bar, axis=0)}


def predict(params, X):
    return np.argmax(np.tanh(X @ params["W1"] + params["b1"]) @ params["W2"] + params["b2"], axis=1)


def accuracy(params, X, Y):
    return float(np.mean(predict(params, X) == np.argmax(Y, axis=1)))


def load_images(rng):
    """The images in random order, a fifth of them held out: ((X, Y), (X, Y))."""
    X, digits = load_digits(return_X_y=True)
    order = rng.permutation(len(X))
    X, Y = X[order] / 16, np.eye(10)[digits[order]]
    held_out = len(X) // 5
    return (X[held_out:], Y[held_out:]), (X[:held_out], Y[:held_out])


def new_params(rng, hidden=64):
    return {
        "W1": rng.normal(size=(64, hidden)) / 8,
        "b1": np.zeros(hidden),
        "W2": rng.normal(size=(hidden, 10)) / np.sqrt(hidden),
        "b2": np.zeros(10),
    }


def train(params, training, held_out, rng, *, epochs, console, batch=32, rate=0.2, momentum=0.9):
    """Stochastic gradient descent with momentum; returns the parameters, and the curves epoch by epoch."""
    X, Y = training
    loss_and_gradient = value_and_grad(loss)
    velocity = {name: np.zeros_like(p) for name, p in params.items()}
    curves = {"training loss": [], "held-out loss": [], "held-out accuracy": []}
    with Progress(*Progress.get_default_columns(), "{task.fields[shown]}", console=console) as progress:
        task = progress.add_task("training", total=epochs, shown="")
        for epoch in range(epochs):
            step_size = rate * 0.5 * (1 + np.cos(np.pi * epoch / epochs))
            values = []
            for rows in np.array_split(rng.permutation(len(X)), len(X) // batch):
                value, gradient = loss_and_gradient(params, X[rows], Y[rows])
                velocity = {name: momentum * velocity[name] - step_size * gradient[name] for name in params}
                params = {name: params[name] + velocity[name] for name in params}
                values.append(value)
            curves["training loss"].append(np.mean(values))
            curves["held-out loss"].append(loss(params, *held_out))
            curves["held-out accuracy"].append(accuracy(params, *held_out))
            shown = f"loss {curves['training loss'][-1]:.4f}, {curves['held-out accuracy'][-1]:.1%} of the held-out images right"
            progress.update(task, advance=1, shown=shown)
    return params, curves


def compare_speed(params, X, Y, rounds=300):
    """Median seconds of the loss and gradient of one mini-batch: by srcdiff, and as written by hand. They take turns."""
    candidates = value_and_grad(loss).compile(params, X, Y), hand_written
    times = [], []
    for _ in range(rounds):
        for candidate, taken in zip(candidates, times):
            start = time.perf_counter()
            candidate(params, X, Y)
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def draw(params, curves, X, Y, file):
    """Learning curves on the left, held-out images on the right; wrong predictions are red, and come first."""
    figure = plt.figure(figsize=(11, 5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1.1, 1])
    losses, share = left.subplots(2, 1, sharex=True)
    for name, curve in curves.items():
        (losses if name.endswith("loss") else share).plot(np.arange(1, len(curve) + 1), curve, label=name)
    losses.set_yscale("log")
    losses.set_ylabel("cross-entropy")
    share.axhline(GOAL, color="gray", linewidth=0.8, linestyle="--", label=f"goal: {GOAL:.0%}")
    share.set_ylim(0.8, 1.005)
    share.set_ylabel("right predictions")
    share.set_xlabel("epoch")
    for axes in losses, share:
        axes.legend()
        axes.grid(alpha=0.3)
    predicted, digits = predict(params, X), np.argmax(Y, axis=1)
    chosen = np.argsort(predicted == digits, kind="stable")[:30]
    for axes, i in zip(right.subplots(5, 6).flat, chosen):
        axes.imshow(X[i].reshape(8, 8), cmap="gray_r")
        right_one = predicted[i] == digits[i]
        axes.set_title(
            f"{predicted[i]}" if right_one else f"{predicted[i]}, not {digits[i]}", color="black" if right_one else "red"
        )
        axes.set_axis_off()
    figure.savefig(file, dpi=120)
    plt.close(figure)


def show_source(console, title, text):
    console.rule(title)
    console.print(Syntax(text, "python", theme="ansi_dark", background_color="default"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--epochs", type=int, default=60, help="how often to go through the images")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_suffix(".png"), help="the picture to write")
    options = parser.parse_args()

    console = Console()
    if not console.is_terminal:
        console = Console(width=130)
    rng = np.random.default_rng(0)
    training, held_out = load_images(rng)
    params = new_params(rng)
    X, Y = training[0][:32], training[1][:32]

    show_source(console, "the loss", inspect.getsource(loss))
    show_source(console, "its gradient, as srcdiff wrote it", grad(loss).source_for(params, X, Y))

    console.rule()
    check_grads(loss, (params, X, Y))
    console.print("The gradient agrees with central differences.")

    start = time.perf_counter()
    params, curves = train(params, training, held_out, rng, epochs=options.epochs, console=console)
    share = accuracy(params, *held_out)
    console.print(
        f"{share:.1%} of {len(held_out[0])} held-out images are recognised, "
        f"after {time.perf_counter() - start:.1f} s of training on {len(training[0])} others."
    )

    ours, by_hand = compare_speed(params, X, Y)
    console.print(
        f"Loss and gradient of {len(X)} images: {ours * 1e6:.0f} µs by srcdiff, {by_hand * 1e6:.0f} µs written by hand "
        f"({ours / by_hand:.2f} times as long)."
    )

    draw(params, curves, *held_out, options.output)
    console.print(f"The picture is in {options.output}.", soft_wrap=True)
    if share < GOAL:
        raise SystemExit(f"The goal was {GOAL:.0%}.")


if __name__ == "__main__":
    main()
