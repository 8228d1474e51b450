"""Gradients of every order, forward mode and vectorized_map for the ops. Importing a module registers them."""
