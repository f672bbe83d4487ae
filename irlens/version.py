"""The version, apart from the package's names so that every layer may know it."""

VERSION = "0.1.0"
