"""The ocean: the equations and their quantities, independent of processes, files and configurations."""
