"""Configuration: documents of several sources, decoded strictly, merged into one value of known origin."""
