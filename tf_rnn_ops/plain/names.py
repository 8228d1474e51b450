"""Names of nodes that layers write and exporters read."""

# The name of the conditions of masked layers, which save a gather for masks that only pad at the end. Such a
# condition may be replaced by its else branch, which is right for any mask.
MASK_CONDITION = "padded_or_gathered"
