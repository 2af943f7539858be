"""MariaDB and MySQL as a target: a MariaDB run by loadcell from the machine's binaries, or an existing
server.
"""
