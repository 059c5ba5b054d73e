"""sigma=auto: a perturbation scale found before the first step, by what it does to greedy completions."""
