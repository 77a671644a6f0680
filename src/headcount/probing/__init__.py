"""Heads against annotations: does a head attend along dependencies, to antecedents, to the elements of a frame?"""
