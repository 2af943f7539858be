"""Incidents of a host and its services, made in new groups, namespaces and images.

`host.py INCIDENT`, by root, in a directory for scratch files. Standard library only.
"""

from __future__ import annotations

import files
import groups
import logged_services
import network
from rehearsal import main

if __name__ == "__main__":
    main({**groups.REHEARSALS, **network.REHEARSALS, **files.REHEARSALS, **logged_services.REHEARSALS})
