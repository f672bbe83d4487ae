"""Widgets that the screens are composed of."""
