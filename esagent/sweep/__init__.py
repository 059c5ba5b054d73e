"""A study as jobs: which are done, which go on, each in a process of its own, all of them stopped as one."""
