"""Mutation of the code: mutmut changes one expression of a module at a time, and a test is to fail.

Not to be confused with ``tests/mutants``, which changes packages and looks at what ``check`` says of them.
"""
