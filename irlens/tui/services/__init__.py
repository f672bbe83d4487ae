"""Services that screens and widgets share: workers, key queue, compilations, preferences."""
