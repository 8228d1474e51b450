"""The file of a stepper and the arrays of its calls, on numpy. Nothing here needs the library of the stepper."""
