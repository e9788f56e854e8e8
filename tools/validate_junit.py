#!/usr/bin/env python3
"""Validates JUnit XML files against an XML schema: validate_junit.py SCHEMA FILE...

Needs the package `xmlschema`.
"""

import sys

import xmlschema


def main(schema: str, files: list[str]) -> int:
    validator = xmlschema.XMLSchema(schema)
    errors = [f"{file}: {error}" for file in files for error in validator.iter_errors(file)]
    print("\n".join(errors) or f"{len(files)} valid")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
