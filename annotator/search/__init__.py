"""The derived search index over the workspace's chunks, query understanding and match spans."""
