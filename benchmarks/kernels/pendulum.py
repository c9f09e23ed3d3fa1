"""A damped pendulum, stepped on Python numbers with a branch: a loop in which no array occurs."""

import math

ARGNUMS = (0, 1, 2)
SIZES = {"tiny": (10,), "medium": (2_000,), "large": (50_000,)}


def args(rng, steps):
    return 1.2, 0.1, 0.3, steps


def loss(angle, speed, damping, steps):
    energy = 0.0
    for _ in range(steps):
        force = -math.sin(angle) - damping * speed
        if speed > 0.0:
            force = force - 0.1 * speed * speed
        speed = speed + 0.01 * force
        angle = angle + 0.01 * speed
        energy += 0.01 * speed * speed
    return energy


def by_hand(angle, speed, damping, steps):
    energy = 0.0
    kept = []
    for _ in range(steps):
        kept.append((angle, speed))
        force = -math.sin(angle) - damping * speed
        if speed > 0.0:
            force -= 0.1 * speed * speed
        speed += 0.01 * force
        angle += 0.01 * speed
        energy += 0.01 * speed * speed
    angle_bar = speed_bar = damping_bar = 0.0
    after = speed
    for angle, speed in reversed(kept):
        speed_bar += 0.02 * after + 0.01 * angle_bar
        force_bar = 0.01 * speed_bar
        damping_bar -= force_bar * speed
        speed_bar -= force_bar * (damping + 0.2 * speed if speed > 0.0 else damping)
        angle_bar -= force_bar * math.cos(angle)
        after = speed
    return energy, (angle_bar, speed_bar, damping_bar)
