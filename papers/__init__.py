"""The papers that `groupflow reproduce` runs in netsim: each folder has the parts that are its paper's own.

A paper is a folder with a module `reproduction` that has an `EXPERIMENT`. This one is whole:

    import random
    from dataclasses import asdict, dataclass

    from groupflow.study.claims import Claim
    from groupflow.study.drawing import save, subplots
    from groupflow.study.experiment import Experiment, Simulation, by_case, seeded

    @dataclass(frozen=True)
    class Run:  # can be hashed and pickled; `seeded` and `by_case` need `case`, which the paper varies
        case: float
        seed: int

    @dataclass(frozen=True)
    class Outcome:
        run: Run  # the one that was simulated
        rounds: int
        simulated_s: float
        packet_hops: int

    def simulate(run):  # at the top of a module, as another process calls it
        draw, missing, sent, rounds = random.Random(run.seed), 100, 0, 0
        while missing:
            sent, rounds = sent + missing, rounds + 1
            missing = sum(draw.random() < run.case for _ in range(missing))
        return Outcome(run, rounds, 0.1 * rounds, sent)

    def rows(outcome):  # of the CSV file
        yield {**asdict(outcome.run), "rounds": outcome.rounds}

    def judge(found):  # called when all runs of the study are over
        few, many = (max(outcome.rounds for outcome in found[loss]) for loss in (0.01, 0.3))
        return [Claim("more", "Fig. 1", "more loss, more rounds", "> 1", many / few, "times", many > few)]

    def draw(path, found):  # path: of the figure's file
        figure, axes = subplots(figsize=(4, 3))
        for loss, outcomes in found.items():
            axes.plot([outcome.run.seed for outcome in outcomes], [outcome.rounds for outcome in outcomes])
        save(figure, path)

    ROUNDS = Simulation(simulate, by_case, rows, title=str, cost=lambda run: run.case)
    FIGURE = ROUNDS.study(
        "figure-1",  # name of its files, different for each study of the paper
        "rounds of repair on a lossy link",
        seeded(lambda quick: (0.01, 0.3), lambda case, seed, quick: Run(case, seed), seeds=5, quick_seeds=2),
        judge,
        draw,
    )
    EXPERIMENT = Experiment("repair in rounds", [FIGURE])
"""
