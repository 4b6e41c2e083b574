"""Train the networks of the guides on FashionMNIST and MNIST: one process or many, on CPU or GPU."""
