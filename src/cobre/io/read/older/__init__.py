"""The format of the public Cobre 0.5.1: the shapes of the files that changed since, and how they become those of 0.18.

A case of that generation is read by its own shapes, so that messages speak its language, and is then rewritten into the
shape of 0.18. `cobre.io.generation.Generation` carries what the same words meant then.
"""
