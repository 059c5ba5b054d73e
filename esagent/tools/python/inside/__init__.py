"""What runs in the sandbox's own process. Standard library only, and nothing of esagent: it is started as the package
`inside`, from a folder of its own, where neither esagent nor its data can be seen."""
