"""Nothing may be fetched: written as sitecustomize.py beside a check, it refuses every connection and says so."""

REFUSING = """
import socket


def refuse(self, address, *more):
    raise RuntimeError(f"a connection to {address!r} was tried: this must run without a network")


socket.socket.connect = refuse
socket.socket.connect_ex = refuse
socket.getaddrinfo = lambda *words, **more: refuse(None, words[:2])
"""
