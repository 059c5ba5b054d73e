"""What a run leaves on disk, and how a run goes on from it: directory, lock, journal, snapshots, manifest, resume."""
