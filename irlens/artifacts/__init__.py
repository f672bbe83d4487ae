"""What lies on disk: Triton cache entries, captures, single artifacts, the vendor's tools."""
