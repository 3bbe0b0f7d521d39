"""Gates for agent frameworks. Each needs its framework, which the package does not install."""
