"""What Python lacks. These modules import the standard library only."""
