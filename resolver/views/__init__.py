"""Views of the rules and of Resolutions: read only, nothing computed for a launch."""
