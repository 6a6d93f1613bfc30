"""Gold sets: building, digest, formats in and out, verification."""
