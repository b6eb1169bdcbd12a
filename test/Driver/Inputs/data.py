"""Writes a training set for an MLP of 4 inputs and 3 classes: 64 points, the class is the largest of the first three inputs."""
import sys

import numpy as np

x = np.random.default_rng(1).standard_normal((64, 4)).astype(np.float32)
np.savez(sys.argv[1], x=x, labels=np.argmax(x[:, :3], axis=1))
