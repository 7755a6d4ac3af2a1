"""Container images of the laboratory, written by its own code."""

from flexlab.images.archive import Image, ImageArchive, ImageReader, split_reference, write_image

__all__ = ["Image", "ImageArchive", "ImageReader", "split_reference", "write_image"]
