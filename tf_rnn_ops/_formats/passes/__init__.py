"""Passes over GraphDefs and SavedModels before a converter of a format reads them."""
