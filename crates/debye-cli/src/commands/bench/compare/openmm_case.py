"""Forces or speed of the system in `system.json` (nm, ps, kJ/mol, u, e, K) by OpenMM.

    python3 case.py PLATFORM THREADS forces FILE
    python3 case.py PLATFORM THREADS speed SECONDS
"""
import json, sys, time

from openmm import Context, LangevinMiddleIntegrator, NonbondedForce, Platform, System, Vec3, VerletIntegrator

# Seconds of the first stretch, whose speed says how many steps to time.
FIRST = 0.2


def build(case):
    """The system and its integrator."""
    system, force = System(), NonbondedForce()
    x, y, z = case["cell"]
    system.setDefaultPeriodicBoxVectors(Vec3(x, 0, 0), Vec3(0, y, 0), Vec3(0, 0, z))
    charged = case["tolerance"] is not None
    force.setNonbondedMethod(NonbondedForce.PME if charged else NonbondedForce.CutoffPeriodic)
    force.setCutoffDistance(case["cutoff"])
    force.setUseDispersionCorrection(False)
    if charged:
        force.setEwaldErrorTolerance(case["tolerance"])
    for kind in case["kinds"]:
        species = case["species"][kind]
        system.addParticle(species["mass"])
        force.addParticle(species["charge"], species["sigma"], species["epsilon"])
    water = case["water"] or {"molecules": []}
    for o, h, g in water["molecules"]:
        for i, j, length in (o, h, water["bond"]), (o, g, water["bond"]), (h, g, water["base"]):
            system.addConstraint(i, j, length)
            force.addException(i, j, 0, 1, 0)
    system.addForce(force)
    step = case["timestep"]
    if case["thermostat"]:
        temperature, relaxation = case["thermostat"]
        return system, LangevinMiddleIntegrator(temperature, 1 / relaxation, step)
    return system, VerletIntegrator(step)


def stretch(context, steps):
    """Seconds that so many steps take."""
    began = time.perf_counter()
    context.getIntegrator().step(steps)
    # A device works on after the call: its state is waited for.
    context.getState(velocities=True)
    return time.perf_counter() - began


def speed(context, wanted):
    """Steps and seconds of a run of about as many seconds as wanted."""
    steps, seconds = 5, 0.0
    while seconds < FIRST:
        seconds = stretch(context, steps)
        rate, steps = steps / seconds, 2 * steps
    steps = max(1, int(rate * wanted))
    return {"steps": steps, "seconds": stretch(context, steps)}


def main():
    platform, threads, task, argument = sys.argv[1:]
    with open("system.json") as file:
        case = json.load(file)
    system, integrator = build(case)
    properties = {"Precision": "mixed"} if platform == "CUDA" else {"Threads": threads}
    context = Context(system, integrator, Platform.getPlatformByName(platform), properties)
    context.setPositions([Vec3(*r) for r in case["positions"]])
    context.setVelocities([Vec3(*v) for v in case["velocities"]])
    if task == "forces":
        forces = context.getState(forces=True).getForces()
        with open(argument, "w") as file:
            json.dump([list(f) for f in forces.value_in_unit(forces.unit)], file)
    else:
        print(json.dumps(speed(context, float(argument))))


main()
