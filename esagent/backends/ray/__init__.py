"""Many workers, each with a backend of its own, behind the one seam: see backend.py."""
